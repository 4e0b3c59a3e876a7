"""Bernoulli rewards: the top of the range with probability μ_i(θ) on [0, 1], else the bottom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fpbandits.core.arrays import Floats, Ints
from fpbandits.core.checks import Numbers, Range, is_list, number, plain_list, range_text
from fpbandits.core.names import Names
from fpbandits.core.table import checked_means
from fpbandits.errors import InputError, counted, listed, wrong_type
from fpbandits.families.base import RewardFamily
from fpbandits.families.binomial import draw_binomial
from fpbandits.families.estimator import (
    LARGEST_LOG_ODDS,
    Estimator,
    Rewards,
    chances_of,
    log_odds_of,
)
from fpbandits.families.information import information_of_chances
from fpbandits.families.two_point import TwoPoint


@dataclass(frozen=True, eq=False, kw_only=True)
class Bernoulli(RewardFamily):
    """Reward 1 with probability μ_i(θ), else 0."""

    name = "bernoulli"
    sum_in_one_draw = True
    optional = ("value",)
    all_or_nothing = True

    @classmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> RewardFamily:  # type: ignore[override]  # with a value it makes a TwoPoint
        if "value" in fields:
            return TwoPoint.checked(rows, names, range, **fields)
        return cls(means=checked_means(rows, names, range), range=range)

    def chances(self) -> Floats:
        return np.stack([1 - self.unit_means, self.unit_means], axis=-1)

    def law(self, model: int) -> Floats:
        """Return the probability of a reward of 1, as the one column."""
        return np.array(self.unit_means[model])[:, np.newaxis]

    @staticmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        """Draw a binomial."""
        if plays == 1:  # quicker than a call
            return 1.0 if random.random() < law[arm, 0] else 0.0
        return float(draw_binomial(plays, law[arm, 0], random))

    def divergence(self, truth: int, others: Ints) -> Floats:
        return information_of_chances(self.unit_means[truth], self.unit_means[others])


_FEW_MISTAKES = 0.01
"""Up to this share of rewards that do not fit, they are mistakes rather than another family."""


class BernoulliEstimator(Estimator):
    """The chance of each pair to pay, as log-odds, from how often it paid.

    A pair pays ``top[pair]``, or else ``bottom``, in the user's units: the ends of the range, or a
    value and 0.
    """

    family = "bernoulli"
    given = ("value",)

    def __init__(self, bottom: float, top: Floats) -> None:
        self.bottom, self.top = bottom, top

    @classmethod
    def of_log(cls, rewards: Rewards, given: Mapping[str, Any]) -> BernoulliEstimator:
        """Expect the ends of the range; without a range, 0 and one value for each pair."""
        if rewards.range is not None:
            if "value" in given:
                reason = "value says what each arm can pay: leave out the range"
                raise InputError(reason, about=("range",))
            bottom, top = rewards.range[0], np.full(len(rewards.names), rewards.range[1])
            rewards.refuse_outside(rewards.range)
            mistake = f"neither end of the range {range_text(rewards.range)}"
        else:
            bottom = 0.0
            top = (
                _given_values(rewards, given["value"])
                if "value" in given
                else _find_values(rewards)
            )
            mistake = "neither 0 nor what its arm pays otherwise"
            if (top == 1).all():
                mistake = "neither 0 nor 1"
        mistaken = (rewards.values != bottom) & (rewards.values != top[rewards.pairs])
        if mistaken.any():
            if "value" in given and np.isin(rewards.values, (0, 1)).all():
                reason = "{} is a sale, not what was paid: with value, give what was paid, or 0"
                rewards.refuse(mistaken, reason)
            count = f"{mistaken.sum():,} of {len(mistaken):,} rewards"
            advice = "correct it, or use" if mistaken.mean() < _FEW_MISTAKES else "use"
            families = rewards.suggest_families()
            rewards.refuse(mistaken, f"{{}} is {mistake}, as are {count}: {advice} {families}")
        _refuse_unknown(rewards, top)
        return cls(bottom, top)

    def statistics_of(self, values: Floats) -> Floats:
        paid: Floats = (values != self.bottom).astype(np.float64)[:, np.newaxis]
        return paid

    def maximise(
        self, plays: Floats, sums: Floats, common: Floats, near: Floats | None = None
    ) -> tuple[Floats, Floats]:
        return log_odds_of(sums / plays[..., np.newaxis]), common

    def laws(self, parameters: Floats, common: Floats) -> tuple[Floats, Floats]:
        log_odds = np.clip(parameters, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        return np.logaddexp(0, log_odds[..., 0]), -log_odds

    def _chances(self, parameters: Floats) -> Floats:
        return chances_of(np.clip(parameters[..., 0], -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS))

    def means(self, parameters: Floats, common: Floats) -> Floats:
        width = (self.top - self.bottom)[:, np.newaxis]
        means: Floats = self.bottom + width * self._chances(parameters)
        return means

    @property
    def _values_differ(self) -> bool:
        """Whether pairs pay different values, so that a problem file needs ``value``."""
        return bool((self.top != self.top[0]).any())

    def rows(self, parameters: Floats, common: Floats) -> Floats:
        return self._chances(parameters) if self._values_differ else self.means(parameters, common)

    def fields(self, common: Floats) -> dict[str, Any]:
        if self._values_differ:
            return {"value": self.top.tolist()}
        return {"range": sorted((self.bottom, float(self.top[0])))}


def _given_values(rewards: Rewards, value: Any) -> Floats:
    """Return the value of each pair, given for each arm, or for each context and arm."""
    if not is_list(value):
        raise wrong_type("value", value, "a list with what each arm can pay")
    values = np.array([number(each, "value") for each in plain_list(value)])
    if len(values) not in (len(rewards.arms), len(rewards.names)):
        counts = f"{counted(len(values), 'number')} for {counted(len(rewards.arms), 'arm')}"
        raise InputError(f"value has {counts}", about=("value",))
    return np.resize(values, len(rewards.names))


def _find_values(rewards: Rewards) -> Floats:
    """Return the value of each pair: its commonest reward above or below 0.

    A pair that never paid gets the value that its arm paid most often in one context. An arm that
    never paid gets that of all other arms if they have the same, else NaN.
    """
    paid = np.flatnonzero(rewards.values)
    if not len(paid) or (rewards.values[paid] == 1).all():
        return np.ones(len(rewards.names))
    distinct, indices = np.unique(rewards.values[paid], return_inverse=True)
    # A combination of a pair and a value is one number, so that `unique` counts both together.
    combinations = rewards.pairs[paid] * len(distinct) + indices
    combinations, counts = np.unique(combinations, return_counts=True)
    order = np.argsort(counts, kind="stable")
    pairs, indices = np.divmod(combinations[order], len(distinct))
    by_arm = np.full(len(rewards.arms), np.nan)
    by_arm[pairs % len(by_arm)] = distinct[indices]  # the commonest comes last, and stays
    known = by_arm[~np.isnan(by_arm)]
    if (known == known[0]).all():
        by_arm[:] = known[0]
    values = np.resize(by_arm, len(rewards.names))
    values[pairs] = distinct[indices]
    return values


def _refuse_unknown(rewards: Rewards, values: Floats) -> None:
    """Refuse arms whose value is unknown, as they never paid and others pay different values."""
    unknown = np.flatnonzero(np.isnan(values[: len(rewards.arms)])).tolist()
    if unknown:
        names = listed([rewards.arms[arm] for arm in unknown], 4)
        raise InputError(
            f"{names} never paid in this log, so its value is unknown: say what each arm pays "
            "(value), or leave it out",
            about=("value",),
        )
