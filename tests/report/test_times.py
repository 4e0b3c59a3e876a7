"""Times as people write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fpbandits.report.times import as_written, power_text, time_text


@pytest.mark.parametrize(
    ("time", "text"),
    [
        (1, "1"),
        (42, "42"),
        (999, "999"),
        (1000, "1e3"),
        (35_000, "3.5e4"),
        (949_999, "9.5e5"),
        (995_001, "1e6"),
        (10**15, "1e15"),
    ],
)
def test_times(time: float, text: str) -> None:
    assert time_text(time) == text


def test_times_beyond_all_numbers() -> None:
    assert power_text(193.61) == "4.1e193"
    assert power_text(5000) == "1e5000"
    assert power_text(5000 - 1e-9) == "1e5000"


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.floats(0, 300))
def test_what_is_written_is_the_time_to_two_digits(log: float) -> None:
    value = float(power_text(log))
    if log < 3:
        assert abs(value - 10**log) <= 0.5 + 1e-9
    else:
        assert abs(math.log10(value) - log) <= math.log10(1.05 / 1.0)


@pytest.mark.parametrize(
    ("typed", "written"),
    [
        ("T=1e3", "T=1,000"),
        ("T=5.2e4,", "T=52,000,"),
        ("1e4 1e6", "10⁴ 10⁶"),
        ("3.2e6", "3,200,000"),
        ("3.613e+05 (3.048e+05 … 4.178e+05)", "361,300 (304,800 … 417,800)"),
        ("1.18964e+09", "1.18964 · 10⁹"),
        ("6.7e-05", "6.7 · 10⁻⁵"),
        ("1.5e0 1.23456789e0 0.5e-1", "1.5 1.234568 0.5 · 10⁻¹"),
        ("1e7 3.2e7", "10⁷ 3.2 · 10⁷"),
        ("1e100 1e101", "10¹⁰⁰ beyond 10¹⁰⁰"),
        ("9.9e99 9.9e101", "9.9 · 10⁹⁹ beyond 10¹⁰⁰"),
        ("1,472.28 and 3.05", "1,472.28 and 3.05"),
        ("theta1e5 1e5x a.1e5", "theta1e5 1e5x a.1e5"),
    ],
)
def test_what_is_typed_can_be_written(typed: str, written: str) -> None:
    assert as_written(typed) == written
