"""Times as people write them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fpbandits.report.times import power_text, time_text


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
