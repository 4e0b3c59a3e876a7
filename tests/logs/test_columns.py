"""Columns, chunk by chunk: codes of names, numbers and times; rows are counted over all chunks."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import pytest

from fpbandits.errors import InputError
from fpbandits.logs.columns import Flags, Labels, Reals, Times, given_names

ALL = np.ones(6, bool)


@pytest.mark.parametrize("as_array", [False, True])
def test_codes_are_in_order_of_appearance(as_array: bool) -> None:
    """Texts of a CSV file, and arrays of texts, of numbers and of objects."""
    column = Labels("unit")
    for part in (["b", "", "a"], ["c", "b", ""]):
        column.add(np.array(part) if as_array else part)
    assert column.missing().tolist() == [False, True, False, False, False, True]
    names, codes = column.kept(ALL)
    assert (names, codes.tolist()) == ([None, "b", "a", "c"], [1, 0, 2, 3, 1, 0])
    assert codes.dtype == np.int32
    names, codes = column.kept(np.array([False, False, True, True, False, False]))
    assert (names, codes.tolist()) == (["a", "c"], [0, 1])
    order, codes = column.sorted(None, ~column.missing())
    assert (order, codes.tolist()) == (("a", "b", "c"), [1, 0, 2, 1])
    order, codes = column.sorted(["c", "d", "b", "a"], ~column.missing())
    assert (order, codes.tolist()) == (("c", "d", "b", "a"), [2, 3, 0, 2])
    with pytest.raises(InputError, match="unknown unit 'a'") as caught:
        column.sorted(["b", "c"], ~column.missing())
    assert caught.value.place == (("index", 2), ("unit", "a"))


@pytest.mark.parametrize("dtype", [float, object])
def test_a_float_that_lost_digits_is_named_in_any_chunk(dtype: type) -> None:
    column = Labels("unit")
    column.add(np.array([7.0, 2.5, 7.0], dtype))
    with pytest.raises(InputError, match="may have lost digits") as caught:
        column.add(np.array([7.0, 2.0**53], dtype))
    assert caught.value.place == (("index", 4), "unit")


def test_names_sort_by_their_numbers() -> None:
    column = Labels("arm")
    many = "9" * 5000, "8" * 5000  # more digits than Python reads
    names = ["x", *many, "12 EUR", "9 EUR", "a10", "a9", "-1", "2.5", "inf", "9"]
    column.add(names)
    wanted = ("-1", "2.5", "9", "9 EUR", "12 EUR", many[1], many[0], "a9", "a10", "inf", "x")
    assert column.sorted(None, np.ones(len(names), bool))[0] == wanted


def test_lists_of_names_are_written_as_columns_are() -> None:
    assert given_names("arms", None) is None
    assert given_names("arms", (9, 12.0, 2.5, " a ", None)) == ["9", "12", "2.5", "a", ""]
    with pytest.raises(InputError, match="arms must be a list of names, not 3"):
        given_names("arms", 3)


GAPS = ["", "na", "N/A", " NaN ", "null", "None"]


@pytest.mark.parametrize(
    "values",
    [
        [*GAPS, "1", "TRUE ", "false", "-2.5e1"],
        np.array([*GAPS, "1", "True", " False", "-25"], object),
        np.array([None] * 6 + [1, True, False, -25.0], object),
        np.array([np.nan] * 6 + [1, 1, 0, -25]),
    ],
    ids=["texts", "objects", "values", "floats"],
)
def test_numbers_and_gaps(values: Any) -> None:
    column = Reals("reward")
    column.add(values)
    assert column.missing().tolist() == [True] * 6 + [False] * 4
    assert column.all()[6:].tolist() == [1, 1, 0, -25]


def test_a_column_of_truths_or_whole_numbers_is_one_of_numbers() -> None:
    column = Reals("reward")
    for values in ([True, False], np.array([3, 2], np.uint8), np.array([-1], np.int64)):
        column.add(np.array(values))
    assert column.all().tolist() == [1, 0, 3, 2, -1]
    assert column.all().dtype == np.float64


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1", "x"], "the reward is 'x': expected a number"),
        (["1", "1_0"], "the reward is '1_0': expected a number"),
        (["na", "-inf"], "the reward is '-inf': expected a finite number"),
        (np.array([0.5, np.inf]), "the reward is inf: expected a finite number"),
        (np.array([1, [2]], object), r"the reward is \[2\]: expected a number"),
        (np.array([1, "1_0"], object), "the reward is '1_0': expected a number"),
    ],
)
def test_what_is_no_number_is_named_in_any_chunk(values: Any, words: str) -> None:
    column = Reals("reward")
    column.add(["0", "1", "0"])
    column.add(["1"])
    with pytest.raises(InputError, match=words) as caught:
        column.add(values)
    assert caught.value.place == (("index", 5),)


def test_flags_are_true_false_or_missing() -> None:
    column = Flags("control")
    column.add([" True", "false", "", "1"])
    column.add(np.array([True, False, None], object))
    assert column.missing().tolist() == [False, False, True, True, False, False, True]
    assert column.all()[[0, 1, 4, 5]].tolist() == [1, 0, 1, 0]


def test_dates_are_seconds_since_1970_in_utc() -> None:
    column = Times("time")
    hour = 3600.0
    column.add(["1970-01-02", " 1970-01-01T02:00:00+01:00", "", "1970-01-01 01:00:00.5"])
    column.add(np.array([date(1970, 1, 2), datetime(1970, 1, 1, 3), None], object))
    wanted = [24 * hour, hour, np.nan, hour + 0.5, 24 * hour, 3 * hour, np.nan]
    np.testing.assert_array_equal(column.all(), wanted)
    with pytest.raises(InputError, match=r"the time is '7': expected a number or a date") as caught:
        column.add(["", "7"])
    assert caught.value.place == (("index", 8),)
    numbers = Times("time")
    numbers.add(["na", "7"])
    for words in ("1970-01-01", "soon"):
        with pytest.raises(InputError, match=f"the time is '{words}': expected a number or a dat"):
            numbers.add([words])
    numbers.add(np.array([1, 2]))
    np.testing.assert_array_equal(numbers.all(), [np.nan, 7, 1, 2])
