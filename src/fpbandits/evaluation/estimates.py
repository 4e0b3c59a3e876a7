"""Rewards per decision, with intervals that respect units.

S_u is what the K_u decisions of unit u earned. The estimate is the ratio R = ΣS_u/ΣK_u. Decisions
of one unit are dependent, for it has one type and one agent; units are independent. By
linearisation the error of R is the mean of the residuals (S_u − R·K_u) over that of K_u, and

    Var R ≈ U/(U − 1) · Σ (S_u − R·K_u)² / (ΣK_u)²,     U the number of units.

It is the usual estimate for clusters, with Student's t on the units that made decisions. A ratio
of means is biased by about 1/U of its standard deviation, far below the width of its interval. The
residuals of two ratios, subtracted unit by unit, give the interval of their difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.statistics import students_t, two_sided


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def interval(self) -> tuple[float, float]:
        """Its lower and its upper end."""
        return self.low, self.high


@dataclass(frozen=True, eq=False)
class Ratio:
    """Reward per decision, and by how much each unit moves it.

    Attributes
    ----------
    value
        ΣS_u/ΣK_u.
    residuals
        (S_u − R·K_u)/ΣK_u of each unit: they add up to 0.
    units
        How many units made decisions.
    """

    value: float
    residuals: Floats
    units: int

    @classmethod
    def of(cls, sums: Floats, counts: Floats) -> Ratio:
        """Return the ratio of summed rewards to numbers of decisions, both by unit."""
        value = float(sums.sum() / counts.sum())
        return cls(value, (sums - value * counts) / counts.sum(), int(np.count_nonzero(counts)))

    def estimate(self) -> Estimate:
        """Return it with its interval."""
        return _estimate(self.value, self.residuals, self.units)

    def above(self, other: Ratio) -> Estimate:
        """Return by how much it exceeds another ratio of the same units, with an interval."""
        residuals = self.residuals - other.residuals
        return _estimate(self.value - other.value, residuals, min(self.units, other.units))


def _estimate(value: float, residuals: Floats, units: int) -> Estimate:
    """Return a value with its interval, by the residuals of the units."""
    error = float(np.sqrt(units / (units - 1) * (residuals**2).sum()))
    half = students_t(units, two_sided(0.95)) * error
    return Estimate(value, value - half, value + half)
