"""Verdicts of runs that stop at one: how long they took, how often they were wrong."""

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
        Within how many plays half of the runs, and 95 % of them, have their verdict; None where
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
        """Summarise runs: plays until the verdict, 0 for none, and whether it is wrong."""
        median, q95 = (_quantile(plays, share) for share in (0.5, 0.95))
        return cls(median, q95, float((plays > 0).mean()), float(wrong.mean()))


def _quantile(plays: Counts, share: float) -> int | None:
    """Return how many plays this share of the runs takes to a verdict; None: beyond T."""
    quantile = float(np.quantile(np.where(plays > 0, plays, np.inf), share, method="higher"))
    return int(quantile) if np.isfinite(quantile) else None
