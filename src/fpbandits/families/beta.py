"""Beta rewards: Beta(cμ, c(1 − μ)) on [0, 1], with one concentration c for all arms.

Their mean μ lies strictly inside the range, and their variance is μ(1 − μ)/(c + 1). The statistics
are ln r and ln(1 − r). No known distribution has their sums, so rewards are drawn one by one. A
reward at an end of the range, impossible but for rounding, counts as half a rounding error away
from it. With a shape far below 1 rewards so near to an end are common, and their likelihood is
approximate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fpbandits.core import checks
from fpbandits.core.arrays import Floats, Ints
from fpbandits.core.checks import Numbers, Range, number_text
from fpbandits.core.names import Names
from fpbandits.core.table import checked_means
from fpbandits.errors import InputError, wrong_value
from fpbandits.families.base import RewardFamily
from fpbandits.families.estimator import Estimator, Rewards, chances_of
from fpbandits.families.information import log_gamma_bregman

_HALF_ROUNDING = 2.0**-54
"""Half a rounding error of a number just below 1: the least distance of a reward from an end."""
_MOST_AT_ENDS = 0.05
"""The largest share of rewards at an end of the range that rounding may explain."""
_LARGEST_LOG_ODDS = 12.0
"""Log-odds of a fitted mean are at most this, and at least minus this: `Beta.checked` may refuse a
mean that is nearer to an end of the range."""
_LOG_CONCENTRATION = -5.0, 25.0
"""The lowest and the highest logarithm of a fitted concentration."""
_FIRST_CONCENTRATION = 4.0
"""The concentration from which Newton's method starts."""
_TURNS = 3
"""How often means and concentration are found in turns, if the means are not nearly known."""
_STEPS = 2
"""Newton's steps to the means, in each turn."""
_LONGEST_STEPS = 2.0, 1.0
"""The longest steps of log-odds of means, and of the logarithm of the concentration."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Beta(RewardFamily):
    """Rewards with the distribution Beta(cμ, c(1 − μ)) on [0, 1]; c is ``concentration``."""

    name = "beta"
    fields = ("concentration",)
    sum_in_one_draw = False
    statistics_stay_near = False

    concentration: float

    @classmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> Beta:
        matrix = checked_means(rows, names, range)
        for row, column in np.argwhere((matrix == range[0]) | (matrix == range[1])):
            raise InputError(
                f"the mean {number_text(matrix[row, column])} of a beta arm must lie strictly "
                f"inside the range {checks.range_text(range)}"
            ).at(*names.place(row, column))
        c = _checked_concentration(fields["concentration"])
        family = cls(means=matrix, concentration=c, range=range)
        shapes = c * np.minimum(family.unit_means, 1 - family.unit_means)
        for row, column in np.argwhere(shapes < 1e-6):
            raise InputError(
                f"with concentration {number_text(c)} the mean {number_text(matrix[row, column])} "
                "is too near to the end of the range for a beta law; use bernoulli or discrete "
                "rewards"
            ).at(*names.place(row, column))
        return family

    @property
    def _shapes(self) -> tuple[Floats, Floats]:
        """The two shapes cμ and c(1 − μ), [θ, arm] each."""
        return self.concentration * self.unit_means, self.concentration * (1 - self.unit_means)

    def law(self, model: int) -> Floats:
        """Return the two shapes of each arm."""
        return np.column_stack([shape[model] for shape in self._shapes])

    @staticmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        """Draw rewards one by one: no known distribution has their sum."""
        total = 0.0
        for _ in range(plays):
            reward = random.beta(law[arm, 0], law[arm, 1])
            total += reward
            statistics[0] += math.log(max(reward, _HALF_ROUNDING))
            statistics[1] += math.log(max(1.0 - reward, _HALF_ROUNDING))
        return total

    @property
    def statistics(self) -> int:
        return 2

    def statistics_of(self, arm: int, reward: float) -> tuple[float, ...]:
        ends = max(reward, _HALF_ROUNDING), max(1 - reward, _HALF_ROUNDING)
        return math.log(ends[0]), math.log(ends[1])

    def costs(self) -> tuple[Floats, Floats]:
        from scipy.special import betaln

        a, b = self._shapes
        base: Floats = betaln(a, b)
        return base, np.stack([1 - a, 1 - b], axis=-1)

    def expected(self, model: int) -> Floats:
        from scipy.special import digamma

        a, b = (shape[model] for shape in self._shapes)
        of_sum = digamma(self.concentration)  # a + b is c
        expected: Floats = np.stack([digamma(a) - of_sum, digamma(b) - of_sum], axis=-1)
        return expected

    def variances(self) -> Floats:
        variances: Floats = self.unit_means * (1 - self.unit_means) / (self.concentration + 1)
        return variances

    def divergence(self, truth: int, others: Ints) -> Floats:
        a, b = self._shapes
        # With one concentration the terms in a + b cancel, and the closed form is the sum of
        # two Bregman divergences of ln Γ.
        return log_gamma_bregman(a[others], a[truth]) + log_gamma_bregman(b[others], b[truth])


def _checked_concentration(given: object) -> float:
    """Return the concentration that the user gives, validated."""
    c = checks.number(given, "concentration")
    if not 0 < c <= 1e15:
        raise wrong_value("concentration", given, "be above 0 and at most 1e15")
    return c


class BetaEstimator(Estimator):
    """Means as log-odds, and the concentration that all share, from Σ ln r and Σ ln(1 − r).

    The common parameter is ln c, unless the concentration is given. For a fixed c the likeliest
    mean solves ψ(cμ) − ψ(c(1 − μ)) = mean of ln r − ln(1 − r), and c follows from the means: both
    by Newton's steps, in turns. A few rewards may be rounded to an end of the range: they count as
    ``least`` away from it, on [0, 1], half as far as the nearest reward that is at no end.
    """

    family = "beta"
    given = ("concentration",)
    integer = False
    statistics = 2

    def __init__(self, limits: Range, concentration: float | None, least: float) -> None:
        self.limits, self.concentration, self.least = limits, concentration, least

    @classmethod
    def of_log(cls, rewards: Rewards, given: Mapping[str, Any]) -> BetaEstimator:
        limits = rewards.range or (0.0, 1.0)
        rewards.refuse_outside(limits)
        gaps = np.minimum(rewards.values - limits[0], limits[1] - rewards.values)
        if (gaps == 0).mean() > _MOST_AT_ENDS:
            rewards.refuse(
                gaps == 0,
                f"{{}} is an end of the range, and so are {(gaps == 0).mean():.0%} of all, where a "
                f"beta law has none: give a wider range, or use {rewards.suggest_families()}",
            )
        nearest = float(gaps[gaps > 0].min()) / (limits[1] - limits[0])
        least = max(nearest / 2, _HALF_ROUNDING)
        concentration = given.get("concentration")
        if concentration is not None:
            concentration = _checked_concentration(concentration)
        return cls(limits, concentration, least)

    @property
    def begin(self) -> Floats:
        return np.full(1 if self.concentration is None else 0, math.log(_FIRST_CONCENTRATION))

    def _concentration(self, common: Floats) -> float:
        """Return c: as given, or from the common parameter."""
        if self.concentration is not None:
            return self.concentration
        return math.exp(float(np.clip(common[0], *_LOG_CONCENTRATION)))

    def statistics_of(self, values: Floats) -> Floats:
        unit = (values - self.limits[0]) / (self.limits[1] - self.limits[0])
        return np.log(np.maximum(np.stack([unit, 1 - unit], axis=1), self.least))

    def maximise(
        self, plays: Floats, sums: Floats, common: Floats, near: Floats | None = None
    ) -> tuple[Floats, Floats]:
        from scipy.special import digamma, zeta

        log_r, log_rest = np.moveaxis(sums / plays[..., np.newaxis], -1, 0)  # means of the two
        wanted = log_r - log_rest
        log_c = math.log(self._concentration(common))
        log_odds = wanted / (1 + 2 / math.exp(log_c)) if near is None else near[..., 0]
        step_of_mean, step_of_c = _LONGEST_STEPS
        for _ in range(_TURNS if near is None else 1):
            c = math.exp(log_c)
            for _ in range(_STEPS):
                mean = chances_of(log_odds)
                a, b = c * mean, c * (1 - mean)
                slope = a * (1 - mean) * (zeta(2, a) + zeta(2, b))  # ζ(2, x) is ψ′(x)
                step = (wanted - digamma(a) + digamma(b)) / slope
                step = np.clip(step, -step_of_mean, step_of_mean)
                log_odds = np.clip(log_odds + step, -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS)
            if self.concentration is not None:
                continue
            mean = chances_of(log_odds)
            a, b = c * mean, c * (1 - mean)
            score = mean * (log_r - digamma(a)) + (1 - mean) * (log_rest - digamma(b)) + digamma(c)
            bend = mean**2 * zeta(2, a) + (1 - mean) ** 2 * zeta(2, b) - zeta(2, c)
            gradient, curvature = float((plays * score).sum()), float((plays * bend).sum())
            step_of_log = gradient / (c * max(curvature, 1e-300))
            log_c += min(max(step_of_log, -step_of_c), step_of_c)
            log_c = float(np.clip(log_c, *_LOG_CONCENTRATION))
        likeliest = common if self.concentration is not None else np.array([log_c])
        return log_odds[..., np.newaxis], likeliest

    def _means(self, parameters: Floats) -> Floats:
        """Return the means on [0, 1], [pair, type]."""
        return chances_of(np.clip(parameters[..., 0], -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS))

    def laws(self, parameters: Floats, common: Floats) -> tuple[Floats, Floats]:
        from scipy.special import betaln

        c, means = self._concentration(common), self._means(parameters)
        a, b = c * means, c * (1 - means)
        base: Floats = betaln(a, b) + math.log(self.limits[1] - self.limits[0])
        return base, np.stack([1 - a, 1 - b], axis=-1)

    def means(self, parameters: Floats, common: Floats) -> Floats:
        low, high = self.limits
        return low + (high - low) * self._means(parameters)

    def fields(self, common: Floats) -> dict[str, Any]:
        rounded = float(f"{self._concentration(common):.6g}")  # no log determines more digits
        return {"concentration": self.concentration or rounded, "range": list(self.limits)}
