"""The binomial law at any size, against arbitrary precision, SciPy and its own moments."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import mpmath
import numpy as np
import pytest
from laws import chi_square
from mpmath import mpf
from scipy import special, stats

from fpbandits.core.arrays import Counts
from fpbandits.engine.compiling import compiled
from fpbandits.families import binomial
from fpbandits.families.binomial import (
    artanh_rest,
    draw_binomial,
    exact_product,
    log_chance,
    stirling,
)

SIZES = (10**6, 10**9, 10**12, 2**53)
CHANCES = (0.5, 1e-3, 1e-6, 1e-9, 1e-12)
LARGE = [(n, p) for n in SIZES for p in CHANCES if n * p >= binomial.FEW]
SMALL = [(n, p) for n in SIZES for p in CHANCES if n * p < binomial.FEW]
CELL = 2.0**-53


@compiled
def fill(draws: Any, n: int, p: float, random: Any) -> None:
    for place in range(draws.size):
        draws[place] = draw_binomial(n, p, random)


def drawn(n: int, p: float, size: int, seed: int) -> Counts:
    draws = np.zeros(size, np.int64)
    fill(draws, n, p, np.random.default_rng(seed))
    return draws


def exact_log_chance(k: int, n: int, p: float) -> Any:
    """Return ln(√(2πnpq)·P(k)) with 60 digits, by log-gammas."""
    with mpmath.workdps(60):
        q = 1 - mpf(p)
        ways = mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)
        root = mpmath.log(2 * mpmath.pi * n * mpf(p) * q) / 2
        return ways + k * mpmath.log(mpf(p)) + (n - k) * mpmath.log(q) + root


def test_products_are_exact() -> None:
    generator = np.random.default_rng(0)
    for x, y in zip(generator.random(200) * 2.0**53, generator.random(200), strict=True):
        product, missing = exact_product(x, y)
        with mpmath.workdps(60):
            assert mpf(product) + mpf(missing) == mpf(x) * mpf(y)


def test_stirlings_remainder() -> None:
    with mpmath.workdps(50):
        for k in [*range(1, 60), 1000, 10**9]:
            exact = mpmath.loggamma(k + 1) - mpmath.log(2 * mpmath.pi * k) / 2
            exact += k - k * mpmath.log(k)
            assert abs(stirling(float(k)) - exact) < 2e-16


@pytest.mark.parametrize(("n", "p"), [*LARGE, (20, 0.5), (60, 0.2), (1000, 0.011), (10**15, 1e-12)])
def test_chances_keep_their_digits(n: int, p: float) -> None:
    """To 9 standard deviations on either side, and at both ends of small laws."""
    mean, rest = exact_product(float(n), p)
    spread = math.sqrt(n * p * (1 - p))
    offsets = [0, 1, -1] + [round(z * spread) for z in (-9, -4, -1.5, -0.3, 0.1, 1, 3, 9)]
    for k in {min(max(int(mean) + offset, 0), n) for offset in offsets}:
        value = log_chance(float(k), float(n), mean, (k - mean) - rest)
        exact = exact_log_chance(k, n, p)
        assert abs(value - exact) < 5e-15 * (1 + abs(exact)), k


class Script:
    """Hands out numbers as a generator would, and says when it has no more."""

    def __init__(self, *numbers: float) -> None:
        self.numbers: Iterator[float] = iter(numbers)

    def random(self) -> float:
        return next(self.numbers)


def decision(n: int, p: float, *numbers: float) -> int | None:
    """Return what is drawn in a trial with these uniform numbers; None if it is rejected."""
    try:
        return draw_binomial(n, p, Script(*numbers))
    except StopIteration:
        return None


class Asked:
    """Hands out two numbers, and counts how many more are asked for."""

    def begin(self, first: float, second: float) -> Asked:
        self.numbers, self.more = [first, second], 0
        return self

    def random(self) -> float:
        if self.numbers:
            return self.numbers.pop(0)
        self.more += 1
        return 0.5


class Exact:
    """One trial in exact arithmetic, from Hörmann's constants."""

    def __init__(self, n: int, p: float) -> None:
        self.n, self.p = n, p
        with mpmath.workdps(60):
            mean = mpf(n) * mpf(p)
            self.near = int(mpmath.floor(mean))
            self.c = math.floor(1024 * float(mean - self.near)) / 1024 + 0.5
        spread = math.sqrt(n * p * (1 - p))
        self.b = 1.15 + 2.53 * spread
        self.a = -0.0873 + 0.0248 * self.b + 0.01 * p
        self.scale = (2.83 + 5.1 / self.b) * spread

    def transformed(self, u: Any) -> Any:
        return (2 * mpf(self.a) / (0.5 - abs(u)) + mpf(self.b)) * u + mpf(self.c)

    def limit(self, u: float, k: int) -> Any:
        """Return up to where V is accepted."""
        slope = mpf(self.a) / (0.5 - abs(mpf(u))) ** 2 + mpf(self.b)
        return slope * mpmath.exp(exact_log_chance(k, self.n, self.p)) / mpf(self.scale)


