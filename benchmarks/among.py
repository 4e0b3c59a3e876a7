"""Decisions for which only some arms are eligible.

`python benchmarks/among.py [DECISIONS] [STATES] [RUNS]`: of so many decisions, shared by all
policies that can decide among some arms, how many named an arm that was not eligible; in how many
of so many random states `why` named another arm than `ask`; and on five practice sets, where each
arm is eligible with probability .8, what the default loses against the best eligible arm beside
Thompson sampling without models. The truth is drawn from the prior, each run is of 300 decisions,
and both meet the same truths, sets and chances.
"""

from __future__ import annotations

import sys

import numpy as np

import fpbandits as fpb
from fpbandits.engine.policy import Eligible
from fpbandits.policies import POLICIES
from fpbandits.problem.practice import practice

SHARE, PLAYS = 0.8, 300


def some_of(problem: fpb.Problem, random: np.random.Generator, share: float) -> list[str]:
    """Draw the arms that are eligible, at least one."""
    while True:
        among = [arm for arm in problem.arms if random.random() < share]
        if among:
            return among


def outside(decisions: int, states: int) -> None:
    """Count decisions that name an arm that is not eligible, or not the one that `why` named."""
    problem = fpb.load_problem("paper:permutations")
    able = [name for name, kind in POLICIES.items() if kind.eligible is not Eligible.REFUSED]
    wrong = unlike = looked = made = 0
    for name in able:
        random = np.random.default_rng(1)
        for number in range(decisions // len(able) + 1):
            if number % 500 == 0:
                agent = fpb.Agent(problem, name, late="any", seed=number)
            among = some_of(problem, random, 0.5)
            arm = None
            if number <= states // len(able):
                arm, looked = agent.why(among=among).arm, looked + 1
            decision = agent.ask(among=among)
            made += 1
            wrong += decision.arm not in among
            unlike += arm is not None and decision.arm != arm
            if random.random() < 0.9:
                agent.tell(decision, int(random.random() < 0.5))
    print(f"{len(able)} policies, {made:,} decisions: {wrong} outside what was eligible")
    print(f"{looked:,} states: why named another arm than ask in {unlike}")


def lost(problem: fpb.Problem, policy: str, runs: int) -> float:
    """Return the mean regret against the best eligible arm."""
    total = 0.0
    for run in range(runs):
        random = np.random.default_rng((3, run))
        truth = int(random.choice(len(problem.models), p=problem.prior))
        law, means = problem.rewards.law(truth), problem.means[truth]
        agent = fpb.Agent(problem, policy, seed=run)
        for _ in range(PLAYS):
            among = some_of(problem, random, SHARE)
            decision = agent.ask(among=among)
            arm = problem.arms.index(decision.arm)
            own = np.random.default_rng(random.integers(2**60))
            statistics = np.zeros(problem.rewards.statistics)
            reward = problem.rewards.draw_sum(law, arm, 1, own, statistics)
            agent.tell(decision, problem.rewards.zero + problem.rewards.width * reward)
            total += max(means[problem.arms.index(each)] for each in among) - means[arm]
    return total / runs


def main(decisions: int = 10**6, states: int = 10**5, runs: int = 100) -> None:
    """Print what was found."""
    outside(decisions, states)
    problems = [problem for problem in practice(1) if not problem.contexts]
    for problem in problems[:5]:
        default, thompson = (lost(problem, name, runs) for name in ("frugal", "thompson"))
        ratio = default / thompson
        print(f"{problem.name}: default {default:.4g}, thompson {thompson:.4g}: {ratio:.2f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
