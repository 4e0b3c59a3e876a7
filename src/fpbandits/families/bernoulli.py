"""Bernoulli rewards: 1 (the top of the range) with probability μ_i(θ) on [0, 1], else 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fpbandits.core.arrays import Floats, Ints
from fpbandits.core.checks import Numbers, Range, range_text
from fpbandits.core.names import Names
from fpbandits.core.table import checked_means
from fpbandits.errors import InputError
from fpbandits.families.base import RewardFamily
from fpbandits.families.binomial import draw_binomial
from fpbandits.families.estimator import Estimator, Rewards
from fpbandits.families.information import information
from fpbandits.families.two_point import TwoPoint


@dataclass(frozen=True, eq=False, kw_only=True)
class Bernoulli(RewardFamily):
    """Reward 1 with probability μ_i(θ), else 0."""

    name = "bernoulli"
    sum_in_one_draw = True
    optional = ("value",)
    all_or_nothing = True

    @classmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> RewardFamily:  # type: ignore[override]  # with values it is another class
        if "value" in fields:
            return TwoPoint.checked(rows, names, range, **fields)
        return cls(means=checked_means(rows, names, range), range=range)

    def chances(self) -> Floats:
        return np.stack([1 - self.unit_means, self.unit_means], axis=-1)

    def law(self, model: int) -> Floats:
        """Return the probability of a reward of 1."""
        return np.array(self.unit_means[model])[:, np.newaxis]

    @staticmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        """Draw a binomial."""
        if plays == 1:
            return 1.0 if random.random() < law[arm, 0] else 0.0
        return float(draw_binomial(plays, law[arm, 0], random))

    def divergence(self, truth: int, others: Ints) -> Floats:
        p, q = self.unit_means[truth], self.unit_means[others]
        return information(p, q) + information(1 - p, 1 - q)


_A_FEW_WRONG = 0.01
"""Below this share wrong rewards are more likely mistakes than another family."""
_FARTHEST = 25.0
"""Log-odds beyond which a chance is as good as 0 or 1."""


class BernoulliEstimator(Estimator):
    """Chances by their log-odds, from how often each pair paid.

    ``bottom`` and ``top`` are what each pair pays: the ends of the range, or nothing and a value.
    """

    family = "bernoulli"
    given = ("value",)

    def __init__(self, bottom: float, top: Floats) -> None:
        self.bottom, self.top = bottom, top

    @classmethod
    def of_log(cls, rewards: Rewards, given: Mapping[str, Any]) -> BernoulliEstimator:
        """Take rewards for the ends of the range; without one, for 0 and a value of each pair."""
        if rewards.range is not None:
            if "value" in given:
                needless = "value says what each arm can pay: leave out the range"
                raise InputError(needless, about=("range",))
            bottom, top = rewards.range[0], np.full(len(rewards.names), rewards.range[1])
            rewards.refuse_outside(rewards.range)
            choice = f"neither end of the range {range_text(rewards.range)}"
        else:
            bottom = 0.0
            top = np.asarray(given["value"], float) if "value" in given else _paid(rewards)
            choice = "neither 0 nor what its arm pays otherwise"
            if (top == 1).all():
                choice = "neither 0 nor 1"
        wrong = (rewards.values != bottom) & (rewards.values != top[rewards.pairs])
        if wrong.any():
            count = f"{wrong.sum():,} of {len(wrong):,} rewards"
            advice = "correct it, or use" if wrong.mean() < _A_FEW_WRONG else "use"
            families = rewards.fitting_families()
            rewards.refuse(wrong, f"{{}} is {choice}, as are {count}: {advice} {families}")
        return cls(bottom, top)

    def statistics_of(self, values: Floats) -> Floats:
        paid: Floats = (values != self.bottom).astype(np.float64)[:, np.newaxis]
        return paid

    def maximise(
        self, plays: Floats, sums: Floats, common: Floats, near: Floats | None = None
    ) -> tuple[Floats, Floats]:
        paid = np.clip(sums / plays[..., np.newaxis], 1e-11, 1 - 1e-11)
        return np.log(paid) - np.log1p(-paid), common

    def laws(self, parameters: Floats, common: Floats) -> tuple[Floats, Floats]:
        odds = np.clip(parameters, -_FARTHEST, _FARTHEST)
        return np.logaddexp(0, odds[..., 0]), -odds

    def _chances(self, parameters: Floats) -> Floats:
        chances: Floats = 1 / (1 + np.exp(-np.clip(parameters[..., 0], -_FARTHEST, _FARTHEST)))
        return chances

    def means(self, parameters: Floats, common: Floats) -> Floats:
        width = (self.top - self.bottom)[:, np.newaxis]
        means: Floats = self.bottom + width * self._chances(parameters)
        return means

    @property
    def _values(self) -> bool:
        """Whether pairs pay values of their own."""
        return bool((self.top != self.top[0]).any())

    def rows(self, parameters: Floats, common: Floats) -> Floats:
        return self._chances(parameters) if self._values else self.means(parameters, common)

    def fields(self, common: Floats) -> dict[str, Any]:
        if self._values:
            return {"value": self.top.tolist()}
        ends = sorted((self.bottom, float(self.top[0])))
        return {"range": ends}


def _paid(rewards: Rewards) -> Floats:
    """Return what each pair pays when it pays: what it paid most often, or what others do."""
    some = np.flatnonzero(rewards.values)
    if not len(some) or (rewards.values[some] == 1).all():
        return np.ones(len(rewards.names))
    distinct, value = np.unique(rewards.values[some], return_inverse=True)
    kinds, counts = np.unique(rewards.pairs[some] * len(distinct) + value, return_counts=True)
    order = np.argsort(counts, kind="stable")
    pairs, values = np.divmod(kinds[order], len(distinct))
    top = np.full(len(rewards.names), distinct[values[-1]])
    top[pairs] = distinct[values]  # the commonest of a pair comes last, and stays
    return top