@pytest.mark.parametrize(("n", "p"), [*LARGE, (10**15, 1e-12)])
def test_decisions_are_those_of_exact_arithmetic(n: int, p: float) -> None:
    """V a relative 1e-14 below the limit is accepted, and as much above it is not. Seed 4."""
    exact, generator = Exact(n, p), np.random.default_rng(4)
    tested = 0
    for _ in range(100):
        first, more = generator.random(2)
        with mpmath.workdps(60):
            whole = int(mpmath.floor(exact.transformed(mpf(first) - 0.5 + mpf(more) * CELL)))
            k = exact.near + whole
            limit = exact.limit(first - 0.5, k) if 0 <= k <= n else mpf(0)
            below, above = float(limit * (1 - mpf("1e-14"))), float(limit * (1 + mpf("1e-14")))
        if 1e-12 < limit < 1:
            assert decision(n, p, first, below, more) == k
            assert decision(n, p, first, above, more) is None
            tested += 1
    assert tested > 80


@pytest.mark.parametrize(("n", "p"), [*LARGE, (10**15, 1e-12)])
def test_whole_numbers_are_told_apart_within_a_cell(n: int, p: float) -> None:
    """Where a cell of U holds a whole number of T, the digits that follow decide."""
    exact = Exact(n, p)
    for z in (-1.7, -0.6, 0.01, 0.8, 1.8):
        whole = round(z * math.sqrt(n * p))
        with mpmath.workdps(60):
            root = mpmath.findroot(
                lambda u, whole=whole: exact.transformed(u) - whole, (mpf(-0.46), mpf(0.46)),
                solver="anderson", tol=1e-80, maxsteps=200,
            )  # fmt: skip
            first = mpmath.floor((root + mpf(0.5)) / CELL)
            place = float((root + mpf(0.5)) / CELL - first)
        for more, expected in ((place - 1e-6, whole - 1), (place + 1e-6, whole)):
            if 0 < more < 1:
                found = decision(n, p, float(first * CELL), 0.3, more)
                assert found == exact.near + expected


@pytest.mark.parametrize(
    ("n", "p"),
    [(19, 0.5), (2, 0.3), (900, 0.011), (10**12, 9.9e-12), (2**53, 1e-15), *SMALL],
)
def test_inversion_is_that_of_exact_arithmetic(n: int, p: float) -> None:
    """Where U's value changes is found by halving: that law is within 1e-14 of the exact one."""
    ends, most = [0], min(n, 60)
    for k in range(most + 1):
        low, high = ends[-1], 2**53  # U = low·2^−53 gives k or more, and so does all above it
        while low < high:
            middle = (low + high) // 2
            found = decision(n, p, middle * CELL)
            if found is None or found > k:
                high = middle
            else:
                low = middle + 1
        ends.append(low)
    assert 2**53 - ends[-1] < 50  # the rest is drawn anew
    with mpmath.workdps(40):
        exact = [
            mpmath.binomial(n, each) * mpf(p) ** each * (1 - mpf(p)) ** (n - each)
            for each in range(most + 1)
        ]
        apart = sum(
            abs(a - mpf(b) * CELL) for a, b in zip(exact, np.diff(ends).tolist(), strict=True)
        )
        assert apart / 2 + (1 - sum(exact)) / 2 < 1e-14


