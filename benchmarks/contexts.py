"""Contexts: how fast they are played beside C, and how regret grows beside the lower bound.

Run it by itself: ``python benchmarks/contexts.py [--growth]``. Speeds are ratios of times measured
in turn within this run, the best of several, as in ``engine.py``. With ``--growth`` the default
policy plays 300 runs to T = 10^6 on three problems, which takes minutes.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time

import numpy as np
from engine import HERE, WORK, claim

from fpbandits import KLUCB, Problem, ThompsonTheta, analyze, simulate
from fpbandits.engine.compiling import prepare
from fpbandits.engine.contract import Envelope
from fpbandits.engine.policy import Contexts, Policy
from fpbandits.policies import DEFAULT
from fpbandits.simulation.kernel import law_of, new_progress, play

STEPS = 10**6


def random_problem(contexts: int, arms: int, models: int) -> Problem:
    """Means of two digits, none of them certain."""
    means = np.random.default_rng(24).uniform(0.02, 0.98, (models, contexts, arms)).round(2)
    return Problem.bernoulli(means, contexts=[f"x{number}" for number in range(contexts)])


def seconds(policy: Policy, problem: Problem) -> float:
    """Time the bare kernel on one run, everything prepared."""
    prepared, law = prepare(policy, problem), law_of(problem.rewards)
    envelope = Envelope(np.array(problem.rewards.unit_means[0]), math.inf)
    workspace, state = policy.workspace(prepared, problem.pairs), policy.new_state(problem)
    pulls, upto = np.zeros((1, problem.pairs), np.int64), np.cumsum(problem.shares)
    apart = policy.contexts is Contexts.APART
    random, times, starts = np.random.default_rng(1), np.array([STEPS]), np.array([0])
    progress = new_progress()
    start = time.perf_counter()
    play(
        prepared, state, law, envelope, workspace, random, times, starts, starts, envelope, 1, upto,
        apart, progress, pulls,
    )  # fmt: skip
    return time.perf_counter() - start


def against_c() -> None:
    """Compare stepwise play with a naive loop in C that does the same."""
    print(f"Stepwise, 5 contexts, 5 arms, 24 models, {STEPS:,} steps")
    problem = random_problem(5, 5, 24)
    WORK.mkdir(exist_ok=True)
    program = WORK / "contexts"
    source = HERE / "peers" / "contexts.c"
    subprocess.run(["gcc", "-O2", "-o", str(program), str(source), "-lm"], check=True)
    text = " ".join(map(repr, problem.means.reshape(-1).tolist()))
    policies = DEFAULT(), ThompsonTheta(), KLUCB()
    for policy in policies:
        seconds(policy, problem)
    times: dict[str, list[float]] = {}
    for _ in range(5):
        for how in ("counts", "kept"):
            words = [str(program), how, "5", "5", "24", str(STEPS)]
            output = subprocess.run(words, check=True, capture_output=True, text=True, input=text)
            times.setdefault(f"C, {how}", []).append(float(output.stdout.split()[0]))
        for policy in policies:
            times.setdefault(policy.name, []).append(seconds(policy, problem))
    for name, measured in times.items():
        print(f"  {name:16} {1e9 * min(measured) / STEPS:8.0f} ns per step")
    naive, kept = (min(times[f"C, {how}"]) / min(times[DEFAULT.name]) for how in ("counts", "kept"))
    claim(f"  {DEFAULT.name}: our speed / C's, naive", naive, 0.5, at_least=True)
    print(f"    and {kept:.2f} beside one that keeps each model's likelihood from step to step")


def against_kl_ucb() -> None:
    """Compare the default with KL-UCB in each context, which learns nothing from the others."""
    print("\nRegret at T = 10^5, 5 contexts, 5 arms, 12 models, 40 runs, each truth in turn")
    problem = random_problem(5, 5, 12)
    ratios = []
    for truth in problem.models:
        result = simulate(
            problem, [DEFAULT(), KLUCB()], truth=truth, horizon=10**5, runs=40, times=[10**5]
        )
        ours, theirs = (result.mean_regret(name)[-1] for name in (DEFAULT.name, "kl-ucb"))
        ratios.append(ours / theirs)
    claim(f"  {DEFAULT.name} / kl-ucb, the worst truth", max(ratios), 0.25)


def growth() -> None:
    """Compare how regret grows from T = 10^4 to 10^6 with the lower bound."""
    print("\nGrowth of the default's regret from T = 10^4 to 10^6 over the lower bound, 300 runs")
    shop = [[[0.9, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.8, 0.6]], [[0.4, 0.5], [0.1, 0.6]]]
    four = [[[0.6, 0.5], [0.5, 0.3]], [[0.6, 0.9], [0.5, 0.3]], [[0.6, 0.5], [0.5, 0.9]]]
    four.append([[0.6, 0.8], [0.5, 0.8]])
    for means, truth in ((shop, "theta2"), (shop, "theta3"), (four, "theta1")):
        problem = Problem.bernoulli(means, contexts=["mobile", "desktop"], shares=[0.6, 0.4])
        bound = analyze(problem, truth=truth).cases[0].theorem2.coefficient
        result = simulate(
            problem, DEFAULT(), truth=truth, horizon=10**6, times=[10**4], runs=300, seed=1
        )
        regret = result.regret(DEFAULT.name)
        grown = (regret[:, 1] - regret[:, 0]) / np.log(100) / bound
        claim(f"  {len(means)} models, truth {truth}", grown.mean(), 1.3)
        print(f"    ± {2 * grown.std(ddof=1) / np.sqrt(len(grown)):.2f}")


if __name__ == "__main__":
    against_c()
    against_kl_ucb()
    if "--growth" in sys.argv:
        growth()
