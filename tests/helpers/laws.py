"""What tests of reward families share: one of each kind, random ones with SciPy's laws, a χ² test.

SciPy's laws are made from what a problem was made from, and never from what a family computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from scipy import stats

from fpbandits import Problem
from fpbandits.families import RewardFamily

reproducible = settings(max_examples=100, deadline=None, derandomize=True, database=None)
MEANS = [[0.3, 0.8], [0.9, 0.05]]
SUPPORT = [0.0, 0.25, 1.0]
LAWS = [[[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], [[0.6, 0.4, 0.0], [0.1, 0.1, 0.8]]]


def bernoulli() -> RewardFamily:
    return Problem.bernoulli(MEANS).rewards


def beta() -> RewardFamily:
    return Problem.beta(MEANS, concentration=3.5).rewards


def discrete() -> RewardFamily:
    return Problem.discrete(LAWS, SUPPORT).rewards


def gaussian() -> RewardFamily:
    return Problem.gaussian([[3, -8], [9, 0.5]], deviation=2).rewards


def two_point() -> RewardFamily:
    return Problem.bernoulli(MEANS, value=[9, -4]).rewards


def families() -> list[RewardFamily]:
    return [bernoulli(), beta(), discrete(), gaussian(), two_point()]


def kind_of(family: RewardFamily) -> str:
    """What to call it in a test's name."""
    return type(family).__name__


@dataclass(frozen=True)
class SciPyLaw:
    """One arm's law under one model, in the user's units: points and chances, or a density."""

    points: dict[float, float] | None = None
    continuous: Callable[[], Any] | None = None
    """Makes the density when it is asked for: SciPy takes its time, and some ask for no density."""
    logs: dict[float, float] = field(default_factory=dict, compare=False)
    """What SciPy said of rewards before: it takes its time, and twins ask again and again."""

    @cached_property
    def density(self) -> Any:
        """SciPy's distribution."""
        assert self.continuous is not None
        return self.continuous()

    def log(self, reward: float) -> float:
        """The log-likelihood of one reward."""
        if self.points is None:
            if reward not in self.logs:
                self.logs[reward] = float(self.density.logpdf(reward))
            return self.logs[reward]
        chance = self.points[reward]
        return math.log(chance) if chance > 0 else -math.inf

    def expect(self, function: Callable[[float], float]) -> float:
        """The expectation of a function of a reward, by adding up or by integration."""
        if self.points is not None:
            return math.fsum(p * function(x) for x, p in self.points.items() if p > 0)
        # Over the quantiles of a normal law, which tames the ends of any other: there the rule of
        # trapezia is as good as any.
        z = np.linspace(-6, 6, 300)
        norm = stats.norm
        below, above = self.density.ppf(norm.cdf(z)), self.density.isf(norm.sf(z))
        values = [function(float(x)) for x in np.where(z < 0, below, above)]
        return float(np.trapezoid(norm.pdf(z) * values, z))

    def some(self, generator: np.random.Generator) -> float:
        """One reward that is possible."""
        if self.points is None:
            return float(self.density.rvs(random_state=generator))
        return float(generator.choice([x for x, p in self.points.items() if p > 0]))

    def draw(self, generator: np.random.Generator) -> float:
        """One reward, with this law."""
        if self.points is None:
            return float(self.density.rvs(random_state=generator))
        return float(generator.choice(list(self.points), p=list(self.points.values())))

    @property
    def mean(self) -> float:
        if self.points is None:
            return float(self.density.mean())
        return math.fsum(p * x for x, p in self.points.items())


@dataclass(frozen=True)
class Example:
    """A problem of two models and two arms, and its laws[θ][arm] by SciPy."""

    problem: Problem
    laws: list[list[SciPyLaw]]


KINDS = ["bernoulli", "beta", "discrete", "gaussian", "two-point"]


