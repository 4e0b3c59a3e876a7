"""How runs ended that stop at a verdict: how long it took, how often it was wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fpbandits.core.arrays import Counts


@dataclass(frozen=True)
class Stops:
    """The verdicts of a policy's runs.

    Attributes
    ----------
    median, q95
        Plays until the verdict that half of the runs, and 95 % of them, stay within; None where
        that is beyond the horizon.
    share, wrong
        Shares of the runs that have a verdict by the horizon, and that have a wrong one.
    """

    median: int | None
    q95: int | None
    share: float
    wrong: float

    @classmethod
    def of(cls, plays: Counts, wrong: Counts) -> Stops:
        """Sum up plays until a verdict, 0 for none, and whether it is wrong."""
        median, q95 = (_quantile(plays, share) for share in (0.5, 0.95))
        return cls(median, q95, float((plays > 0).mean()), float(wrong.mean()))


def _quantile(plays: Counts, share: float) -> int | None:
    found = float(np.quantile(np.where(plays > 0, plays, np.inf), share, method="higher"))
    return int(found) if np.isfinite(found) else None
