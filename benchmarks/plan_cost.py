"""What a decision of the policy `frugal` costs, beside one of Thompson sampling on Θ, in one run.

Decisions are made step by step, on uniform means, with rewards in between: at once, or 300 plays
late. Times are the best of several taken in turn, since machines are shared and noisy. At last, how
long it takes to prepare a large set of models.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from engine import best, claim

from fpbandits import Policy, Problem, ThompsonTheta, simulate
from fpbandits.policies import Frugal

LIMIT, PENDING_LIMIT = 2.0, 10.0
DELAY = 300


def stepwise(
    problem: Problem, policy: Policy, decisions: int, delay: int = 0
) -> Callable[[], object]:
    """Return the work of one run, step by step."""
    return lambda: simulate(
        problem,
        policy,
        truth="theta1",
        horizon=decisions,
        runs=1,
        leap=False,
        times=[decisions],
        delay=delay,
    )


def main() -> None:
    """Measure small and large sets of models."""
    for models, arms, decisions in ((24, 4, 100_000), (1000, 16, 3_000)):
        problem = Problem.bernoulli(np.random.default_rng(0).random((models, arms)))
        works = [
            stepwise(problem, Frugal(), decisions),
            stepwise(problem, ThompsonTheta(), decisions),
            stepwise(problem, Frugal(), decisions, DELAY),
        ]
        for work in works:
            work()  # compiles
        mine, theirs, pending = best(*works)
        print(
            f"{models:,} models, {arms} arms: µs per decision: frugal {1e6 * mine / decisions:.2f},"
            f" thompson-theta {1e6 * theirs / decisions:.2f}"
        )
        claim("  frugal over thompson-theta", mine / theirs, LIMIT)
        claim(f"  the same with {DELAY} rewards pending", pending / theirs, PENDING_LIMIT)
    large = Problem.bernoulli(np.random.default_rng(0).random((50_000, 8)))
    (seconds,) = best(lambda: Frugal().prepare(large))
    claim("50,000 models, 8 arms: seconds to prepare", seconds, 10.0)


if __name__ == "__main__":
    main()
