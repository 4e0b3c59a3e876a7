"""One-sided confidence limits, which decide wherever chance is involved; level `ERROR_CHANCE`.

Limits of an expected value are Student's, those of a share binomial. Policies are compared run by
run: both play run r on the same random stream, so differences are taken within runs, and are
independent from run to run.
"""

from __future__ import annotations

from fpbandits.core.arrays import Floats
from fpbandits.core.statistics import margin, std_of

ERROR_CHANCE = 0.001
"""The probability that a limit is wrong."""


def paired(first: Floats, second: Floats) -> Floats:
    """Return the differences within the runs that both have."""
    runs = min(len(first), len(second))
    difference: Floats = first[:runs] - second[:runs]
    return difference


def limits(sample: Floats) -> tuple[float, float]:
    """Return a lower and an upper limit of the expected value, each of level `ERROR_CHANCE`."""
    mean, half = float(sample.mean()), float(margin(std_of(sample), len(sample), 1 - ERROR_CHANCE))
    return mean - half, mean + half


def most_of(count: int, runs: int) -> float:
    """Return the upper limit of a probability whose event was seen in ``count`` of ``runs``."""
    from scipy.special import betaincinv

    return 1.0 if count == runs else float(betaincinv(count + 1, runs - count, 1 - ERROR_CHANCE))
