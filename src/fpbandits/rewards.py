"""Reward laws: what every arm pays under every parameter.

The setting: arm i played under the parameter θ pays independent rewards from a known law
P_i(·; θ) on a bounded range, with mean μ_i(θ). A *family* holds these laws for all of Θ at once,
in the user's own units as given (``means``, ``range``). The range is mapped to [0, 1], where the
theory lives, and everything a family computes (draws, likelihoods, divergences) is in [0, 1].

Three families:

=============  =======================================================================
`Bernoulli`    reward 1 with probability μ_i(θ), else 0
`Beta`         Beta(cμ, c(1 − μ)) with one concentration c for all arms
`Discrete`     a common finite support, with probabilities of its own for each arm and θ
=============  =======================================================================

The laws under one parameter are a named tuple of arrays (`RewardFamily.law`), and drawing from it
is a plain function of numbers: the simulator compiles that very function, so that what is drawn
here and what is drawn there is the same.

Families validate nothing: a `fpbandits.Problem` does, when it is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

TOLERANCE = 1e-12
"""Means (and probabilities) this near to one another, on [0, 1], are equal."""


class BernoulliLaw(NamedTuple):
    """Bernoulli arms: the probability of a reward of 1."""

    success: Floats

    def draw_sum(self, arm: int, plays: int, generator: np.random.Generator) -> float:
        """Draw the sum of ``plays`` rewards of an arm."""
        return bernoulli_sum(self, arm, plays, generator)


class BetaLaw(NamedTuple):
    """Beta arms: their two shapes."""

    a: Floats
    b: Floats

    def draw_sum(self, arm: int, plays: int, generator: np.random.Generator) -> float:
        """Draw the sum of ``plays`` rewards of an arm."""
        return beta_sum(self, arm, plays, generator)


class DiscreteLaw(NamedTuple):
    """Discrete arms: the support, and the chance of each value if none before it came."""

    support: Floats
    chances: Floats

    def draw_sum(self, arm: int, plays: int, generator: np.random.Generator) -> float:
        """Draw the sum of ``plays`` rewards of an arm."""
        return discrete_sum(self, arm, plays, generator)


Law = BernoulliLaw | BetaLaw | DiscreteLaw


def bernoulli_sum(law: Any, arm: int, plays: int, generator: Any) -> float:
    """Draw the sum of ``plays`` Bernoulli rewards: a binomial."""
    if plays == 1:
        return 1.0 if generator.random() < law.success[arm] else 0.0
    return float(generator.binomial(plays, law.success[arm]))


def beta_sum(law: Any, arm: int, plays: int, generator: Any) -> float:
    """Draw ``plays`` Beta rewards one by one: their sum has no law of its own."""
    total = 0.0
    for _ in range(plays):
        total += generator.beta(law.a[arm], law.b[arm])
    return total


def discrete_sum(law: Any, arm: int, plays: int, generator: Any) -> float:
    """Draw the sum of ``plays`` discrete rewards: how often each value comes, by binomials."""
    total = 0.0
    left = plays
    for value in range(law.support.size):
        if left == 1:
            count = 1 if generator.random() < law.chances[arm, value] else 0
        else:
            count = generator.binomial(left, law.chances[arm, value])
        total += count * law.support[value]
        left -= count
        if left == 0:
            break
    return total


@dataclass(frozen=True, eq=False, kw_only=True)
class RewardFamily(ABC):
    """The laws of all arms under all parameters.

    Attributes
    ----------
    means
        μ_i(θ) in the user's units: a row a parameter, a column an arm.
    range
        The lowest and the highest reward in the user's units; mapped to 0 and 1.
    """

    name: ClassVar[str]
    sum_in_one_draw: ClassVar[bool]
    """Whether `draw_sum` costs one draw, however many plays it adds up."""

    means: Floats
    range: tuple[float, float] = (0.0, 1.0)

    @cached_property
    def unit_means(self) -> Floats:
        """μ_i(θ) on [0, 1]."""
        return self.to_unit(self.means)

    @property
    def width(self) -> float:
        """How many of the user's units the range spans."""
        return self.range[1] - self.range[0]

    def to_unit(self, values: Floats) -> Floats:
        """Map the user's units to [0, 1]."""
        return values if self.range == (0.0, 1.0) else (values - self.range[0]) / self.width

    @abstractmethod
    def law(self, parameter: int) -> Law:
        """Return the laws of all arms under one parameter, for `draw_sum`."""

    @abstractmethod
    def reordered(self, parameters: Ints, arms: Ints) -> RewardFamily:
        """Return the same laws with parameters and arms in another order, or some of them."""

    def draw(self, generator: np.random.Generator, parameter: int, arm: int, size: int) -> Floats:
        """Draw ``size`` independent rewards."""
        law = self.law(parameter)
        return np.array([law.draw_sum(arm, 1, generator) for _ in range(size)])

    def draw_sum(
        self, generator: np.random.Generator, parameter: int, arm: int, plays: int
    ) -> float:
        """Draw the sum of ``plays`` independent rewards, with exactly its law."""
        return float(self.law(parameter).draw_sum(arm, plays, generator))

    @abstractmethod
    def log_likelihood(self, arm: int, rewards: ArrayLike) -> Floats:
        """Return the log-likelihood of these rewards of ``arm`` under each parameter.

        −∞ where a parameter makes them impossible. For `Beta` it is a log-density.
        """

    @abstractmethod
    def divergence(self, true: int, others: Ints) -> Floats:
        """Return D_i(true‖θ), the Kullback–Leibler divergence in nats: a row a θ, a column an arm.

        Infinite where a reward possible under ``true`` is impossible under θ.
        """

    def same_law(self, true: int, arm: int) -> Bools:
        """Tell which parameters give ``arm`` the very law that it has under ``true``."""
        means = self.unit_means[:, arm]
        same: Bools = np.abs(means - means[true]) <= TOLERANCE
        return same


