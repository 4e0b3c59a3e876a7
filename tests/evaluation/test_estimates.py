"""Ratios and their intervals, by hand and by units drawn again and again."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fpbandits.evaluation.estimates import Ratio


def test_by_hand() -> None:
    """Units of one decision each: the interval of a mean, as textbooks have it."""
    sums = np.array([1.0, 0.0, 1.0, 1.0, 0.0])
    estimate = Ratio.of(sums, np.ones(5)).estimate()
    assert estimate.value == pytest.approx(0.6)
    half = 2.776445105 * math.sqrt(0.3 / 5)  # t of 4 degrees of freedom; s² = 0.3
    assert estimate.interval == pytest.approx((0.6 - half, 0.6 + half))


def test_units_without_decisions_do_not_count() -> None:
    sums, counts = np.array([1.0, 3.0, 2.0]), np.array([2.0, 4.0, 5.0])
    alone = Ratio.of(sums, counts).estimate()
    with_others = Ratio.of(np.append(sums, [0.0, 0.0]), np.append(counts, [0.0, 0.0])).estimate()
    assert with_others == alone


def test_the_difference_to_itself_is_sure() -> None:
    ratio = Ratio.of(np.array([1.0, 3.0, 2.0]), np.array([2.0, 4.0, 5.0]))
    assert ratio.above(ratio).interval == (0, 0)


def test_intervals_hold_where_units_differ_more_than_decisions() -> None:
    """600 samples of 40 units: 95 % of the intervals hold the truth, give or take 4.

    Four points are more than four deviations of that share: a false alarm once in 10^4. Were
    decisions taken for independent, they would hold it half of the time.
    """
    random = np.random.default_rng(3)
    held, apart = [], []
    for _ in range(600):
        counts = random.integers(1, 20, 40).astype(float)
        chance, other = random.random((2, 40))
        sums, others = random.binomial(counts.astype(int), [chance, other]).astype(float)
        ratio, second = Ratio.of(sums, counts), Ratio.of(others, counts)
        estimate, difference = ratio.estimate(), ratio.above(second)
        held.append(estimate.low <= 0.5 <= estimate.high)
        apart.append(difference.low <= 0 <= difference.high)
    assert abs(np.mean(held) - 0.95) < 0.04
    assert abs(np.mean(apart) - 0.95) < 0.04
