"""Gaussian rewards: normal with mean μ_i(θ) and one known standard deviation σ.

They have no range. One unit is 2σ, so that the deviation is ½ and a reward is sub-Gaussian with
parameter ½, as any reward in [0, 1] is. FP-UCB's radius √(3 ln k/n), Theorem 1 and the envelope of
leaps rest on Hoeffding's inequality alone, which is the same here, so they hold as they stand. Gaps
and bounds scale with 2σ in place of the width of a range, and the divergence of two laws is
2(μ − μ')². What does not carry over is μ ≤ 1: an α or a Δ may be larger than one unit.

The statistic is the sum. The middle between the smallest and the largest mean of Θ is mapped to 0,
so that sums of many rewards keep their digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fpbandits.core import checks
from fpbandits.core.arrays import Floats, Ints
from fpbandits.core.checks import LARGEST, Numbers, Range, number_text
from fpbandits.core.names import Names
from fpbandits.core.table import checked_means
from fpbandits.errors import InputError, wrong_value
from fpbandits.families.base import RewardFamily
from fpbandits.families.estimator import Estimator, Rewards

UNBOUNDED: Range = (-math.inf, math.inf)
_WIDEST = 1e6
"""How many deviations the means may be apart."""
_MOST_ZEROS = 0.2
"""Rewards are not normal if more than this share of them is 0 and none is below 0."""
_LEAST_LOG_SIGMA = -15.0
"""The lowest logarithm of a fitted deviation, relative to the log's own."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Gaussian(RewardFamily):
    """Normal rewards of known ``deviation``; it and ``zero`` are in the user's units."""

    name = "gaussian"
    fields = ("deviation",)
    sum_in_one_draw = True
    bounded = False
    takes_range = False

    deviation: float
    zero: float = 0.0
    range: Range = UNBOUNDED

    @classmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> Gaussian:
        matrix = checked_means(rows, names, (-LARGEST, LARGEST))
        given = fields["deviation"]
        deviation = checks.number(given, "deviation")
        if not 1e-100 <= deviation <= LARGEST:
            wanted = "be above 0, the standard deviation of a reward in your own units"
            raise wrong_value("deviation", given, wanted)
        low, high = float(matrix.min()), float(matrix.max())
        if high - low > _WIDEST * deviation:
            raise InputError(
                f"the means lie between {number_text(low)} and {number_text(high)}, more than a "
                f"million times the deviation {number_text(deviation)} apart: one reward tells all",
                about=("deviation",),
            )
        return cls(means=matrix, deviation=deviation, zero=(low + high) / 2)

    def __str__(self) -> str:
        return f"{self.name} rewards of deviation {number_text(self.deviation)}"

    @property
    def width(self) -> float:
        """2σ."""
        return 2 * self.deviation

    def of_means(self, means: Numbers, names: Names) -> Gaussian:
        """Map the same reward to 0, whatever the means."""
        return replace(super().of_means(means, names), zero=self.zero)

    def law(self, model: int) -> Floats:
        """Return the mean of each arm, in units of 2σ, as the one column."""
        return np.array(self.unit_means[model])[:, np.newaxis]

    @staticmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        """Draw a normal number: n rewards have n times the mean and √n times the deviation, ½."""
        total = plays * law[arm, 0] + 0.5 * math.sqrt(plays) * random.standard_normal()
        statistics[0] += total
        return float(total)

    @property
    def statistics(self) -> int:
        return 1

    def statistics_of(self, arm: int, reward: float) -> tuple[float, ...]:
        return (reward,)

    def costs(self) -> tuple[Floats, Floats]:
        # −ln of the density is 2(r − μ)² and a constant; 2r² is the same for all models.
        return 2 * self.unit_means**2, -4 * self.unit_means[:, :, np.newaxis]

    def expected(self, model: int) -> Floats:
        expected: Floats = self.unit_means[model][:, np.newaxis]
        return expected

    def variances(self) -> Floats:
        return np.full(self.unit_means.shape, 0.25)

    def divergence(self, truth: int, others: Ints) -> Floats:
        divergence: Floats = 2 * (self.unit_means[truth] - self.unit_means[others]) ** 2
        return divergence


