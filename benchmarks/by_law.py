"""What knowing the distribution of rewards is worth: the numbers of docs/by-distribution.md.

The paper's simulations with the same means in every family, the default policy's growth of regret
beside Theorem 2; six prices, beside Thompson sampling in ten lines; and how fast rewards are drawn
and weighed one by one.

Run by hand, ``python benchmarks/by_law.py [RUNS]``; with 1,000 runs it takes some ten minutes.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from scipy.special import betaln

from fpbandits import Policy, Problem, ThompsonTheta, analyze, load_problem, simulate
from fpbandits.core.arrays import Floats
from fpbandits.policies import DEFAULT

LOGARITHMIC = (("paper:two", "theta2"), ("paper:grid", "0.4,0.3,0.2,0.2"))
BOUNDED = (
    ("paper:two", "theta1"),
    ("paper:permutations", "0.6,0.4,0.3,0.2"),
    ("paper:grid", "0.6,0.4,0.3,0.2"),
)


def discrete(means: Floats, **names: Any) -> Problem:
    """Return rewards of 0, ½ and 1: half of what is not sure to be one of the ends is ½."""
    half = np.minimum(means, 1 - means)
    laws = np.stack([1 - means - half / 2, half, means - half / 2], axis=2)
    return Problem.discrete(laws, [0, 0.5, 1], **names)


def two_point(means: Floats, **names: Any) -> Problem:
    """Return rewards of 0 or a price, 1 for the first arm and more for each further one."""
    value = 1 + 0.2 * np.arange(means.shape[1])
    return Problem.bernoulli(means / value, value=value.tolist(), **names)


class Family(NamedTuple):
    """How to make a problem of given means, and between which times to measure."""

    make: Callable[..., Problem]
    early: float
    late: float


FAMILIES: dict[str, Family] = {
    "bernoulli": Family(Problem.bernoulli, 1e6, 1e12),
    "beta, concentration 10": Family(lambda m, **n: Problem.beta(m, 10, **n), 1e4, 1e6),
    "beta, concentration 100": Family(lambda m, **n: Problem.beta(m, 100, **n), 1e4, 1e6),
    "gaussian, deviation .5": Family(lambda m, **n: Problem.gaussian(m, 0.5, **n), 1e6, 1e12),
    "gaussian, deviation .05": Family(lambda m, **n: Problem.gaussian(m, 0.05, **n), 1e6, 1e12),
    "discrete": Family(discrete, 1e6, 1e12),
    "two-point": Family(two_point, 1e6, 1e12),
}


class Growth(NamedTuple):
    """Regret per unit of ln T, its standard error, and Theorem 2's coefficient."""

    mean: float
    error: float
    coefficient: float

    @property
    def fits(self) -> bool:
        """Whether it is at most 1.25 times Theorem 2, and two standard errors."""
        return self.mean <= 1.25 * self.coefficient + 2 * self.error


def growth(
    family: str, name: str, truth: str, runs: int, policy: Policy | None = None, seed: int = 0
) -> Growth:
    """Measure how regret grows between a family's two times."""
    paper, (make, early, late) = load_problem(name), FAMILIES[family]
    problem = make(paper.means, arms=paper.arms, models=paper.models, name=name)
    policy = policy or DEFAULT()
    result = simulate(
        problem, policy, truth=truth, horizon=late, runs=runs, times=[early, late], seed=seed
    )
    grown = np.diff(result.regret(str(policy)), axis=1)[:, 0] / math.log(late / early)
    coefficient = analyze(problem, truth=truth).cases[0].theorem2.coefficient
    return Growth(float(grown.mean()), float(grown.std(ddof=1) / math.sqrt(runs)), coefficient)


PRICES = np.array([3.0, 5, 7, 9, 12, 15])
CONCENTRATION = 100.0


def six_prices() -> Problem:
    """Return revenue per visitor at six prices, for 15 logistic curves of demand."""
    curves = [(middle, slope) for middle in (4, 6, 8, 10, 12) for slope in (0.4, 0.8, 1.6)]
    means = [PRICES / (1 + np.exp(slope * (PRICES - middle))) for middle, slope in curves]
    return Problem.beta(
        np.maximum(means, 1e-3),
        CONCENTRATION,
        range=(0, 15),
        arms=[f"{price:g}" for price in PRICES],
        models=[f"{middle},{slope}" for middle, slope in curves],
        name="six prices",
    )