@dataclass(frozen=True, eq=False, kw_only=True)
class Bernoulli(RewardFamily):
    """Reward 1 (the top of the range) with probability μ_i(θ) on [0, 1], else 0."""

    name = "bernoulli"
    sum_in_one_draw = True

    def law(self, parameter: int) -> BernoulliLaw:
        return BernoulliLaw(self.unit_means[parameter])

    def reordered(self, parameters: Ints, arms: Ints) -> Bernoulli:
        return replace(self, means=self.means[np.ix_(parameters, arms)])

    def log_likelihood(self, arm: int, rewards: ArrayLike) -> Floats:
        rewards = np.asarray(rewards, dtype=np.float64)
        success = self.unit_means[:, arm]
        if not np.isin(rewards, (0.0, 1.0)).all():
            return np.full_like(success, -np.inf)
        wins = int(np.count_nonzero(rewards))
        return _times_log(wins, success) + _times_log(rewards.size - wins, 1 - success)

    def divergence(self, true: int, others: Ints) -> Floats:
        p, q = self.unit_means[true], self.unit_means[others]
        return _information(p, q) + _information(1 - p, 1 - q)


@dataclass(frozen=True, eq=False, kw_only=True)
class Beta(RewardFamily):
    """Beta(cμ, c(1 − μ)): mean μ strictly inside the range, variance μ(1 − μ)/(c + 1)."""

    name = "beta"
    sum_in_one_draw = False

    concentration: float

    @property
    def _shapes(self) -> tuple[Floats, Floats]:
        return self.concentration * self.unit_means, self.concentration * (1 - self.unit_means)

    def law(self, parameter: int) -> BetaLaw:
        a, b = self._shapes
        return BetaLaw(a[parameter], b[parameter])

    def reordered(self, parameters: Ints, arms: Ints) -> Beta:
        return replace(self, means=self.means[np.ix_(parameters, arms)])

    def log_likelihood(self, arm: int, rewards: ArrayLike) -> Floats:
        from scipy.special import betaln, xlog1py, xlogy

        rewards = np.asarray(rewards, dtype=np.float64)
        a, b = (shape[:, arm, np.newaxis] for shape in self._shapes)
        density = xlogy(a - 1, rewards) + xlog1py(b - 1, -rewards) - betaln(a, b)
        total: Floats = density.sum(axis=-1)
        return total

    def divergence(self, true: int, others: Ints) -> Floats:
        a, b = self._shapes
        # With one concentration the terms in a + b cancel, and the closed form is the sum of
        # two Bregman divergences of ln Γ.
        return _log_gamma_bregman(a[others], a[true]) + _log_gamma_bregman(b[others], b[true])