@st.composite
def examples(draw: st.DrawFn, kind: str | None = None) -> Example:
    """Any family; at times both models give the first arm one and the same law."""
    kind = kind or draw(st.sampled_from(KINDS))
    low, high = draw(st.sampled_from([(0.0, 1.0), (-2.0, 5.0), (10.0, 110.0)]))
    inside = st.floats(0.05, 0.95)
    shares = [[draw(inside) for _ in range(2)] for _ in range(2)]
    if draw(st.booleans()):
        shares[1][0] = shares[0][0]
    if kind == "discrete":
        support = [low, low + 0.3 * (high - low), high]
        weights = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any)
        rows = [[[w / sum(ws) for w in ws] for ws in (draw(weights), draw(weights))] for _ in "ab"]
        if shares[1][0] == shares[0][0]:
            rows[1][0] = rows[0][0]
        points = [[dict(zip(support, row, strict=True)) for row in by_arm] for by_arm in rows]
        problem = Problem.discrete(rows, support, range=(low, high))
        return Example(problem, [[SciPyLaw(points=p) for p in by_arm] for by_arm in points])
    if kind == "two-point":
        value = [draw(st.sampled_from([9.0, -4.0, 0.25])) for _ in range(2)]
        laws = [
            [SciPyLaw(points={0.0: 1 - p, v: p}) for p, v in zip(row, value, strict=True)]
            for row in shares
        ]
        return Example(Problem.bernoulli(shares, value=value), laws)
    means = [[low + share * (high - low) for share in row] for row in shares]
    if kind == "bernoulli":
        made = [[SciPyLaw(points={low: 1 - p, high: p}) for p in row] for row in shares]
        return Example(Problem.bernoulli(means, range=(low, high)), made)
    if kind == "beta":
        c = draw(st.floats(20, 60))
        return Example(
            Problem.beta(means, c, range=(low, high)),
            [
                [
                    SciPyLaw(continuous=partial(stats.beta, c * p, c * (1 - p), low, high - low))
                    for p in row
                ]
                for row in shares
            ],
        )
    deviation = draw(st.floats(0.05, 20))
    return Example(
        Problem.gaussian(means, deviation),
        [
            [SciPyLaw(continuous=partial(stats.norm, mean, deviation)) for mean in row]
            for row in means
        ],
    )


def random_example(kind: str, generator: np.random.Generator) -> Example:
    """A few models and arms; few levels, so that laws agree at times, and means where laws do not.

    Beta laws have concentration 10, normal ones a deviation between 0.05 and 0.5.
    """
    size = int(generator.integers(2, 8)), int(generator.integers(2, 5))
    shares = generator.choice(generator.uniform(0.1, 0.9, int(generator.integers(3, 9))), size)
    if kind == "discrete":
        middle = generator.choice([0.0, 0.2, 0.5], size)
        rows = np.stack([(1 - shares) * (1 - middle), middle, shares * (1 - middle)], axis=2)
        support = [0.0, 0.5, 1.0]
        made = [
            [SciPyLaw(points=dict(zip(support, law, strict=True))) for law in row]
            for row in rows.tolist()
        ]
        return Example(Problem.discrete(rows, support), made)
    if kind == "two-point":
        value = generator.choice([9.0, 12.0, 15.0], size[1]).tolist()
        points = [
            [{0.0: 1 - p, v: p} for p, v in zip(row, value, strict=True)] for row in shares.tolist()
        ]
        made = [[SciPyLaw(points=p) for p in row] for row in points]
        return Example(Problem.bernoulli(shares, value=value), made)
    if kind == "beta":
        made = [
            [SciPyLaw(continuous=partial(stats.beta, 10 * p, 10 * (1 - p))) for p in row]
            for row in shares.tolist()
        ]
        return Example(Problem.beta(shares, 10), made)
    deviation = float(generator.choice([0.05, 0.5]))
    made = [
        [SciPyLaw(continuous=partial(stats.norm, p, deviation)) for p in row]
        for row in shares.tolist()
    ]
    return Example(Problem.gaussian(shares, deviation), made)


def chi_square(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return the p-value, rare outcomes taken together."""
    rare = expected < 5
    merged = [np.append(counts[~rare], counts[rare].sum()) for counts in (observed, expected)]
    keep = merged[1] > 0
    return float(stats.chisquare(merged[0][keep], merged[1][keep]).pvalue)


def differ(first: np.ndarray, second: np.ndarray) -> float:
    """Return the p-value of a two-sample test on counts: χ² where few values occur, else K-S."""
    values, counts = np.unique(np.concatenate([first, second]), return_counts=True)
    if len(values) > 40:
        return float(stats.ks_2samp(first, second).pvalue)
    common = values[counts >= 20]
    table = [
        [*(np.sum(sample == value) for value in common), np.sum(~np.isin(sample, common))]
        for sample in (first, second)
    ]
    columns = np.array(table)[:, np.sum(table, axis=0) > 0]
    return 1.0 if columns.shape[1] < 2 else float(stats.chi2_contingency(columns).pvalue)
