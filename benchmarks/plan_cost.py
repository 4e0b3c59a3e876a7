"""What a decision of the policy `frugal` costs, beside one of Thompson sampling on Θ, in one run.

Decisions are made step by step, on uniform means, with rewards in between. Times are the best of
several taken in turn, since machines are shared and noisy.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from engine import best, claim

from fpbandits import Policy, Problem, ThompsonTheta, simulate
from fpbandits.policies import Frugal

LIMIT = 3.0


def stepwise(problem: Problem, policy: Policy, decisions: int) -> Callable[[], object]:
    """Return the work of one run, step by step."""
    return lambda: simulate(
        problem, policy, truth="theta1", horizon=decisions, runs=1, leap=False, times=[decisions]
    )


def main() -> None:
    """Measure small and large sets of models."""
    for models, arms, decisions in ((24, 4, 100_000), (1000, 16, 3_000)):
        means = np.random.default_rng(0).random((models, arms))
        problem = Problem.bernoulli(means)
        works = [stepwise(problem, policy, decisions) for policy in (Frugal(), ThompsonTheta())]
        for work in works:
            work()  # compiles
        mine, theirs = best(*works)
        print(
            f"{models:,} models, {arms} arms: µs per decision: frugal {1e6 * mine / decisions:.2f},"
            f" thompson-theta {1e6 * theirs / decisions:.2f}"
        )
        claim("  frugal over thompson-theta", mine / theirs, LIMIT)


if __name__ == "__main__":
    main()