def test_the_rest_of_artanh_has_all_digits() -> None:
    for v in (1e-9, 3e-5, 5e-4, 9.99e-4, 1.01e-3, 0.004, 0.03, 0.07, 0.1):
        with mpmath.workdps(60):
            exact = mpmath.atanh(mpf(v)) / mpf(v) - 1
        for sign in (1, -1):
            assert artanh_rest(sign * v) == pytest.approx(float(exact), rel=4e-16, abs=0)


@pytest.mark.parametrize(("n", "p"), [(20, 0.5), (25, 0.4), (31, 0.35)])
def test_all_numbers_may_be_drawn_and_no_others(n: int, p: float) -> None:
    """U so that T is in the middle between two whole numbers, from below 0 to above n."""
    exact = Exact(n, p)
    for k in range(-3, n + 4):
        with mpmath.workdps(60):
            target = k - exact.near + mpf(1) / 2
            low, high = mpf("-0.499999"), mpf("0.499999")
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if exact.transformed(middle) < target else (low, middle)
            u = float(low)
            limit = float(exact.limit(u, k)) if 0 <= k <= n else 1e-300
        first = (u + 0.5) // CELL * CELL
        below, above = limit * (1 - 1e-9), limit * (1 + 1e-9)
        assert decision(n, p, first, below) == (k if 0 <= k <= n else None)
        assert decision(n, p, first, above) is None
    # At U = −½, where T is infinite, the trial is repeated.
    assert decision(n, p, 0.0, 0.999, 0.5, 1e-9) == exact.near + math.floor(exact.c)
    assert decision(n, p, 0.0, 0.999) is None


@pytest.mark.parametrize(("n", "p"), [(10**6, 0.5), (10**9, 1e-3), (10**12, 0.5), (10**12, 1e-6)])
def test_more_digits_are_drawn_within_eight_cells_of_a_whole_number(n: int, p: float) -> None:
    """And nowhere else: the numbers that a seed draws are kept for years.

    Where V is accepted unseen the steps of T count as the longest ones; else as they are at U.
    """
    exact = Exact(n, p)
    for z in (-1.5, -0.6, 0.01, 0.8, 1.7):
        whole = round(z * math.sqrt(n * p * (1 - p)))
        unseen = 0.92 - 4.2 / exact.b  # up to there; a little above it V is accepted, too
        for v, steepest in ((1e-9, 204.1 * exact.a + exact.b), (unseen + 0.001, None)):
            with mpmath.workdps(60):
                root = mpmath.findroot(
                    lambda u, whole=whole: exact.transformed(u) - whole, (mpf(-0.46), mpf(0.46)),
                    solver="anderson", tol=1e-80, maxsteps=200,
                )  # fmt: skip
                middle = int(mpmath.floor((root + mpf(0.5)) / CELL))
            for step in range(-120, 121):
                u = (middle + step) * CELL - 0.5
                with mpmath.workdps(60):
                    away = float(abs(exact.transformed(mpf(u)) - whole))
                slope = steepest or exact.a / (0.5 - abs(u)) ** 2 + exact.b
                margin = 8 * slope * CELL
                if abs(away - margin) < 4 * math.ulp(abs(whole) + 1.0):
                    continue  # T is rounded
                asked = Asked()
                draw_binomial(n, p, asked.begin(u + 0.5, v))
                assert (asked.more > 0) == (away < margin), (z, v, step)


def test_the_hat_is_above_the_law_and_the_squeeze_below() -> None:
    """V's limit is below 1 everywhere, and above what is accepted unseen where that applies.

    Where the law is large it is the normal's but for terms in 1/σ: the last means are as good as
    infinite. The chances are SciPy's.
    """
    near_edge = np.geomspace(1e-6, 0.1, 500)
    u = np.concatenate([near_edge - 0.5, np.linspace(-0.4, 0.4, 4001), 0.5 - near_edge])
    edge = 0.5 - abs(u)
    means = [*np.linspace(10, 11, 21), *np.geomspace(11, 1e7, 60)]
    for mean in means:
        for p in (0.5, 0.4, 0.2, 0.05, 1e-3):
            n = math.ceil(mean / p)
            if n * p < binomial.FEW:
                n += 1
            exact = Exact(n, p)
            k = exact.near + np.floor((2 * exact.a / edge + exact.b) * u + exact.c)
            root = math.sqrt(2 * math.pi * n * p * (1 - p))
            limit = (exact.a / edge**2 + exact.b) * stats.binom.pmf(k, n, p) * root / exact.scale
            assert limit.max() < 0.997
            assert limit[edge >= 0.07].min() > 0.92 - 4.2 / exact.b + 0.003


