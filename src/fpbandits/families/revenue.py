"""Revenue: nothing, or an amount that varies.

With chance p an arm pays an amount, which has a gamma distribution of mean m, shape k and standard
deviation m/√k; k is the same for all arms and models. A row holds a chance and a mean amount for
each arm, in the user's units, and the mean reward is p·m. The statistics are how often an arm paid,
how often it did not, and the sum of its amounts.

Rewards have no upper limit. One unit is twice the largest standard deviation of any arm under any
model, so that no deviation is above ½, as with rewards in [0, 1]. Gamma tails are heavier than
those of a normal distribution, though: what rests on Hoeffding's inequality (FP-UCB's radius,
Theorem 1's constants, leaps) is not proven here, so simulations go play by play. Likelihoods,
divergences and the lower bound are exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fpbandits.core import checks
from fpbandits.core.arrays import TOLERANCE, Bools, Floats, Ints
from fpbandits.core.checks import LARGEST, Numbers, Range, number_text
from fpbandits.core.names import Names
from fpbandits.core.table import checked_lists
from fpbandits.errors import InputError, wrong_value
from fpbandits.families.base import RewardFamily
from fpbandits.families.binomial import draw_binomial
from fpbandits.families.estimator import (
    LARGEST_LOG_ODDS,
    LEAST_CHANCE,
    Estimator,
    Rewards,
    chances_of,
    log_odds_of,
)
from fpbandits.families.information import information, information_of_chances, minus_log

_LEAST_SHAPE = 1e-3
"""The least shape, given or fitted."""
_LARGEST_SHAPE = 1e6
"""The largest shape, given or fitted."""
_LARGEST_LOG = 60.0
"""Logarithms of fitted mean amounts are at most this, and at least minus this."""
_STEPS = 4
"""Newton's steps to a shape, from an approximation within 2 %."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Revenue(RewardFamily):
    """0, or with chance ``rates[θ, arm, 0]`` a gamma amount of mean ``rates[θ, arm, 1]``."""

    name = "revenue"
    table = "rates"
    fields = ("shape",)
    sum_in_one_draw = True
    bounded = False
    takes_range = False
    statistics_stay_near = False
    leaps = False

    shape: float
    rates: Floats
    unit: float
    """How many of the user's units make one unit."""
    range: Range = (0.0, math.inf)
    means: Floats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "means", self.rates[..., 0] * self.rates[..., 1])
        super().__post_init__()

    @classmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> Revenue:
        rates = checked_lists(rows, names, 2, "numbers", "a chance and a mean amount")
        shape = _checked_shape(fields["shape"])
        chance, amount = rates[..., 0], rates[..., 1]
        for row, column in np.argwhere(~((chance >= 0) & (chance <= 1))):
            reason = f"{number_text(chance[row, column])} is not a probability"
            wanted = "a cell is [chance, mean amount]"
            raise InputError(f"{reason}: {wanted}", place=names.place(row, column))
        for row, column in np.argwhere(~((amount > 0) & (amount <= LARGEST))):
            reason = (
                f"the mean amount {number_text(amount[row, column])} must be above 0 and at most "
                f"{LARGEST:g}"
            )
            raise InputError(reason, place=names.place(row, column))
        squares = chance * amount**2 * (1 + 1 / shape)  # the mean square of a reward
        deviation = math.sqrt(float((squares - (chance * amount) ** 2).max()))
        if not deviation > 0:
            raise InputError("no arm ever pays under any model", about=("models",))
        return cls(rates=rates, shape=shape, unit=2 * deviation)

    def __str__(self) -> str:
        return f"{self.name} rewards of 0 or an amount of shape {number_text(self.shape)}"

    @property
    def width(self) -> float:
        """Twice the largest standard deviation."""
        return self.unit

    def law(self, model: int) -> Floats:
        """Return for each arm its chance, and the shape and scale of the gamma amount, in units."""
        chance, amount = self.rates[model].T
        scale = amount / (self.shape * self.unit)
        return np.column_stack([chance, np.full_like(chance, self.shape), scale])

    @staticmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        """Draw how often the arm pays, and the sum of the amounts, which is gamma, too."""
        if plays == 1:  # quicker than a call
            paid = 1 if random.random() < law[arm, 0] else 0
        else:
            paid = draw_binomial(plays, law[arm, 0], random)
        total = 0.0
        if paid > 0:
            total = random.standard_gamma(paid * law[arm, 1]) * law[arm, 2]
        statistics[0] += paid
        statistics[1] += plays - paid
        statistics[2] += total
        return float(total)

    @property
    def statistics(self) -> int:
        return 3

    def statistics_of(self, arm: int, reward: float) -> tuple[float, ...]:
        return (1.0, 0.0, reward) if reward > 0 else (0.0, 1.0, 0.0)

    def costs(self) -> tuple[Floats, Floats]:
        chance, amount = self.rates[..., 0], self.rates[..., 1] / self.unit
        # Where an arm never pays, its amount means nothing: it counts as the least of the others.
        # Then a payment costs such a model more than others, however finite the first term is made.
        least = np.where(chance > 0, amount, np.inf).min(axis=0)
        amount = np.where(chance > 0, amount, np.where(np.isfinite(least), least, 1.0))
        paid = minus_log(chance) + self.shape * np.log(amount)
        return np.zeros_like(paid), np.stack(
            [paid, minus_log(1 - chance), self.shape / amount], axis=-1
        )

    def expected(self, model: int) -> Floats:
        chance, amount = self.rates[model].T
        return np.stack([chance, 1 - chance, chance * amount / self.unit], axis=-1)

    def of_means(self, means: Numbers, names: Names) -> Revenue:
        raise InputError("means alone do not make revenue: name a true model instead")

    def divergence(self, truth: int, others: Ints) -> Floats:
        (p, m), (q, other_m) = self.rates[truth].T, np.moveaxis(self.rates[others], -1, 0)
        # The divergence of two gamma distributions of one shape is k·(ln(m′/m) + m/m′ − 1).
        amounts = p * self.shape * information(np.ones_like(m), m / other_m)
        divergence: Floats = information_of_chances(p, q) + amounts
        return divergence

    def same_law(self, truth: int, arm: int) -> Bools:
        chance, amount = self.rates[:, arm].T
        same_amount = np.abs(amount / amount[truth] - 1) <= TOLERANCE
        same: Bools = same_amount | (chance[truth] == 0)
        same &= np.abs(chance - chance[truth]) <= TOLERANCE
        return same


