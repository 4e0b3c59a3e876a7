"""Bernoulli rewards: 1 (the top of the range) with probability μ_i(θ) on [0, 1], else 0."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from fpbandits.arrays import Floats, Ints
from fpbandits.checks import Numbers, Range
from fpbandits.families.base import MeansFamily, RewardFamily
from fpbandits.families.binomial import draw_binomial
from fpbandits.families.information import information
from fpbandits.families.two_point import TwoPoint
from fpbandits.names import Names
from fpbandits.table import checked_means


class BernoulliLaw(NamedTuple):
    """The probability of a reward of 1, for every arm."""

    success: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Bernoulli(MeansFamily):
    """Reward 1 with probability μ_i(θ), else 0."""

    name = "bernoulli"
    law_type = BernoulliLaw
    sum_in_one_draw = True
    optional = ("value",)
    all_or_nothing = True

    @classmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> RewardFamily:  # type: ignore[override]  # with values it is another class
        if "value" in fields:
            return TwoPoint.checked(rows, names, range, **fields)
        return cls(means=checked_means(rows, names, range), range=range)

    def law(self, parameter: int) -> BernoulliLaw:
        return BernoulliLaw(self.unit_means[parameter])

    @staticmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        """Draw a binomial."""
        if plays == 1:
            return 1.0 if random.random() < law.success[arm] else 0.0
        return float(draw_binomial(plays, law.success[arm], random))

    def divergence(self, true: int, others: Ints) -> Floats:
        p, q = self.unit_means[true], self.unit_means[others]
        return information(p, q) + information(1 - p, 1 - q)