@pytest.mark.parametrize("p", [0.5, 0.3, 0.9, 0.02])
@pytest.mark.parametrize("n", [2, 3, 7, 19, 20, 21, 40, 100, 1100])
def test_small_laws(n: int, p: float) -> None:
    """χ² of all values, 200,000 draws, seed 5: 36 tests, each at level 1e-6."""
    draws = drawn(n, p, 200_000, 5)
    expected = stats.binom.pmf(np.arange(n + 1), n, p) * draws.size
    assert chi_square(np.bincount(draws, minlength=n + 1), expected) > 1e-6


def test_laws_without_chance() -> None:
    for n in (0, 1, 5, 2**53):
        assert set(drawn(n, 0.0, 5, 6)) == {0}
        assert set(drawn(n, 1.0, 5, 6)) == {n}
    assert set(drawn(2**53, 1e-300, 5, 6)) == {0}


@pytest.mark.parametrize("n", [*SIZES, 10**15])
@pytest.mark.parametrize("p", [*CHANCES, 1 - 1e-3])
def test_large_laws(n: int, p: float) -> None:
    """A million draws, seed 7: four moments, each within 5 standard errors, and a K-S test.

    30 laws at most: a false alarm in one of 15,000 such suites by the moments, of 30,000 by K-S.
    """
    draws = drawn(n, p, 10**6, 7)
    if n * p < 0.1:  # hardly ever anything but 0
        expected = stats.poisson.pmf(np.arange(3), n * p) * draws.size
        assert chi_square(np.bincount(draws, minlength=3)[:3], expected) > 1e-6
        return
    variance = n * p * (1 - p)
    mean, rest = exact_product(float(n), p)
    z = (draws - int(mean) - ((mean - int(mean)) + rest)) / math.sqrt(variance)
    moments = [0, 1, (1 - 2 * p) / math.sqrt(variance), 3 + (1 - 6 * p * (1 - p)) / variance]
    sample = np.ones(draws.size)
    for power, moment in enumerate(moments, 1):
        sample *= z
        assert abs(sample.mean() - moment) < 5 * sample.std() / 1000, power
    draws.sort()
    values = np.unique(draws[np.linspace(0, draws.size - 1, 2001).astype(int)])
    seen = np.searchsorted(draws, values, side="right") / draws.size
    distance = np.abs(seen - stats.binom.cdf(values, n, p)).max()
    assert special.kolmogorov(1000 * distance) > 1e-6


def test_scipys_distribution_function_is_good_enough() -> None:
    """It is the yardstick above: at 2^53 against the integral of the Beta law, with 40 digits."""
    n, p = 2**53, 0.5
    for z in (-2, 0.3):
        k = round(n * p + z * math.sqrt(n) / 2)
        with mpmath.workdps(40):
            a, b = mpf(k + 1), mpf(n - k)
            scale = mpmath.loggamma(a + b) - mpmath.loggamma(a) - mpmath.loggamma(b)
            ends = [p + 4 * i / mpf(2) ** 27.5 for i in range(7)]
            exact = mpmath.quad(
                lambda t, a=a, b=b, scale=scale: mpmath.exp(
                    scale + (a - 1) * mpmath.log(t) + (b - 1) * mpmath.log(1 - t)
                ),
                ends,
            )
        assert abs(stats.binom.cdf(k, n, p) - exact) < 1e-8


def test_chances_too_small_to_be_taken_from_one() -> None:
    """1 − 3e-16 is rounded by a tenth of 3e-16. χ² against Poisson, seed 8, level 1e-6."""
    n, p = 2**53, 3e-16
    draws = drawn(n, p, 200_000, 8)
    expected = stats.poisson.pmf(np.arange(draws.max() + 1), n * p) * draws.size
    assert chi_square(np.bincount(draws), expected * draws.size / expected.sum()) > 1e-6
