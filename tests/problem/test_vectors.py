"""Means from vectors, against products that are added up one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fpbandits import InputError, Problem

GENERATOR = np.random.default_rng(5)
WEIGHTS = GENERATOR.normal(size=(3, 4)).tolist()
BY_ARM = GENERATOR.normal(size=(2, 4)).tolist()
BY_CONTEXT = GENERATOR.normal(size=(5, 2, 4)).tolist()
CONTEXTS = ["a", "b", "c", "d", "e"]


def product(first: list[float], second: list[float]) -> float:
    return math.fsum(x * y for x, y in zip(first, second, strict=True))


def sigmoid(x: float) -> float:
    return math.exp(x) / (1 + math.exp(x))


@pytest.mark.parametrize("link", ["linear", "logistic"])
def test_means_are_products(link: str) -> None:
    make: Any = getattr(Problem, link)
    more: dict[str, Any] = {"deviation": 2} if link == "linear" else {}
    mean = (lambda x: x) if link == "linear" else sigmoid
    flat = make(WEIGHTS, np.array(BY_ARM), **more)
    expected: Any = [[mean(product(own, arm)) for arm in BY_ARM] for own in WEIGHTS]
    np.testing.assert_allclose(flat.means, expected, rtol=1e-12)
    seen = make(np.array(WEIGHTS), BY_CONTEXT, contexts=CONTEXTS, **more)
    expected = [
        [[mean(product(own, arm)) for arm in context] for context in BY_CONTEXT] for own in WEIGHTS
    ]
    np.testing.assert_allclose(seen.means, expected, rtol=1e-12)
    assert flat.rewards.name == seen.rewards.name == ("gaussian" if more else "bernoulli")


def test_values_are_paid_with_logistic_chances() -> None:
    problem = Problem.logistic([[1, 0], [0, 2]], [[1, 1], [3, -1]], value=[9, 12])
    expected = [[9 * sigmoid(1), 12 * sigmoid(3)], [9 * sigmoid(2), 12 * sigmoid(-2)]]
    np.testing.assert_allclose(problem.means, expected, rtol=1e-12)


def test_what_is_nearly_certain_needs_no_warning() -> None:
    assert Problem.logistic([[1], [-1]], [[1e3]]).means.tolist() == [[1.0], [0.0]]


WRONG: list[tuple[Any, Any, str]] = [
    ([1, 2], [[1, 2]], "weights must be a list of numbers per model, not [1, 2]"),
    (3, [[1, 2]], "weights must be a list of numbers per model, not 3"),
    ([[1, 2]], [1, 2], "features must be a list of numbers per arm, not [1, 2]"),
    ([[1, 2]], [], "features must be a list of numbers per arm, not []"),
    ([[1, 2, 3]], [[1, 2]], "3 weights per model for 2 features per arm: they must be as many"),
    ([[1, 2], [1]], [[1, 2]], "weights must be equally many numbers in each row"),
    ([[1, 2]], [[1, "x"]], "features must be numbers, not [[1, 'x']]"),
    ([[1, float("nan")]], [[1, 2]], "weights must be numbers, not [[1, nan]]"),
    ([[True, False]], [[1, 2]], "weights must be numbers, not [[True, False]]"),
]


@pytest.mark.parametrize(("weights", "features", "message"), WRONG)
def test_vectors_that_are_refused(weights: Any, features: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Problem.logistic(weights, features)
    assert str(caught.value) == message
    with pytest.raises(InputError) as caught:
        Problem.linear(weights, features, deviation=1)
    assert str(caught.value) == message