class GaussianEstimator(Estimator):
    """Means, and the deviation that all share, from Σx and Σx².

    x is a reward less ``middle``, over ``scale``: the mean and the deviation of all rewards in the
    log, so that sums keep their digits. Parameters are on the scale of x. The common parameter is
    ln σ, unless the deviation is given.
    """

    family = "gaussian"
    given = ("deviation",)
    integer = False
    statistics = 2

    def __init__(self, middle: float, scale: float, deviation: float | None) -> None:
        self.middle, self.scale, self.deviation = middle, scale, deviation

    @classmethod
    def of_log(cls, rewards: Rewards, given: Mapping[str, Any]) -> GaussianEstimator:
        if rewards.range is not None:
            raise InputError("gaussian rewards have no range: leave it out", about=("range",))
        rewards.refuse_huge()
        if rewards.values.min() >= 0 and (rewards.values == 0).mean() > _MOST_ZEROS:
            raise InputError(
                f"{(rewards.values == 0).mean():.0%} of rewards are 0, and none is below: they are "
                f"not normal. Use {rewards.suggest_families()}"
            )
        scale = float(rewards.values.std())
        if not scale > 1e-12 * float(np.abs(rewards.values).max()):
            raise InputError("all rewards are the same: there is nothing to learn from them")
        deviation = given.get("deviation")
        if deviation is not None:
            deviation = checks.number(deviation, "deviation")
            if not deviation > 0:
                raise wrong_value("deviation", deviation, "be above 0")
        return cls(float(rewards.values.mean()), scale, deviation)

    @property
    def begin(self) -> Floats:
        return np.zeros(1 if self.deviation is None else 0)

    def _sigma(self, common: Floats) -> float:
        """Return σ on the scale of x: as given, or from the common parameter."""
        if self.deviation is not None:
            return self.deviation / self.scale
        return math.exp(max(float(common[0]), _LEAST_LOG_SIGMA))

    def statistics_of(self, values: Floats) -> Floats:
        x = (values - self.middle) / self.scale
        return np.stack([x, x**2], axis=1)

    def pooled(self, plays: Floats, sums: Floats, within: Floats | None) -> Floats:
        """Take the variance within cells: it does not include the variance between types."""
        pooled = super().pooled(plays, sums, within)
        variance = float(sums[:, 1].sum() / plays.sum())
        if within is not None:
            variance = float(within[0] / within[1])
        pooled[:, 1] = pooled[:, 0] ** 2 + max(variance, 1e-9)
        return pooled

    def maximise(
        self, plays: Floats, sums: Floats, common: Floats, near: Floats | None = None
    ) -> tuple[Floats, Floats]:
        means = sums[..., 0] / plays
        if self.deviation is None:
            variance = float((sums[..., 1] - plays * means**2).sum() / plays.sum())
            common = np.array([0.5 * math.log(max(variance, 1e-12))])
        return means[..., np.newaxis], common

    def laws(self, parameters: Floats, common: Floats) -> tuple[Floats, Floats]:
        sigma, means = self._sigma(common), parameters[..., 0]
        base = math.log(sigma * self.scale * math.sqrt(2 * math.pi)) + means**2 / (2 * sigma**2)
        return base, np.stack([-means / sigma**2, np.full_like(means, 0.5 / sigma**2)], axis=-1)

    def means(self, parameters: Floats, common: Floats) -> Floats:
        means: Floats = self.middle + self.scale * parameters[..., 0]
        return means

    def fields(self, common: Floats) -> dict[str, Any]:
        rounded = float(f"{self._sigma(common) * self.scale:.6g}")  # no log determines more digits
        return {"deviation": self.deviation or rounded}
