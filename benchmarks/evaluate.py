"""How often the intervals of `evaluate` hold what policies truly earn, on logs of known truth.

Run by ``make bench``; an argument is the number of logs. They have 300 units of three types, 8 to
32 rows each; arms are chosen uniformly, or by propensities that depend on the context, on the row
and on what the unit was paid before. What is true comes from `simulate`, which knows no logs.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from engine import claim
from scipy.stats import binom

from fpbandits import Problem, evaluate, simulate
from fpbandits.core.arrays import Floats

UNITS, FEWEST, MOST = 300, 8, 32
POLICIES = ["frugal", "thompson-theta", "thompson"]
SHARES = [0.5, 0.3, 0.2]
SKEWED = np.array([0.1, 0.2, 0.3, 0.4])
ROLES: Any = {"unit": "user", "arm": "arm", "reward": "reward"}


def models(family: str, contexts: int) -> Problem:
    """Return three types with four arms."""
    means = np.random.default_rng(7).uniform(0.05, 0.95, (3, contexts, 4))
    naming: Any = {"prior": {f"theta{i + 1}": share for i, share in enumerate(SHARES)}}
    if contexts > 1:
        naming |= {"contexts": ["x", "y"], "shares": [0.7, 0.3]}
    else:
        means = means[:, 0]
    if family == "gaussian":
        return Problem.gaussian(means, deviation=0.4, **naming)
    return Problem.bernoulli(means, **naming)


def draw(seed: int, problem: Problem, family: str, uniform: bool) -> dict[str, Any]:
    """Draw a log, a row at a time for all units at once."""
    random = np.random.default_rng(seed)
    kinds = random.choice(3, UNITS, p=SHARES)
    rows = random.integers(FEWEST, MOST + 1, UNITS)
    means = problem.means.reshape(3, -1, 4)
    before = np.zeros(UNITS)
    columns: dict[str, list[Any]] = {name: [] for name in ("user", "arm", "reward", "p", "on")}
    for row in range(MOST):
        context = (random.random(UNITS) < (0.3 if problem.contexts else 0)).astype(int)
        chances = np.full((UNITS, 4), 0.25)
        if not uniform:
            # Arms that it likes: others in another context, later, and after a good reward.
            liked = (context + row // 10 + (before > 0.5)) % 4
            chances = SKEWED[(np.arange(4) - liked[:, np.newaxis]) % 4]
        arm = (random.random((UNITS, 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(max=3)
        mean = means[kinds, context, arm]
        if family == "gaussian":
            reward = mean + 0.4 * random.normal(size=UNITS)
        else:
            reward = (random.random(UNITS) < mean).astype(float)
        before = reward
        there = np.flatnonzero(rows > row)
        values = there, np.char.add("arm", (arm + 1).astype(str)), reward
        columns["user"] += there.tolist()
        for name, every in zip(("arm", "reward"), values[1:], strict=True):
            columns[name] += every[there].tolist()
        columns["p"] += chances[np.arange(UNITS), arm][there].tolist()
        columns["on"] += np.array(["x", "y"])[context][there].tolist()
    return columns


def true_value(problem: Problem, policy: str, least: float) -> float:
    """Return Σ_k P(K ≥ k)·(reward of the k-th decision)/E K, K the decisions that are accepted."""
    result = simulate(
        problem,
        policy,
        truth="prior",
        horizon=MOST,
        times=range(1, MOST + 1),
        runs=40_000,
        leap=False,
        seed=3,
    )
    best = problem.means.reshape(3, -1, 4).max(axis=2)
    shares = problem.shares or [1.0]
    top = float(np.array(SHARES) @ best @ np.array(shares))
    earned: Floats = top - np.diff(result.mean_regret(policy), prepend=0.0)
    rows = np.arange(FEWEST, MOST + 1)
    reached: Floats = np.asarray(binom.sf(np.arange(MOST)[:, np.newaxis], rows, least)).mean(axis=1)
    return float(reached @ earned / reached.sum())


def coverage(logs: int, family: str, contexts: int, uniform: bool) -> None:
    """Count how often the intervals hold the truth."""
    problem = models(family, contexts)
    least = 0.25 if uniform else 0.1
    how: Any = {"uniform": True} if uniform else {"propensity": "p"}
    if contexts > 1:
        how["context"] = "on"
    truth = {policy: true_value(problem, policy, least) for policy in POLICIES}
    found: dict[str, list[Any]] = {policy: [] for policy in POLICIES}
    start = time.process_time()
    for seed in range(logs):
        log = draw(seed, problem, family, uniform)
        result = evaluate(log, problem, POLICIES, **ROLES, **how)
        for policy in POLICIES:
            found[policy].append(result.policies[policy].mean)
    chosen = "uniform" if uniform else "by propensities"
    print(f"{family}, {contexts} contexts, arms {chosen}: {time.process_time() - start:.0f} CPU s")
    for policy, estimates in found.items():
        value = truth[policy]
        held = np.mean([each.low <= value <= each.high for each in estimates])
        off = np.mean([each.value for each in estimates]) - value
        width = np.mean([each.high - each.low for each in estimates])
        print(f"  {policy}: truth {value:.4f}, mean error {off:+.4f}, width {width:.4f}")
        claim("    95 % intervals that hold it, %", 100 * held, 90, at_least=True)
        claim("    … and not more than", 100 * held, 98)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for of_family, of_contexts in (("bernoulli", 1), ("gaussian", 1), ("bernoulli", 2)):
        for at_random in (True, False):
            coverage(number, of_family, of_contexts, at_random)
