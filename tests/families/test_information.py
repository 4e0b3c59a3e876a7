"""Divergences keep their digits where two laws are nearly the same."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import reproducible

from fpbandits import Problem


@reproducible
@given(st.floats(0.01, 0.99), st.floats(-1, 1), st.integers(1, 11))
def test_divergence_keeps_its_digits_between_near_neighbours(
    p: float, direction: float, digits: int
) -> None:
    q = p + direction * 10.0**-digits * min(p, 1 - p)
    value = Problem.bernoulli([[p], [q]]).rewards.divergence(0, np.array([1]))[0, 0]
    with localcontext(prec=60):
        x, y = Decimal(p), Decimal(q)
        # The code's 1 − p is rounded; so is this one.
        exact = x * (x / y).ln() + (1 - x) * ((1 - x) / (1 - y)).ln()
    if abs(p - q) > 1e-13:
        assert value == pytest.approx(float(exact), rel=5e-16 / abs(p - q) + 1e-11)


def test_divergence_of_exact_neighbours_has_twelve_digits() -> None:
    """Probabilities that floats hold exactly, and their complements too: nothing else to blame."""
    for bits in (8, 20, 30):
        step = 2.0**-bits
        laws = [[[0.5, 0.5]], [[0.5 + step, 0.5 - step]]]
        value = Problem.discrete(laws, [0, 1]).rewards.divergence(0, np.array([1]))[0, 0]
        with localcontext(prec=60):
            half, other = Decimal("0.5"), Decimal(step)
            exact = half * (half / (half + other)).ln() + half * (half / (half - other)).ln()
        assert value == pytest.approx(float(exact), rel=1e-12)


def test_vanishing_probabilities_do_not_overflow() -> None:
    rewards = Problem.bernoulli([[1e-310], [0.5], [0.0]]).rewards
    values = rewards.divergence(0, np.array([0, 1, 2]))[:, 0]
    assert values.tolist() == [0, pytest.approx(math.log(2)), math.inf]
