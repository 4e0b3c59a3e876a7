"""Numbers, names, ranges and tables: what is taken, and what is said of the rest."""

from __future__ import annotations

import math
import sys
import unicodedata
from enum import IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import InputError, Problem
from fpbandits.core.checks import (
    amount,
    checked_path,
    checked_range,
    flag,
    known_name,
    printable,
    whole_number,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (math.nan, ""),
        (0.0, "0"),
        (0.220123, "0.2201"),
        (999.96, "1000"),
        (1000.0, "1,000.0"),
        (-6899.84, "-6,899.8"),
        (999_999.94, "999,999.9"),
        (999_999.96, "1 million"),
        (1_000_000.5, "1 million"),
        (2_117_154.1, "2.12 million"),
        (123_456_789, "123 million"),
        (999_600_000, "1 billion"),
        (1.5e12, "1.5 trillion"),
        (9.996e14, "1·10^15"),
        (3.21e17, "3.21·10^17"),
        (1e100, "1·10^100"),
        (1e193, "beyond 10^100"),
        (math.inf, "beyond 10^100"),
    ],
)
def test_amounts_are_written_as_people_do(value: float | None, text: str) -> None:
    assert amount(value) == text


MEANS = [[0.9, 0.5], [0.2, 0.5]]


def test_numbers_of_all_kinds() -> None:
    problem = Problem.bernoulli([[Fraction(1, 2), np.float32(0.25)], [1, np.int64(0)]])
    assert problem.means.tolist() == [[0.5, 0.25], [1.0, 0.0]]
    assert Problem.bernoulli(np.array([[1, 0]])).means.tolist() == [[1.0, 0.0]]


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"means": []}, "there are no models: Θ must hold at least one"),
    ({"means": [[]]}, "there are no arms: a problem needs at least one"),
    ({"means": 0.5}, "the rows of models must be a list or an array, not 0.5"),
    ({"means": [0.5, 0.2]}, "model 'theta1': expected a value for every arm, not 0.5"),
    ({"means": [[0.5], 0.2]}, "model 'theta2': expected a list with a value for each of"),
    ({"means": [[0.9, 1.5]]}, "model 'theta1', arm 'arm2': mean 1.5 is outside the range [0,"),
    ({"means": [[0.9, -0.1]]}, "mean -0.1 is outside the range [0, 1]"),
    ({"means": [[0.9, float("nan")]]}, "model 'theta1', arm 'arm2': nan is not a finite"),
    ({"means": np.array([[0.9, np.nan]])}, "arm 'arm2': nan is not a finite number"),
    ({"means": [[0.9, float("inf")]]}, "inf is not a finite number"),
    ({"means": [[0.9, 10**400]]}, "is not a finite number"),
    ({"means": [[0.9, True]]}, "arm 'arm2': expected a number, not the boolean True"),
    ({"means": [[0.9, "high"]]}, "arm 'arm2': expected a number, not the text 'high'"),
    ({"means": [[0.9, None]]}, "arm 'arm2': expected a number, not None"),
    ({"means": np.array([[True]])}, "expected an array of numbers, not of type bool"),
    ({"means": np.array(0.5)}, "the rows of models must be a list or an array, not array(0.5)"),
    ({"means": [np.array(0.5)]}, "model 'theta1': expected a value for every arm, not array"),
    ({"means": b"ab"}, "the rows of models must be a list or an array, not b'ab'"),
    ({"means": memoryview(b"ab")}, "the rows of models must be a list or an array, not <mem"),
    ({"means": np.ma.array(MEANS)}, "a masked array may lack values: fill it, or leave them out"),
    ({"means": [np.ma.array([0.9, 0.5])]}, "model 'theta1': a masked array may lack values"),
    ({"means": [[0.9, np.ma.masked]]}, "arm 'arm2': expected a number, not masked"),
    ({"means": np.array(MEANS, object)}, "expected an array of numbers, not of type object"),
    ({"means": np.array(MEANS, complex)}, "expected an array of numbers, not of type complex128"),
    ({"means": np.zeros(2, "f8,f8")}, "expected a value for every arm, not np.void"),
    ({"means": np.zeros((2, 2), "m8[s]")}, "expected an array of numbers, not of type timedelta"),
    ({"means": np.full((2, 2), np.longdouble(np.finfo(np.longdouble).max))}, "inf is not a finite"),
    ({"means": [[0.9, np.timedelta64(1)]]}, "arm 'arm2': expected a number, not np.timedelta64"),
    ({"means": [[0.9, np.complex128(1)]]}, "arm 'arm2': expected a number, not np.complex128"),
    ({"means": [[0.9, np.zeros((2, 2))]]}, "arm 'arm2': expected a number, not array([[0., 0.],"),
    ({"means": MEANS, "arms": {"a", "b"}}, "arm names must be a list of texts, not {'"),
    ({"means": MEANS, "models": frozenset("xy")}, "model names must be a list of texts"),
    ({"means": MEANS, "arms": 3}, "arm names must be a list of texts, not 3"),
    ({"means": MEANS, "arms": np.array("a")}, "arm names must be a list of texts, not array("),
    ({"means": MEANS, "truth": np.array(["theta1"])}, "truth must be a model's name, not array"),
    ({"means": MEANS, "range": np.array(1)}, "range must be [lowest, highest], not array(1)"),
    ({"means": np.zeros((2, 2, 2))}, "expected an array of 2 dimensions, not 3"),
    (
        {"means": [[0.9, 0.5], [0.2]]},
        "model 'theta2': it has 1 of 2 values: no value for arm 'arm2'",
    ),
    ({"means": [[0.9], [0.2, 0.1]]}, "model 'theta2': it has 2 values for 1 arm: nothing follows"),
    ({"means": MEANS, "arms": ["a", "a"]}, "duplicate arm name 'a': arms 1 and 2 must differ"),
    ({"means": MEANS, "arms": "ab"}, "arm names must be a list of texts, not 'ab'"),
    ({"means": MEANS, "models": ["x", "x"]}, "duplicate model name 'x'"),
    ({"means": MEANS, "models": ["x"]}, "there are 1 model names for 2 rows"),
    ({"means": MEANS, "models": ["x", ""]}, "model 2: its name is empty"),
    ({"means": MEANS, "models": ["x", 3]}, "model 2: its name must be a text, not 3"),
    ({"means": MEANS, "models": ["x", "y\n"]}, "model 2: its name 'y\\n' has a control"),
    ({"means": MEANS, "arms": ["a", "b\u202e"]}, "arm 2: its name 'b\\u202e' has a control"),
    ({"means": MEANS, "name": "\u2067a"}, "the problem: its name '\\u2067a' has a control"),
    (
        {"means": MEANS, "models": ["x", " y"]},
        "model 2: its name ' y' has spaces around it",
    ),
    ({"means": MEANS, "name": ""}, "the problem: its name is empty"),
    ({"means": MEANS, "name": "x" * 1001}, "the problem: its name has 1,001 of 1000 letters"),
    ({"means": MEANS, "truth": "theta3"}, "unknown true model 'theta3': did you mean 'theta"),
    ({"means": MEANS, "truth": 3}, "truth must be a model's name, not 3"),
    ({"means": MEANS, "range": (1, 0)}, "range [1, 0]: the lowest must be below the highest"),
    ({"means": MEANS, "range": (0, 0)}, "range [0, 0]: the lowest must be below the highest"),
    ({"means": MEANS, "range": 1}, "range must be [lowest, highest], not 1"),
    ({"means": MEANS, "range": (0, True)}, "range: expected a number, not the boolean True"),
    ({"means": MEANS, "range": (-1e308, 1e308)}, "floating point cannot map it to [0, 1]"),
    ({"means": MEANS, "range": (1e9, 1e9 + 1e-3)}, "floating point cannot map it to [0, 1]"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSALS)