@dataclass(frozen=True, eq=False, kw_only=True)
class Discrete(RewardFamily):
    """Rewards from a finite support, with probabilities[θ, arm, value]."""

    name = "discrete"
    sum_in_one_draw = True

    support: Floats
    probabilities: Floats
    means: Floats = field(init=False)

    def __post_init__(self) -> None:
        # Rounding must not take a mean out of the range.
        means = np.clip(self.probabilities @ self.support, *self.range)
        means.setflags(write=False)
        object.__setattr__(self, "means", means)

    @cached_property
    def unit_support(self) -> Floats:
        """The support on [0, 1]."""
        return self.to_unit(self.support)

    def law(self, parameter: int) -> DiscreteLaw:
        laws = self.probabilities[parameter]
        # What is left when the values before are ruled out; at least the probability itself.
        rest = np.maximum(np.cumsum(laws[:, ::-1], axis=1)[:, ::-1], laws)
        chances = np.divide(laws, rest, out=np.ones_like(laws), where=rest > 0)
        return DiscreteLaw(self.unit_support, chances)

    def reordered(self, parameters: Ints, arms: Ints) -> Discrete:
        return replace(self, probabilities=self.probabilities[np.ix_(parameters, arms)])

    def log_likelihood(self, arm: int, rewards: ArrayLike) -> Floats:
        rewards = np.asarray(rewards, dtype=np.float64)
        seen = np.abs(rewards[..., np.newaxis] - self.unit_support) <= TOLERANCE
        probabilities = self.probabilities[:, arm]
        if not seen.any(axis=-1).all():
            return np.full(len(probabilities), -np.inf)
        counts = seen.reshape(-1, len(self.unit_support)).sum(axis=0)
        total: Floats = _times_log(counts, probabilities).sum(axis=-1)
        return total

    def divergence(self, true: int, others: Ints) -> Floats:
        total: Floats = _information(self.probabilities[true], self.probabilities[others]).sum(-1)
        return total

    def same_law(self, true: int, arm: int) -> Bools:
        laws = self.probabilities[:, arm]
        same: Bools = (np.abs(laws - laws[true]) <= TOLERANCE).all(axis=-1)
        return same


def _times_log(count: Ints | int, probability: Floats) -> Floats:
    """Return count · ln(probability), where nothing seen costs nothing: 0 · ln 0 = 0."""
    from scipy.special import xlogy

    return np.asarray(xlogy(count, probability), dtype=np.float64)


def _information(p: Floats, q: Floats) -> Floats:
    """Return p·ln(p/q) − p + q, which adds up over the outcomes to the divergence of p from q.

    Each is non-negative, so that nothing cancels in the sum. With u = q/p − 1 it is
    p·(u − ln(1 + u)), which has a series for small u: the divergence keeps its relative accuracy
    where p and q are nearly equal, and a lower bound divides by it.
    """
    p, q = np.broadcast_arrays(p, q)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = (q - p) / p
        small = np.abs(u) < 0.01
        v = np.where(small, u, 0.0)
        series = v * v * _polynomial(v, [(-1) ** n / n for n in range(2, 10)])
        log_ratio = np.where(np.abs(u) < 0.5, np.log1p(u), np.log(q) - np.log(p))
        information = np.where(small, p * series, (q - p) - p * log_ratio)
    return np.where(p == 0, q, information)


def _log_gamma_bregman(x: Floats, y: Floats) -> Floats:
    """Return ln Γ(x) − ln Γ(y) − ψ(y)(x − y) ≥ 0, accurate where x and y are nearly equal."""
    from math import factorial

    from scipy.special import digamma, gammaln, polygamma

    x, y = np.broadcast_arrays(x, y)
    step = x - y
    small = np.abs(step) < 0.01 * y
    h = np.where(small, step, 0.0)
    series = h * h * _polynomial(h, [polygamma(n - 1, y) / factorial(n) for n in range(2, 9)])
    return np.where(small, series, gammaln(x) - gammaln(y) - digamma(y) * step)


def _polynomial(x: Floats, coefficients: Sequence[Floats | float]) -> Floats:
    """Return Σ coefficients[n]·xⁿ by Horner's rule."""
    total = np.zeros_like(x)
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total
