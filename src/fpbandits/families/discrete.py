"""Discrete rewards: values of a finite support, with probabilities that depend on arm and θ.

The statistics are how often each value came.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from fpbandits.core import checks
from fpbandits.core.arrays import TOLERANCE, Bools, Floats, Ints
from fpbandits.core.checks import Numbers, Range, number_text
from fpbandits.core.names import Names
from fpbandits.core.table import checked_lists, other_units
from fpbandits.errors import InputError, wrong_type
from fpbandits.families.base import RewardFamily, freeze
from fpbandits.families.binomial import draw_binomial
from fpbandits.families.estimator import LEAST_CHANCE, Estimator, Rewards
from fpbandits.families.information import information, minus_log


@dataclass(frozen=True, eq=False, kw_only=True)
class Discrete(RewardFamily):
    """Rewards from a finite ``support`` in the user's units, with probabilities[θ, arm, value]."""

    name = "discrete"
    table = "probabilities"
    fields = ("support",)
    sum_in_one_draw = True

    support: Floats
    probabilities: Floats
    means: Floats = field(init=False)

    def __post_init__(self) -> None:
        # Rounding must not take a mean out of the range.
        means = np.clip(self.probabilities @ self.support, *self.range)
        object.__setattr__(self, "means", means)
        super().__post_init__()

    @classmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> Discrete:
        support = _checked_support(fields["support"], range)
        probabilities = _checked_probabilities(rows, names, len(support))
        return cls(support=support, probabilities=probabilities, range=range)

    @cached_property
    def unit_support(self) -> Floats:
        """The support on [0, 1]."""
        return freeze(self.to_unit(self.support))

    @property
    def possible(self) -> Floats:
        return self.support

    def chances(self) -> Floats:
        return self.probabilities

    def law(self, model: int) -> Floats:
        """Return for each arm P(r = value | r is no earlier value), by value, then the values."""
        probabilities = self.probabilities[model]
        # The probability of this value or a later one: rounding must not make it less than this.
        rest = np.maximum(np.cumsum(probabilities[:, ::-1], axis=1)[:, ::-1], probabilities)
        chances = np.divide(probabilities, rest, out=np.ones_like(rest), where=rest > 0)
        return np.hstack([chances, np.broadcast_to(self.unit_support, chances.shape)])

    @staticmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        """Draw how often each value comes: value by value, a binomial of the plays left."""
        total = 0.0
        left, values = plays, law.shape[1] // 2
        for value in range(values):
            if left == 1:  # quicker than a call
                count = 1 if random.random() < law[arm, value] else 0
            else:
                count = draw_binomial(left, law[arm, value], random)
            total += count * law[arm, values + value]
            statistics[value] += count
            left -= count
            if left == 0:
                break
        return total

    @property
    def statistics(self) -> int:
        return len(self.support)

    def statistics_of(self, arm: int, reward: float) -> tuple[float, ...]:
        is_reward = np.abs(self.unit_support - reward) <= TOLERANCE
        if not is_reward.any():
            possible = ", ".join(map(number_text, self.support[:8].tolist()))
            more = ", …" if len(self.support) > 8 else ""
            given = number_text(self.zero + self.width * reward)
            raise InputError(f"{given} is not in the support [{possible}{more}]")
        return tuple(is_reward.astype(float).tolist())

    def costs(self) -> tuple[Floats, Floats]:
        return np.zeros_like(self.means), minus_log(self.probabilities)

    def expected(self, model: int) -> Floats:
        expected: Floats = self.probabilities[model]
        return expected

    def of_means(self, means: Numbers, names: Names) -> Discrete:
        raise InputError("means alone do not make a discrete law: name a true model instead")

    def variances(self) -> Floats:
        squares = (self.unit_support - self.unit_means[:, :, np.newaxis]) ** 2
        variances: Floats = (self.probabilities * squares).sum(axis=2)
        return variances

    def divergence(self, truth: int, others: Ints) -> Floats:
        total: Floats = information(self.probabilities[truth], self.probabilities[others]).sum(-1)
        return total

    def same_law(self, truth: int, arm: int) -> Bools:
        laws = self.probabilities[:, arm]
        same: Bools = (np.abs(laws - laws[truth]) <= TOLERANCE).all(axis=-1)
        return same


