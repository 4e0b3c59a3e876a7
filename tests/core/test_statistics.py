"""Means, intervals and quantiles, against SciPy and NumPy."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fpbandits.core.statistics import (
    half_width,
    margin,
    regret_of,
    std_of,
    students_t,
    summary,
    two_sided,
)
from fpbandits.errors import InputError

SAMPLE = np.random.default_rng(1).exponential(size=(12, 5))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("axis", [0, 1])
def test_intervals_are_scipys(level: float, axis: int) -> None:
    runs = SAMPLE.shape[axis]
    mean, half = SAMPLE.mean(axis=axis), half_width(SAMPLE, level, axis)
    low, high = stats.t.interval(level, runs - 1, loc=mean, scale=stats.sem(SAMPLE, axis=axis))
    np.testing.assert_allclose(mean - half, low)
    np.testing.assert_allclose(mean + half, high)


def test_one_side_has_its_chance() -> None:
    for runs, chance in ((2, 0.9), (10, 0.975), (1000, 0.001)):
        assert students_t(runs, chance) == pytest.approx(stats.t.ppf(chance, runs - 1))
        assert margin(3.0, runs, chance) == pytest.approx(
            stats.t.ppf(chance, runs - 1) * 3 / math.sqrt(runs)
        )
    assert two_sided(0.95) == pytest.approx(0.975)


def test_a_summary_is_numpys() -> None:
    found = summary(SAMPLE)
    assert list(found) == [
        "mean_regret",
        "std_regret",
        "ci95_low",
        "ci95_high",
        "q05_regret",
        "median_regret",
        "q95_regret",
    ]
    np.testing.assert_allclose(found["mean_regret"], np.mean(SAMPLE, axis=0))
    np.testing.assert_allclose(found["std_regret"], np.std(SAMPLE, axis=0, ddof=1))
    np.testing.assert_allclose(found["q05_regret"], np.quantile(SAMPLE, 0.05, axis=0))
    np.testing.assert_allclose(found["median_regret"], np.median(SAMPLE, axis=0))
    np.testing.assert_allclose(found["q95_regret"], np.quantile(SAMPLE, 0.95, axis=0))
    for place, column in enumerate(SAMPLE.T):
        test: Any = stats.ttest_1samp(column, 0)
        interval = test.confidence_interval(0.95)
        assert found["ci95_low"][place] == pytest.approx(interval.low)
        assert found["ci95_high"][place] == pytest.approx(interval.high)


def test_a_single_run_has_no_spread_and_warns_of_nothing() -> None:
    single = SAMPLE[:1]
    assert np.isnan(std_of(single)).all()
    assert std_of(single).shape == (5,)
    assert np.isnan(half_width(single)).all()
    assert math.isnan(students_t(1, 0.9))
    found = summary(single)
    for name in ("std_regret", "ci95_low", "ci95_high"):
        assert np.isnan(found[name]).all()
    for name in ("mean_regret", "q05_regret", "median_regret", "q95_regret"):
        np.testing.assert_allclose(found[name], single[0])


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, math.nan])
def test_a_level_is_between_0_and_1(level: float) -> None:
    with pytest.raises(InputError, match="a level is between 0 and 1, not "):
        half_width(SAMPLE, level)


def test_gaps_may_differ_from_run_to_run() -> None:
    random = np.random.default_rng(2)
    pulls, gaps = random.integers(0, 100, (130, 3, 4)), random.random((130, 4))
    expected = [[sum(row * own) for row in of_run] for of_run, own in zip(pulls, gaps, strict=True)]
    np.testing.assert_allclose(regret_of(pulls, gaps), expected, rtol=1e-14)


def test_pulls_become_floats_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2 MB no more than 128 KiB at a time: 64 runs of 16 times and 16 arms."""
    monkeypatch.setattr("fpbandits.core.statistics._MOST_PULLS", 64 * 16 * 16)
    pulls, gaps = np.ones((1024, 16, 16), np.int64), np.ones(16)
    tracemalloc.start()
    try:
        regret = regret_of(pulls, gaps)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < regret.nbytes + 1.5 * 64 * 16 * 16 * 8


def test_regret_is_the_same_however_many_runs_become_floats_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    random = np.random.default_rng(0)
    pulls, gaps = random.integers(0, 10**9, (1000, 7, 5)), random.random(5)
    expected = pulls @ gaps
    for at_once in (1, 10_000, 2**20):
        monkeypatch.setattr("fpbandits.core.statistics._MOST_PULLS", at_once)
        assert np.array_equal(regret_of(pulls, gaps), expected)
        assert np.array_equal(regret_of(pulls[:, -1], gaps), pulls[:, -1] @ gaps)
