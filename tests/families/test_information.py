"""Divergences keep their digits where two laws are nearly the same."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import reproducible

from fpbandits import Problem
from fpbandits.families.information import IMPOSSIBLE, information, log_gamma_bregman, minus_log


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
        assert value == pytest.approx(float(exact), rel=5e-16 / abs(p - q) + 1e-11, abs=0)


def test_divergence_of_exact_neighbours_has_twelve_digits() -> None:
    """Probabilities that floats hold exactly, and their complements too: nothing else to blame."""
    for bits in (8, 20, 30):
        step = 2.0**-bits
        laws = [[[0.5, 0.5]], [[0.5 + step, 0.5 - step]]]
        value = Problem.discrete(laws, [0, 1]).rewards.divergence(0, np.array([1]))[0, 0]
        with localcontext(prec=60):
            half, other = Decimal("0.5"), Decimal(step)
            exact = half * (half / (half + other)).ln() + half * (half / (half - other)).ln()
        assert value == pytest.approx(float(exact), rel=1e-12, abs=0)


@pytest.mark.parametrize("u", [1e-9, 0.0099, 0.0101, 0.1, 0.49, 0.51, 0.9, 3.0, 1e6])
def test_terms_have_their_digits_near_and_far(u: float) -> None:
    """p·ln(p/q) − p + q, at q = p(1 + u) and p(1 − u)."""
    for p in (1.0, 0.3, 1e-3):
        for q in (p * (1 + u), p * (1 - u)):
            if q > 0:
                with localcontext(prec=60):
                    x, y = Decimal(p), Decimal(q)
                    exact = float(x * (x / y).ln() - x + y)
                found = float(information(np.array(p), np.array(q)))
                distance = abs(q - p) / p
                error = 1e-16 / distance if distance < 0.01 else 2e-16 / min(distance, 1) ** 2
                assert found == pytest.approx(exact, rel=4 * error + 1e-15)
    assert information(np.array([0.0, 0.5]), np.array([0.4, 0.0])).tolist() == [0.4, math.inf]


@pytest.mark.parametrize("step", [1e-7, 1e-3, 0.0099, 0.0101, 0.3, 5.0])
def test_bregman_divergences_of_log_gamma(step: float) -> None:
    """Against 50 digits; two rows at once, each with its own y."""
    y = np.array([[0.4, 2.0], [30.0, 700.0]])
    found = log_gamma_bregman(y * (1 + step), y)
    for place in np.ndindex(2, 2):
        with mpmath.workdps(50):
            a, b = mpmath.mpf(float(y[place] * (1 + step))), mpmath.mpf(float(y[place]))
            exact = mpmath.loggamma(a) - mpmath.loggamma(b) - mpmath.digamma(b) * (a - b)
        assert found[place] == pytest.approx(float(exact), rel=max(1e-15 / step, 1e-11))
    assert IMPOSSIBLE == minus_log(np.array(0.0)) < math.inf
    assert minus_log(np.array(0.25)) == math.log(4)


def test_vanishing_probabilities_do_not_overflow() -> None:
    rewards = Problem.bernoulli([[1e-310], [0.5], [0.0]]).rewards
    values = rewards.divergence(0, np.array([0, 1, 2]))[:, 0]
    assert values.tolist() == [0, pytest.approx(math.log(2)), math.inf]
