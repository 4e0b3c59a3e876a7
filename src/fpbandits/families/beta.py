"""Beta rewards: Beta(cμ, c(1 − μ)) on [0, 1], with one concentration c for all arms.

Their mean μ lies strictly inside the range, and their variance is μ(1 − μ)/(c + 1). The statistics
are ln r and ln(1 − r), whose sums have no law of their own: rewards are drawn one by one. A reward
at an end of the range, impossible but for rounding, counts as half a rounding error away from it.
With a shape far below 1 rewards so near to an end are common, and their likelihood is approximate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fpbandits import checks
from fpbandits.arrays import Floats, Ints
from fpbandits.checks import Numbers, Range, number_text
from fpbandits.errors import InputError, quote
from fpbandits.families.base import MeansFamily
from fpbandits.families.information import log_gamma_bregman
from fpbandits.names import Names
from fpbandits.table import checked_means

_LEAST = 2.0**-54


class BetaLaw(NamedTuple):
    """The two shapes, for every arm."""

    a: Floats
    b: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Beta(MeansFamily):
    """Beta(cμ, c(1 − μ))."""

    name = "beta"
    fields = ("concentration",)
    law_type = BetaLaw
    sum_in_one_draw = False
    statistics_stay_near = False

    concentration: float

    @classmethod
    def checked(cls, rows: Numbers, names: Names, range: Range, **fields: Any) -> Beta:
        matrix = checked_means(rows, names, range)
        for row, column in np.argwhere((matrix == range[0]) | (matrix == range[1]))[:1]:
            raise InputError(
                f"{names.place(row, column)}: the mean {number_text(matrix[row, column])} of a "
                f"beta arm must lie strictly inside the range {checks.range_text(range)}",
                row=int(row),
            )
        given = fields["concentration"]
        c = checks.number(given, "concentration")
        if not 0 < c <= 1e15:
            raise InputError(
                f"concentration is {quote(given)}: it must be above 0 and at most 1e15"
            )
        family = cls(means=matrix, concentration=c, range=range)
        shapes = c * np.minimum(family.unit_means, 1 - family.unit_means)
        for row, column in np.argwhere(shapes < 1e-6)[:1]:
            raise InputError(
                f"{names.place(row, column)}: with concentration {number_text(c)} the mean "
                f"{number_text(matrix[row, column])} is too near to the end of the range for a "
                "beta law; use bernoulli or discrete rewards",
                row=int(row),
            )
        return family

    @property
    def _shapes(self) -> tuple[Floats, Floats]:
        return self.concentration * self.unit_means, self.concentration * (1 - self.unit_means)

    def law(self, parameter: int) -> BetaLaw:
        a, b = self._shapes
        return BetaLaw(a[parameter], b[parameter])

    @staticmethod
    def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        """Draw rewards one by one: their sum has no law of its own."""
        total = 0.0
        for _ in range(plays):
            reward = random.beta(law.a[arm], law.b[arm])
            total += reward
            statistics[0] += math.log(max(reward, _LEAST))
            statistics[1] += math.log(max(1.0 - reward, _LEAST))
        return total

    @property
    def statistics(self) -> int:
        return 2

    def statistics_of(self, arm: int, reward: float) -> tuple[float, ...]:
        return math.log(max(reward, _LEAST)), math.log(max(1 - reward, _LEAST))

    def costs(self) -> tuple[Floats, Floats]:
        from scipy.special import betaln

        a, b = self._shapes
        base: Floats = betaln(a, b)
        return base, np.stack([1 - a, 1 - b], axis=-1)

    def expected(self, parameter: int) -> Floats:
        from scipy.special import digamma

        a, b = (shape[parameter] for shape in self._shapes)
        both = digamma(self.concentration)
        expected: Floats = np.stack([digamma(a) - both, digamma(b) - both], axis=-1)
        return expected

    def divergence(self, true: int, others: Ints) -> Floats:
        a, b = self._shapes
        # With one concentration the terms in a + b cancel, and the closed form is the sum of
        # two Bregman divergences of ln Γ.
        return log_gamma_bregman(a[others], a[true]) + log_gamma_bregman(b[others], b[true])
