"""Numbers, names, ranges and tables: what is taken, and what is said of the rest."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fpbandits import InputError, Problem

MEANS = [[0.9, 0.5], [0.2, 0.5]]


def test_numbers_of_all_kinds() -> None:
    problem = Problem.bernoulli([[Fraction(1, 2), np.float32(0.25)], [1, np.int64(0)]])
    assert problem.means.tolist() == [[0.5, 0.25], [1.0, 0.0]]
    assert Problem.bernoulli(np.array([[1, 0]])).means.tolist() == [[1.0, 0.0]]


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"means": []}, "there are no parameters: Θ must hold at least one"),
    ({"means": [[]]}, "there are no arms: a problem needs at least one"),
    ({"means": 0.5}, "the rows of parameters must be a list or an array, not 0.5"),
    ({"means": [0.5, 0.2]}, "parameter 'theta1': expected a value for every arm, not 0.5"),
    ({"means": [[0.5], 0.2]}, "parameter 'theta2': expected a list with a value for each of"),
    ({"means": [[0.9, 1.5]]}, "parameter 'theta1', arm 'arm2': mean 1.5 is outside the range [0,"),
    ({"means": [[0.9, -0.1]]}, "mean -0.1 is outside the range [0, 1]"),
    ({"means": [[0.9, float("nan")]]}, "parameter 'theta1', arm 'arm2': nan is not a finite"),
    ({"means": np.array([[0.9, np.nan]])}, "arm 'arm2': nan is not a finite number"),
    ({"means": [[0.9, float("inf")]]}, "inf is not a finite number"),
    ({"means": [[0.9, 10**400]]}, "is not a finite number"),
    ({"means": [[0.9, True]]}, "arm 'arm2': expected a number, not the boolean True"),
    ({"means": [[0.9, "high"]]}, "arm 'arm2': expected a number, not the text 'high'"),
    ({"means": [[0.9, None]]}, "arm 'arm2': expected a number, not None"),
    ({"means": np.array([[True]])}, "expected an array of numbers, not of type bool"),
    ({"means": np.zeros((2, 2, 2))}, "expected an array of 2 dimensions, not 3"),
    (
        {"means": [[0.9, 0.5], [0.2]]},
        "parameter 'theta2' has 1 of 2 values: no value for arm 'arm2'",
    ),
    ({"means": [[0.9], [0.2, 0.1]]}, "parameter 'theta2' has 2 values for 1 arm: nothing follows"),
    ({"means": MEANS, "arms": ["a", "a"]}, "duplicate arm name 'a': arms 1 and 2 must differ"),
    ({"means": MEANS, "arms": "ab"}, "arm names must be a list of texts, not 'ab'"),
    ({"means": MEANS, "parameters": ["x", "x"]}, "duplicate parameter name 'x'"),
    ({"means": MEANS, "parameters": ["x"]}, "there are 1 parameter names for 2 rows"),
    ({"means": MEANS, "parameters": ["x", ""]}, "parameter 2: its name is empty"),
    ({"means": MEANS, "parameters": ["x", 3]}, "parameter 2: its name must be a text, not 3"),
    ({"means": MEANS, "parameters": ["x", "y\n"]}, "parameter 2: its name 'y\\n' has a control"),
    ({"means": MEANS, "arms": ["a", "b\u202e"]}, "arm 2: its name 'b\\u202e' has a control"),
    ({"means": MEANS, "name": "\u2067a"}, "the problem: its name '\\u2067a' has a control"),
    (
        {"means": MEANS, "parameters": ["x", " y"]},
        "parameter 2: its name ' y' has spaces around it",
    ),
    ({"means": MEANS, "name": ""}, "the problem: its name is empty"),
    ({"means": MEANS, "name": "x" * 1001}, "the problem: its name has 1,001 of 1000 letters"),
    ({"means": MEANS, "true": "theta3"}, "unknown true parameter 'theta3': did you mean 'theta"),
    ({"means": MEANS, "true": 3}, "true must be a parameter's name, not 3"),
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