def ten_lines(problem: Problem, truth: int, horizon: int, seed: int) -> float:
    """Return the regret of Thompson sampling with the true likelihood, written in ten lines."""
    random, means = np.random.default_rng(seed), problem.means / 15
    a, b = CONCENTRATION * means, CONCENTRATION * (1 - means)
    log_likelihood, regret = np.zeros(len(means)), 0.0
    for _ in range(horizon):
        weights = np.exp(log_likelihood - log_likelihood.max())
        model = random.choice(len(means), p=weights / weights.sum())
        arm = means[model].argmax()
        r = min(max(random.beta(a[truth, arm], b[truth, arm]), 1e-16), 1 - 1e-16)
        log_likelihood += (a[:, arm] - 1) * math.log(r) + (b[:, arm] - 1) * math.log1p(-r)
        log_likelihood -= betaln(a[:, arm], b[:, arm])
        regret += 15 * (means[truth].max() - means[truth, arm])
    return regret


def prices(runs: int, horizon: int = 2000) -> dict[str, tuple[float, float]]:
    """Return mean regret and its standard error over all truths: the same runs for everyone."""
    problem, policies = six_prices(), (DEFAULT(), ThompsonTheta(), DEFAULT(likelihood="means"))
    each = max(1, runs // len(problem.models))
    lost: dict[str, list[float]] = {"ten lines": []}
    for truth, name in enumerate(problem.models):
        lost["ten lines"] += [ten_lines(problem, truth, horizon, seed) for seed in range(each)]
        for policy in policies:
            result = simulate(
                problem, policy, truth=name, horizon=horizon, runs=each, times=[horizon]
            )
            lost.setdefault(str(policy), []).extend(result.regret(str(policy))[:, -1])
    return {
        who: (float(np.mean(some)), float(np.std(some, ddof=1) / math.sqrt(len(some))))
        for who, some in lost.items()
    }


@numba.njit
def _naive(a: Any, b: Any, base: Any, best: Any, truth: int, steps: int) -> float:
    """Play the best arm of the model that fits best, and weigh every model after each reward."""
    log_likelihood, total = np.zeros(a.shape[0]), 0.0
    for _ in range(steps):
        arm = best[log_likelihood.argmax()]
        r = np.random.beta(a[truth, arm], b[truth, arm])  # noqa: NPY002  # all that Numba has
        x, y = math.log(r), math.log(1 - r)
        for model in range(a.shape[0]):
            log_likelihood[model] += (
                (a[model, arm] - 1) * x + (b[model, arm] - 1) * y - base[model, arm]
            )
        total += r
    return total


def speeds(name: str, steps: int) -> tuple[float, float]:
    """Return seconds per step of the default with Beta rewards, and of a naive compiled loop."""
    problem = Problem.beta(load_problem(name).means, 10)
    means = np.array(problem.means)
    a, b = 10 * means, 10 * (1 - means)
    best = means.argmax(axis=1)
    took = []
    for play in (
        lambda n: simulate(problem, truth="theta1", horizon=n, runs=1, times=[n], workers=1),
        lambda n: _naive(a, b, betaln(a, b), best, 0, n),
    ):
        play(1000)
        start = time.process_time()
        play(steps)
        took.append((time.process_time() - start) / steps)
    return took[0], took[1]


def main(runs: int) -> None:
    """Print all of it."""
    print(f"Growth of regret per unit of ln T, {runs:,} runs (Beta on 256 models a tenth of them)")
    for cases in (LOGARITHMIC, BOUNDED):
        for name, truth in cases:
            print(f"  {name}, {truth}")
            for family in FAMILIES:
                many = runs // 10 if family.startswith("beta") and name == "paper:grid" else runs
                found = growth(family, name, truth, many)
                bound = (
                    "" if found.coefficient == 0 else f", {found.mean / found.coefficient:.2f} ×"
                )
                print(
                    f"    {family:24} {found.mean:8.5f} ± {found.error:.5f}   Theorem 2 "
                    f"{found.coefficient:.5f}{bound} {'' if found.fits else 'TOO MUCH'}",
                    flush=True,
                )
    print("Six prices, Beta rewards of concentration 100, T = 2,000, all 15 truths")
    for who, (mean, error) in prices(runs).items():
        print(f"    {who:24} {mean:8.2f} ± {error:.2f}")
    print("Nanoseconds per step with Beta rewards: the default, and a naive compiled loop")
    for name in ("paper:two", "paper:permutations", "paper:grid"):
        ours, naive = speeds(name, 200_000)
        print(f"    {name:24} {1e9 * ours:8.0f} {1e9 * naive:8.0f}   {ours / naive:.2f} ×")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
