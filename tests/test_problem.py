"""What makes a problem, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fpbandits import InputError, Problem

MEANS = [[0.9, 0.5], [0.2, 0.5]]


def test_names_by_default_and_as_given() -> None:
    problem = Problem.bernoulli(MEANS)
    assert problem.arms == ("arm1", "arm2")
    assert problem.parameters == ("theta1", "theta2")
    problem = Problem.bernoulli(MEANS, arms=["a", "b"], parameters=["x", "y"], true="y", name="p")
    assert (problem.arms, problem.parameters) == (("a", "b"), ("x", "y"))
    assert (problem.true, problem.name) == ("y", "p")


def test_numbers_of_all_kinds() -> None:
    problem = Problem.bernoulli([[Fraction(1, 2), np.float32(0.25)], [1, np.int64(0)]])
    assert problem.means.tolist() == [[0.5, 0.25], [1.0, 0.0]]
    assert Problem.bernoulli(np.array([[1, 0]])).means.tolist() == [[1.0, 0.0]]


def test_a_problem_never_changes() -> None:
    given = np.array(MEANS)
    problem = Problem.bernoulli(given)
    given[0, 0] = 0.1
    assert problem.means[0, 0] == 0.9
    with pytest.raises(ValueError, match="read-only"):
        problem.means[0, 0] = 0.1


def test_range_maps_to_the_unit_interval() -> None:
    problem = Problem.bernoulli([[15, 20]], range=(10, 20))
    assert problem.rewards.unit_means.tolist() == [[0.5, 1.0]]
    assert problem.means.tolist() == [[15, 20]]


def test_equality_is_of_models_not_of_titles() -> None:
    problem = Problem.bernoulli(MEANS)
    assert problem == Problem.bernoulli(MEANS, name="other", true="theta1")
    assert len({problem, Problem.bernoulli(MEANS)}) == 1
    changed = [
        Problem.bernoulli([[0.9, 0.5], [0.2, 0.50001]]),
        Problem.bernoulli(MEANS, arms=["a", "b"]),
        Problem.bernoulli(MEANS, parameters=["x", "y"]),
        Problem.bernoulli(MEANS, range=(0, 2)),
        Problem.beta(MEANS, 5),
        Problem.beta(MEANS, 6),
        Problem.discrete([[[0.1, 0.9], [0.5, 0.5]], [[0.8, 0.2], [0.5, 0.5]]], [0, 1]),
        Problem.discrete([[[0.1, 0.9], [0.5, 0.5]], [[0.8, 0.2], [0.5, 0.5]]], [0, 0.9]),
    ]
    assert len({problem.fingerprint, *(other.fingerprint for other in changed)}) == 9
    assert problem != "problem"


def test_probabilities_are_made_to_add_up() -> None:
    third = 0.33333333333
    problem = Problem.discrete([[[third, third, third]]], [0, 0.5, 1])
    assert problem.means[0, 0] == pytest.approx(0.5, abs=1e-15)


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


@pytest.mark.parametrize(
    ("means", "concentration", "message"),
    [
        ([[0.5, 1.0]], 3, "arm 'arm2': the mean 1 of a beta arm must lie strictly inside"),
        ([[0.5, 0.9]], 0, "concentration is 0: it must be above 0"),
        ([[0.5, 0.9]], 1e16, "it must be above 0 and at most 1e15"),
        ([[0.5, 1e-200]], 10, "arm 'arm2': with concentration 10 the mean 1e-200 is too near to"),
        ([[0.5, 0.9]], float("nan"), "concentration: nan is not a finite number"),
        ([[0.5, 0.9]], "3", "concentration: expected a number, not the text '3'"),
    ],
)
def test_beta_refusals(means: Any, concentration: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Problem.beta(means, concentration)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("laws", "support", "message"),
    [
        ([[[0.5, 0.4]]], [0, 1], "arm 'arm1': the probabilities add up to 0.9, not 1"),
        ([[[1.5, -0.5]]], [0, 1], "arm 'arm1': 1.5 is not a probability"),
        ([[[0.5, -0.5]]], [0, 1], "arm 'arm1': -0.5 is not a probability"),
        ([[[1e308, 1e308]]], [0, 1], "arm 'arm1': 1e+308 is not a probability"),
        ([[[0.5, 0.4999]]], [0, 1], "the probabilities add up to 0.9999, not 1"),
        ([[[1.0]]], [0, 1], "arm 'arm1': 1 probabilities for a support of 2 values"),
        ([[0.5]], [0, 1], "arm 'arm1': expected a list of 2 probabilities, not 0.5"),
        ([[[0.5, "x"]]], [0, 1], "arm 'arm1': expected a number, not the text 'x'"),
        ([[[0.5, float("nan")]]], [0, 1], "nan is not a finite number"),
        ([[[0.5, 0.5]]], [0, 2], "support: 2 is outside the range [0, 1]"),
        ([[[0.5, 0.5]]], [1, 1], "support: 1 stands there twice"),
        ([[[0.5, 0.5]]], [], "support must be a list of the possible rewards"),
        ([[[0.5, 0.5]]], "01", "support must be a list of the possible rewards"),
        (np.full((1, 1, 3), 1 / 3), [0, 1], "3 probabilities per arm for a support of 2 values"),
        (np.array([[[0.5, np.nan]]]), [0, 1], "nan is not a probability"),
    ],
)
def test_discrete_refusals(laws: Any, support: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Problem.discrete(laws, support)
    assert message in str(caught.value)