def test_refusals(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Problem.bernoulli(**arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_whole_numbers_of_all_kinds() -> None:
    kind = IntEnum("kind", {"three": 3})
    for given in (3, 3.0, np.int8(3), np.float16(3), Fraction(3), np.longdouble(3), kind(3)):
        number = whole_number("it", given)
        assert (type(number), number) == (int, 3)
    wrong = (True, np.True_, "3", None, 3.5, float("nan"), float("inf"), -1, 10**1000, 3j)
    for refused in (*wrong, np.longdouble("inf"), np.timedelta64(3), np.array(3), Fraction(7, 2)):
        with pytest.raises(InputError) as caught:
            whole_number("it", refused)
        assert str(caught.value).startswith("it ")
        assert len(str(caught.value)) < 150


def test_limits_of_whole_numbers() -> None:
    assert whole_number("it", 0) == 0
    assert whole_number("it", 10**1000 - 1) == 10**1000 - 1
    assert whole_number("it", 1200, least=1200, most=1200) == 1200
    for given, limits, said in [
        (-1, {}, "be at least 0"),
        (3, {"least": 4}, "be at least 4"),
        (1201, {"most": 1200}, "be at most 1,200"),
        (1201, {"most": 1200, "why": "or it takes days"}, "be at most 1,200, or it takes days"),
        (0.5, {}, "be a whole number"),
        (-math.inf, {}, "be a whole number"),
    ]:
        with pytest.raises(InputError) as caught:
            whole_number("it", given, **limits)  # type: ignore[arg-type]  # by name
        assert str(caught.value) == f"it is {given}: it must {said}"


def test_ranges_that_have_twelve_digits() -> None:
    """A unit in the last place of the larger end may be 1e-12 of the width, and no more."""
    assert checked_range([0, 1e-3]) == (0, 1e-3)
    assert checked_range((-1e-100, 1e-100)) == (-1e-100, 1e-100)
    assert checked_range((0, 1e100)) == (0, 1e100)
    assert checked_range((-1e100, 0)) == (-1e100, 0)
    assert checked_range((4096 - 1, 4096)) == (4095, 4096)  # a unit in the last place is 2^-40
    for refused in (
        (8192 - 1, 8192 + 1e-9),  # 2^-39 is more than 1e-12
        (0, 1e-101),
        (0, 1.001e100),
        (-1.001e100, 0),
        (-8192, -8191),
    ):
        with pytest.raises(InputError, match="floating point cannot map it"):
            checked_range(refused)


def test_a_name_is_known_or_the_known_ones_are_listed() -> None:
    assert known_name("arm", np.str_("a"), ["a"]) == "a"
    for kind, given, said in [
        ("arm", 3, "an arm is named by a text, not 3: write '3'"),
        ("model", 4, "a model is named by a text, not 4"),
        ("model", "4", "unknown model '4': known are 'a', '3'"),
    ]:
        with pytest.raises(InputError) as caught:
            known_name(kind, given, ["a", "3"])
        assert str(caught.value) == said
        assert caught.value.place == ((kind,) if given != "4" else ((kind, "4"),))


def test_of_all_letters_those_that_break_or_turn_a_line_are_escaped() -> None:
    turning = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    for letter in map(chr, range(sys.maxunicode + 1)):
        if not letter.isprintable():
            breaks = unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
            escaped = letter.encode("unicode_escape", "surrogatepass").decode()
            assert printable(letter) == (escaped if breaks or letter in turning else letter)
    assert printable("👩\u200d💻'\\ \n") == "👩\u200d💻'\\ \\n"


def test_truth_values() -> None:
    assert [flag("it", given) for given in (True, np.True_, False, np.False_)] == [
        True,
        True,
        False,
        False,
    ]
    for refused in (1, 0, "yes", None, np.array(True)):
        with pytest.raises(InputError, match="it must be True or False, not "):
            flag("it", refused)


def test_paths() -> None:
    assert checked_path("a/b") == checked_path(Path("a/b")) == Path("a/b")
    for refused in (3, None, b"a", ["a"]):
        with pytest.raises(InputError, match="expected the path of a file or folder, not "):
            checked_path(refused)
    assert checked_path("é" * 127).name == "é" * 127
    assert checked_path("") == Path()
    # 2,000 folders of one letter, and as many separators.
    assert len(checked_path("a/" * 2000).parts) == 2000
    with pytest.raises(InputError, match="this path is longer than any that a file can have"):
        checked_path("a/" * 1999 + "bb")
    for endless in ("é" * 128, "a/" * 2001, Path("x" * 300)):
        with pytest.raises(InputError, match="this path is longer than any that a file can have"):
            checked_path(endless)
