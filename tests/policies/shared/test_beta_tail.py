"""The upper tail of a Beta law against SciPy and arbitrary precision, and draws from it."""

from __future__ import annotations

import math
from fractions import Fraction
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
                found = beta_tail.upper_tail(a, b, y)
                assert abs(found / exact - 1) < 1e-12, (wins, deviation)
                compared += 1
    assert compared >= 2


SHAPES = [
    (3.0, 4.0, 0.7),
    (2.0, 9.0, 0.3),
    (4e14 + 1, 6e14, 0.41),
    (1e15, 3.0, 1 - 1e-15),
    (5.0, 1e15, 2e-14),
    (2000.0, 3000.0, 0.42),
    (4e14 + 1, 6e14, 0.4 + 2e-14),
    (6e14 + 1, 4e14, 0.6 + 2e-14),
]


@pytest.mark.parametrize(("a", "b", "y"), SHAPES)
def test_the_slope_of_the_log_density_is_exact(a: float, b: float, y: float) -> None:
    """Also where N·y and a agree in all but their last digits."""
    exact_a, exact_b, exact_y = map(Fraction, (a, b, y))
    above = (exact_a + exact_b) * exact_y - exact_a
    assert beta_tail._excess(a, b, y) == pytest.approx(float(above), rel=1e-15, abs=0)
    slope = (exact_b - 1) / (1 - exact_y) - (exact_a - 1) / exact_y
    assert beta_tail._slope(y, float(above)) == pytest.approx(float(slope), rel=1e-14, abs=0)


@pytest.mark.parametrize(("a", "b", "y"), SHAPES)
def test_the_log_density_bends_away_from_its_tangent(a: float, b: float, y: float) -> None:
    for share in (1e-9, 0.01, 0.3, 0.9):
        step = share * (1 - y)
        with mpmath.workdps(60):
            up, down = mpmath.mpf(step) / y, -mpmath.mpf(step) / (1 - mpmath.mpf(y))
            exact = (a - 1) * (mpmath.log1p(up) - up) + (b - 1) * (mpmath.log1p(down) - down)
        assert beta_tail._bend(a, b, y, step) == pytest.approx(float(exact), rel=3e-14, abs=0)


@pytest.mark.parametrize("t", [1e-12, 1e-3, 0.2, 0.23, 0.5, 3, 1e3, -1e-9, -0.18, -0.19, -0.999])
def test_a_logarithm_less_its_tangent_keeps_its_digits(t: float) -> None:
    with mpmath.workdps(60):
        exact = float(mpmath.log1p(mpmath.mpf(t)) - mpmath.mpf(t))
    assert beta_tail._log_rest(t) == pytest.approx(exact, rel=3e-15, abs=0)


@pytest.mark.parametrize(("a", "b", "odds"), [(1, 1, 0.5), (5, 7, 0.3), (40, 60, 0.9), (3, 900, 2)])
def test_few_successes_beside_one_fewer_than_a(a: int, b: int, odds: float) -> None:
    """1 + r_1 + r_1·r_2 + …, r_i = (a − i)/(b + i)·odds, in fractions."""
    total = term = Fraction(1)
    for i in range(1, a + 1):
        term *= Fraction(a - i, b + i) * Fraction(odds)
        total += term
    assert beta_tail._sum(a, b, odds) == pytest.approx(float(total), rel=1e-15, abs=0)


class Scripted:
    """Gives the numbers that it was given, in order."""

    def __init__(self, *numbers: tuple[str, float]) -> None:
        self.numbers = list(numbers)

    def _next(self, kind: str) -> float:
        expected, number = self.numbers.pop(0)
        assert kind == expected
        return number

    def beta(self, a: float, b: float) -> float:
        assert (a, b) == (2, 3)
        return self._next("beta")

    def random(self) -> float:
        return self._next("uniform")

    def standard_exponential(self) -> float:
        return self._next("exponential")


def drawn(a: float, b: float, y: float, chance: float, *numbers: tuple[str, float]) -> float:
    random: Any = Scripted(*numbers)
    found = beta_tail.draw_above(a, b, y, chance, random)
    assert random.numbers == []
    return found


def test_a_tail_that_is_not_thin_is_drawn_by_trying() -> None:
    for last in (0.5, 0.4):
        assert drawn(2, 3, 0.4, 0.11, ("beta", 0.3), ("beta", 0.39), ("beta", last)) == last


def test_without_a_failure_the_distribution_function_is_inverted() -> None:
    for uniform in (0.0, 0.25, 0.75):
        found = drawn(3, 1, 0.5, 0.1, ("uniform", uniform))
        assert found**3 == pytest.approx(0.125 + 0.875 * uniform)


def test_a_thin_tail_is_drawn_under_its_tangent() -> None:
    """A step beyond 1 is refused at once; others by how far the density is below its tangent."""
    a, b, y = 2, 3, 0.9
    rate = 2 / 0.1 - 1 / 0.9
    step = 0.5 / rate
    bend = math.log((y + step) / y) + 2 * math.log((1 - y - step) / (1 - y)) + rate * step
    tries = [("exponential", 0.1 * rate), ("exponential", 0.5), ("exponential", -bend * 0.999999)]
    last = [("exponential", 0.5), ("exponential", -bend * 1.000001)]
    assert drawn(a, b, y, 0.05, *tries, *last) == pytest.approx(y + step, rel=1e-14)


def test_a_tail_too_thin_for_any_number_is_none() -> None:
    assert beta_tail.upper_tail(4e14, 6e14, 0.41) == 0
    found = beta_tail.upper_tail(1e15, 1.0, 1 - 2**-53)
    assert found == pytest.approx(1 - math.exp(-1e15 * 2**-53))


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
