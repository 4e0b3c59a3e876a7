"""Whether the policy `frugal` loses anything more, ever, where it need not: random small problems.

Means are on a coarse grid, so that models often agree on arms and best arms are often tied. Of
these problems those are taken where no model agrees with the truth on all its best arms and
promises more: there regret is bounded. Each is played to 10¹⁵, models and arms shuffled in every
run, and what a run loses after 10⁸ plays is counted.

    python benchmarks/bounded.py [PROBLEMS] [SEED]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

from fpbandits import Policy, Problem, simulate
from fpbandits.policies import Frugal

EARLY, LATE = 10**8, 10**15


def is_bounded(means: np.ndarray) -> bool:
    """Tell whether no model agrees with the first on all its best arms and promises more."""
    truth = means[0]
    best = truth >= truth.max() - 1e-12
    return not any(
        np.allclose(row[best], truth[best]) and row.max() > truth.max() + 1e-12 for row in means
    )


def problems(seed: int) -> Iterator[tuple[Problem, int]]:
    """Yield such problems, the truth first, and how many best arms that has; half have several."""
    generator, number = np.random.default_rng(seed), 0
    while True:
        models, arms = int(generator.integers(3, 13)), int(generator.integers(2, 5))
        levels = int(generator.integers(3, 8))
        means = generator.integers(1, levels, (models, arms)) / levels
        rest = np.unique(means[1:], axis=0)
        means = np.vstack([means[:1], rest[(rest != means[0]).any(axis=1)]])
        ties = int((means[0] >= means[0].max() - 1e-12).sum())
        # A truth that is best everywhere, or has no rival, would be no test.
        rivals = (means[:, means[0] >= means[0].max() - 1e-12].max(axis=1)) < means.max(axis=1)
        if ties < arms and rivals.any() and is_bounded(means) and (ties > 1) == (number % 2 == 1):
            yield Problem.bernoulli(means), ties
            number += 1


def grown(problem: Problem, policy: Policy, runs: int, seed: int) -> np.ndarray:
    """Return what every run loses between early and late, and its regret early."""
    result = simulate(
        problem,
        {"it": policy},
        truth="theta1",
        horizon=LATE,
        times=[EARLY, LATE],
        runs=runs,
        seed=seed,
        shuffle=True,
    )
    early, late = result.regret("it").T
    return np.stack([late - early, early])


def main() -> None:
    """Play as many as are asked for, and say which grew."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    runs, growing, several, most, start = 20, 0, 0, 0.0, time.perf_counter()
    for number, (problem, ties) in zip(range(count), problems(seed), strict=False):
        more, early = grown(problem, Frugal(), runs, number)
        several += ties > 1
        most = max(most, float(early.mean()))
        if more.any():
            growing += 1
            print(f"problem {number}, {ties} best arms: {(more > 0).sum()} of {runs} runs grew, by")
            print(f"  {more.mean():.3g} in the mean and {more.max():.3g} at most; means")
            print(f"  {problem.means.round(3).tolist()}", flush=True)
    print(
        f"{growing} of {count} problems ({several} with several best arms) grew from 1e8 to 1e15; "
        f"mean regret was {most:.3g} at most, {time.perf_counter() - start:.0f} s"
    )


if __name__ == "__main__":
    main()
