"""The upper tail of a Beta law against SciPy and arbitrary precision, and draws from it."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from fpbandits.engine.compiling import compiled
from fpbandits.policies.shared import beta_tail


@compiled
def draw_above(a: float, b: float, y: float, chance: float, random: Any) -> float:
    return beta_tail.draw_above(a, b, y, chance, random)


@compiled
def upper_tail(a: float, b: float, y: float) -> float:
    return beta_tail.upper_tail(a, b, y)


@pytest.mark.parametrize(
    ("a", "b", "y"),
    [
        (1, 1, 0.95),
        (5, 1, 0.99),
        (1, 5, 0.7),
        (2, 2, 0.97),
        (40, 60, 0.55),
        (40, 60, 0.41),
        (9, 2, 0.9),
    ],
)
def test_tails_of_beta_laws(a: float, b: float, y: float) -> None:
    """Against SciPy; 3,000 draws, a K-S test at level 1e-5."""
    law = stats.beta(a, b)
    chance = float(law.sf(y))
    if y > a / (a + b):
        assert upper_tail(a, b, y) == pytest.approx(chance, rel=1e-10)
    generator = np.random.default_rng(7)
    draws = np.array([draw_above(a, b, y, chance, generator) for _ in range(3000)])
    assert draws.min() >= y
    assert stats.kstest(1 - law.sf(draws) / chance, "uniform").pvalue > 1e-5


def integrated(a: float, b: float, y: float) -> Any:
    """Return the tail with 45 digits: the density, relative to that at y, integrated piecewise."""
    with mpmath.workdps(45):
        a, b, y = map(mpmath.mpf, (a, b, y))
        x = 1 - y
        scale = mpmath.loggamma(a + b) - mpmath.loggamma(a) - mpmath.loggamma(b)
        at_y = mpmath.exp(scale + (a - 1) * mpmath.log(y) + (b - 1) * mpmath.log(x))
        bend = mpmath.sqrt((a - 1) / y**2 + (b - 1) / x**2)
        width = 1 / (abs((b - 1) / x - (a - 1) / y) + bend)
        ends = [end * width for end in (0, 1, 3, 6, 12, 24, 48) if end * width < x]
        ends += [x] if x < 48 * width else []

        def density(s: Any) -> Any:
            return mpmath.exp((a - 1) * mpmath.log1p(s / y) + (b - 1) * mpmath.log1p(-s / x))

        return at_y * mpmath.quad(density, ends)


@pytest.mark.parametrize(
    ("plays", "shares"),
    [
        (1, (0, 1)),
        (30, (0, 0.1, 0.5, 1)),
        (2100, (0, 0.1, 0.5, 0.9)),
        (10**6, (0, 1e-3, 0.5, 0.999999)),
        (10**11, (1e-9, 0.4, 1)),
        (10**13, (0, 0.5, 0.999)),
        (10**14, (1e-12, 1e-3, 0.5)),
        (2**53 - 2, (0, 1e-9, 0.5, 0.9)),
    ],
)
def test_the_tail_keeps_its_digits_at_any_size(plays: int, shares: tuple[float, ...]) -> None:
    """From beside the mean to 30 standard deviations above it, for few wins and for many."""
    compared = 0
    for share in shares:
        wins = round(plays * share)
        a, b = wins + 1.0, plays - wins + 1.0
        mean = a / (a + b)
        spread = math.sqrt(a / (a + b) * b / (a + b) / (a + b + 1))
        for deviation in (0.01, 3, 30):
            y = mean + deviation * spread
            if mean < y < 1:
                exact = integrated(a, b, y)
                assert abs(upper_tail(a, b, y) / exact - 1) < 1e-12, (wins, deviation)
                compared += 1
    assert compared >= 2


def test_a_tail_too_thin_for_any_number_is_none() -> None:
    assert upper_tail(4e14, 6e14, 0.41) == 0
    assert upper_tail(1e15, 1.0, 1 - 2**-53) == pytest.approx(1 - math.exp(-1e15 * 2**-53))


def test_draws_from_a_thin_tail_of_a_large_law() -> None:
    """At 10^15 plays and 3 standard deviations the law is the normal's, but for 1e-7.

    Seed 3; 20,000 draws, a K-S test at level 1e-5.
    """
    plays, generator = 1e15, np.random.default_rng(3)
    spread = math.sqrt(0.25 / plays)
    y = 0.5 + 3 * spread
    chance = upper_tail(plays / 2, plays / 2, y)
    draws = [draw_above(plays / 2, plays / 2, y, chance, generator) for _ in range(20_000)]
    deviations = (np.array(draws) - 0.5) / spread
    assert stats.kstest(stats.norm.sf(deviations) / stats.norm.sf(3), "uniform").pvalue > 1e-5
