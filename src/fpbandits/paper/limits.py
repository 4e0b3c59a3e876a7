"""One-sided confidence limits, each wrong with probability `ERROR_CHANCE`.

Limits of an expected value are those of Student's t, limits of a probability binomial ones.
Policies are compared run by run: both play run r with the same random stream, and different runs
are independent, so the differences within runs are, too.
"""

from __future__ import annotations

from fpbandits.core.arrays import Floats
from fpbandits.core.statistics import margin, std_of

ERROR_CHANCE = 0.001
"""The probability that a limit is wrong."""


def paired_difference(first: Floats, second: Floats) -> Floats:
    """Return first − second, run by run, for the runs that both have."""
    runs = min(len(first), len(second))
    difference: Floats = first[:runs] - second[:runs]
    return difference


def limits(sample: Floats) -> tuple[float, float]:
    """Return the lower and the upper limit of the expected value."""
    mean, half = float(sample.mean()), float(margin(std_of(sample), len(sample), 1 - ERROR_CHANCE))
    return mean - half, mean + half


def largest_chance(count: int, runs: int) -> float:
    """Return the upper limit of the probability of an event seen in ``count`` of ``runs`` runs."""
    from scipy.special import betaincinv

    return 1.0 if count == runs else float(betaincinv(count + 1, runs - count, 1 - ERROR_CHANCE))
