"""Statistics of a sample of R runs: means, intervals by Student's t, quantiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.checks import is_real
from fpbandits.errors import InputError, quote

_MOST_PULLS = 1_048_576
"""Pull counts that are converted to floats at a time, to save memory."""


def regret_of(pulls: Counts, gaps: Floats) -> Floats:
    """Return the regret[run, …] of pulls[run, …, arm], given gaps[arm] or gaps[run, arm]."""
    regret = np.empty(pulls.shape[:-1])
    # Blocks of a multiple of 64 runs: BLAS computes what is left over by another kernel, which
    # rounds differently.
    block = 64 * max(1, _MOST_PULLS // (64 * math.prod(pulls.shape[1:])))
    for start in range(0, len(pulls), block):
        part = slice(start, start + block)
        if gaps.ndim == 1:
            regret[part] = pulls[part] @ gaps
        else:
            regret[part] = np.einsum("r...a,ra->r...", pulls[part], gaps[part])
    return regret


def std_of(sample: Floats, axis: int = 0) -> Any:
    """Return the standard deviation with divisor R − 1; NaN for a single run."""
    if sample.shape[axis] == 1:
        return np.full(np.delete(sample.shape, axis), np.nan)
    return sample.std(axis=axis, ddof=1)


def students_t(runs: int, probability: float) -> float:
    """Return the quantile of Student's t with R − 1 degrees of freedom; NaN for a single run."""
    if runs == 1:
        return math.nan
    from scipy.special import stdtrit

    return float(stdtrit(runs - 1, probability))


def margin(std: Any, runs: int, probability: float) -> Any:
    """Return t·s/√R, where s is ``std`` and t the quantile of `students_t`.

    The expected value is above mean + margin with probability 1 − ``probability``, and below
    mean − margin with the same probability.
    """
    return students_t(runs, probability) * std / math.sqrt(runs)


def two_sided(level: float) -> float:
    """Return the probability below the upper end of an interval: 0.975 for one of 95 %."""
    if not is_real(level) or not 0 < level < 1:
        raise InputError(f"a level is between 0 and 1, not {quote(level)}")
    return (1 + float(level)) / 2


def half_width(sample: Floats, level: float = 0.95, axis: int = 0) -> Any:
    """Return half the width of the mean's confidence interval; NaN for a single run."""
    return margin(std_of(sample, axis), sample.shape[axis], two_sided(level))


def summary(sample: Floats, axis: int = 0) -> dict[str, Floats]:
    """Return mean, standard deviation, 95 % interval and quantiles of regret."""
    mean = sample.mean(axis=axis)
    half = half_width(sample, axis=axis)
    low, median, high = np.quantile(sample, (0.05, 0.5, 0.95), axis=axis)
    return {
        "mean_regret": mean,
        "std_regret": std_of(sample, axis),
        "ci95_low": mean - half,
        "ci95_high": mean + half,
        "q05_regret": low,
        "median_regret": median,
        "q95_regret": high,
    }