def _checked_support(given: Any, limits: Range) -> Floats:
    """Return the values of a support: different numbers within the limits, in the order given."""
    if not checks.is_list(given) or len(given) == 0:
        raise wrong_type("support", given, "a list of the possible rewards")
    values: dict[float, None] = {}  # a set that keeps the order
    for value in (checks.number(value, "support") for value in checks.plain_list(given)):
        if not limits[0] <= value <= limits[1]:
            raise InputError(
                f"{number_text(value)} is outside the range {checks.range_text(limits)}"
                f"{other_units(limits)}"
            ).at("support")
        if value in values:
            raise InputError(f"{number_text(value)} stands there twice", place=("support",))
        values[value] = None
    return np.array(list(values))


def _checked_probabilities(given: Numbers, names: Names, values: int) -> Floats:
    """Return [model, arm, value] of probabilities, which add up to 1 for every model and arm."""
    table = checked_lists(given, names, values, "probabilities", f"a support of {values} values")
    for row, column, value in np.argwhere(~((table >= 0) & (table <= 1))):
        reason = f"{number_text(table[row, column, value])} is not a probability"
        raise InputError(reason, place=names.place(row, column))
    totals = table.sum(axis=2)
    for row, column in np.argwhere(np.abs(totals - 1) > 1e-9):
        reason = f"the probabilities add up to {number_text(totals[row, column])}, not 1"
        raise InputError(reason, place=names.place(row, column))
    # A sum that is 1 but for rounding stays, so that a saved problem comes back bit for bit.
    is_rough = np.abs(totals - 1) > 4 * np.finfo(float).eps * values
    table[is_rough] /= totals[is_rough, np.newaxis]
    return table


MOST_VALUES = 100
"""The most different rewards that a log may have for the discrete family."""


class DiscreteEstimator(Estimator):
    """Log-odds of each value against the first one, from how often each value came."""

    family = "discrete"
    given = ("support",)

    def __init__(self, support: Floats, limits: Range) -> None:
        self.support, self.limits = support, limits
        self.statistics = len(support)

    @classmethod
    def of_log(cls, rewards: Rewards, given: Mapping[str, Any]) -> DiscreteEstimator:
        if rewards.range is not None:
            rewards.refuse_outside(rewards.range)
        if "support" in given:
            values = sorted(checks.number(value, "support") for value in given["support"])
            support = np.array(values)
            rewards.refuse(~np.isin(rewards.values, support), "{} is not in the support")
        else:
            support = np.unique(rewards.values)
        if len(support) > MOST_VALUES:
            raise InputError(
                f"there are {len(support):,} different rewards, and discrete ones have at most "
                f"{MOST_VALUES}: use gaussian or beta, or round them"
            )
        if len(support) < 2:
            raise InputError("all rewards are the same: there is nothing to learn from them")
        return cls(support, rewards.range or (float(support[0]), float(support[-1])))

    def statistics_of(self, values: Floats) -> Floats:
        counts = np.zeros((len(values), len(self.support)))
        counts[np.arange(len(values)), np.searchsorted(self.support, values)] = 1
        return counts

    def maximise(
        self, plays: Floats, sums: Floats, common: Floats, near: Floats | None = None
    ) -> tuple[Floats, Floats]:
        logs = np.log(np.maximum(sums / plays[..., np.newaxis], LEAST_CHANCE))
        return logs[..., 1:] - logs[..., :1], common

    def _log_probabilities(self, parameters: Floats) -> Floats:
        """Return the logarithm of each value's probability, [pair, type, value]."""
        from scipy.special import log_softmax

        log_odds = np.concatenate([np.zeros((*parameters.shape[:-1], 1)), parameters], axis=-1)
        logs: Floats = log_softmax(log_odds, axis=-1)
        return logs

    def laws(self, parameters: Floats, common: Floats) -> tuple[Floats, Floats]:
        return np.zeros(parameters.shape[:-1]), -self._log_probabilities(parameters)

    def means(self, parameters: Floats, common: Floats) -> Floats:
        means: Floats = self.rows(parameters, common) @ self.support
        return means

    def rows(self, parameters: Floats, common: Floats) -> Floats:
        return np.exp(self._log_probabilities(parameters))

    def fields(self, common: Floats) -> dict[str, Any]:
        return {"support": self.support.tolist(), "range": list(self.limits)}
