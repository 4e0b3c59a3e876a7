"""Limits are those of SciPy's tests."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fpbandits.paper.limits import ERROR_CHANCE, largest_chance, limits, paired_difference


def test_limits_are_students_and_binomial() -> None:
    sample = np.random.default_rng(3).exponential(size=40)
    interval = stats.ttest_1samp(sample, 0).confidence_interval(1 - 2 * ERROR_CHANCE)
    assert limits(sample) == pytest.approx((interval.low, interval.high))
    for count, runs in ((0, 1000), (3, 100), (99, 100), (100, 100)):
        exact = stats.binomtest(count, runs).proportion_ci(1 - 2 * ERROR_CHANCE, "exact").high
        assert largest_chance(count, runs) == pytest.approx(exact)


def test_runs_that_both_have_are_compared() -> None:
    long, short = np.array([5.0, 6.0, 9.0]), np.array([1.0, 4.0])
    assert paired_difference(long, short).tolist() == [4.0, 2.0]
    assert paired_difference(short, long).tolist() == [-4.0, -2.0]