def _checked_shape(given: object) -> float:
    """Return the shape that the user gives, validated."""
    shape = checks.number(given, "shape")
    if not _LEAST_SHAPE <= shape <= _LARGEST_SHAPE:
        wanted = f"be between {_LEAST_SHAPE:g} and {_LARGEST_SHAPE:g}"
        raise wrong_value("shape", given, f"{wanted}: amounts deviate by mean/√shape")
    return shape


class RevenueEstimator(Estimator):
    """Log-odds of chances, logarithms of mean amounts, and the shape that all share.

    The statistics are how often a pair paid, Σx and Σ ln x, where x is an amount over ``scale``,
    the mean amount of the log. The common parameter is ln k, unless the shape is given. For means m
    the likeliest k solves ln k − ψ(k) = mean of ln m − ln x.
    """

    family = "revenue"
    given = ("shape",)
    integer = False
    statistics = 3

    def __init__(self, scale: float, shape: float | None) -> None:
        self.scale, self.shape = scale, shape

    @classmethod
    def of_log(cls, rewards: Rewards, given: Mapping[str, Any]) -> RevenueEstimator:
        if rewards.range is not None:
            raise InputError("revenue has no range: leave it out", about=("range",))
        rewards.refuse(rewards.values < 0, "{} is below 0: revenue is 0 or an amount")
        rewards.refuse_huge()
        paid = rewards.values[rewards.values > 0]
        if not len(paid):
            raise InputError("all rewards are 0: there is nothing to learn from them")
        shape = given.get("shape")
        return cls(float(paid.mean()), None if shape is None else _checked_shape(shape))

    @property
    def begin(self) -> Floats:
        return np.zeros(1 if self.shape is None else 0)

    def _shape(self, common: Floats) -> float:
        """Return k: as given, or from the common parameter."""
        if self.shape is not None:
            return self.shape
        return min(max(math.exp(min(float(common[0]), 30.0)), _LEAST_SHAPE), _LARGEST_SHAPE)

    def statistics_of(self, values: Floats) -> Floats:
        amounts = values / self.scale
        paid = amounts > 0
        logs = np.log(amounts, where=paid, out=np.zeros_like(amounts))
        return np.stack([paid.astype(np.float64), amounts, logs], axis=1)

    def maximise(
        self, plays: Floats, sums: Floats, common: Floats, near: Floats | None = None
    ) -> tuple[Floats, Floats]:
        from scipy.special import digamma, zeta

        paid = np.maximum(sums[..., 0], LEAST_CHANCE)
        logs = np.log(np.maximum(sums[..., 1], 1e-300) / paid)
        if self.shape is None:
            excess = max(float((paid * logs - sums[..., 2]).sum() / paid.sum()), 1e-12)
            k = (3 - excess + math.sqrt((excess - 3) ** 2 + 24 * excess)) / (12 * excess)
            for _ in range(_STEPS):
                k -= (math.log(k) - float(digamma(k)) - excess) / (1 / k - float(zeta(2, k)))
                k = min(max(k, _LEAST_SHAPE), _LARGEST_SHAPE)
            common = np.array([math.log(k)])
        return np.stack([log_odds_of(paid / plays), logs], axis=-1), common

    @staticmethod
    def _rates(parameters: Floats) -> tuple[Floats, Floats]:
        """Return log-odds and logarithms of mean amounts, clipped so that nothing overflows."""
        log_odds = np.clip(parameters[..., 0], -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        return log_odds, np.clip(parameters[..., 1], -_LARGEST_LOG, _LARGEST_LOG)

    def laws(self, parameters: Floats, common: Floats) -> tuple[Floats, Floats]:
        log_odds, logs = self._rates(parameters)
        k = self._shape(common)
        constant = math.lgamma(k) - k * math.log(k) + math.log(self.scale)
        paid = constant + k * logs - log_odds
        cost = [paid, k * np.exp(-logs), np.full_like(paid, 1 - k)]
        return np.logaddexp(0, log_odds), np.stack(cost, axis=-1)

    def means(self, parameters: Floats, common: Floats) -> Floats:
        means: Floats = self.rows(parameters, common).prod(axis=-1)
        return means

    def rows(self, parameters: Floats, common: Floats) -> Floats:
        log_odds, logs = self._rates(parameters)
        return np.stack([chances_of(log_odds), self.scale * np.exp(logs)], axis=-1)

    def fields(self, common: Floats) -> dict[str, Any]:
        rounded = float(f"{self._shape(common):.6g}")  # no log determines more digits
        return {"shape": self.shape or rounded}
