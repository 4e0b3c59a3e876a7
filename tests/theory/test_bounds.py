"""k_i, K_i and Lemma 2 over the whole range of α, in arithmetic of its own."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import K_of, k_of

from fpbandits.theory import bounds
from fpbandits.theory.bounds import separation

reproducible = settings(max_examples=200, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize(
    ("alpha", "k"), [(1, 48), (0.7, 118), (0.5, 270), (0.4, 462), (0.3, 910), (0.2, 2327)]
)
def test_k_at_round_distances(alpha: float, k: int) -> None:
    assert separation(np.array([alpha]), 2).k == [k]
    assert k_of(alpha) == k


@settings(reproducible, max_examples=80)  # loops take their time
@given(st.floats(0.02, 1))
@example(1.0)
@example(0.6 - 0.4)
@example(0.6550455631766782)  # a root of g = 1 one rounding away from a whole number
def test_k_and_K_agree_with_plain_loops(alpha: float) -> None:
    times = separation(np.array([alpha]), 3)
    assert times.k == [k_of(alpha)]
    assert times.K[0] == pytest.approx(K_of(alpha, 3), rel=1e-10)


@reproducible
@given(st.floats(1.1e-12, 1, exclude_max=True))
@example(1e-3)
@example(1e-6)
@example(1.5e-12)
def test_k_meets_its_definition_at_any_distance(alpha: float) -> None:
    """No loop reaches k at α = 1e-6; the definition can still be checked at k and k − 1."""
    (k,) = separation(np.array([alpha]), 2).k
    with localcontext(prec=80):
        c = 12 / Decimal(alpha) ** 2

        def holds(k: int) -> bool:
            return k >= 3 and k > math.ceil(c * Decimal(k).ln())

        assert holds(k)
        assert not holds(k - 1)


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(st.floats(1.1e-12, 0.05))
def test_K_in_long_arithmetic_where_loops_cannot_go(alpha: float) -> None:
    times = separation(np.array([alpha]), 2)
    k = times.k[0]
    with localcontext(prec=80):
        c = 12 / Decimal(alpha) ** 2
        total = sum(
            Decimal(4 * j) / (j - math.ceil(c * Decimal(j).ln())) ** 5 for j in range(k, k + 200)
        )
    # 200 terms leave out about 200⁻⁴/4 of the sum, which is below 2e-10.
    assert float(total) == pytest.approx(times.K[0], rel=1e-9)


def test_the_rest_of_the_sum_is_enclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 32 terms the rest is a few parts in 1e7: the enclosure's middle is far nearer."""
    monkeypatch.setattr(bounds, "_EXACT_TERMS", 32)
    for alpha in (0.05, 0.2, 0.5, 1.0):
        exact = K_of(alpha, 2)
        rest = exact - sum(
            4 * k / (k - math.ceil(12 * math.log(k) / alpha**2)) ** 5
            for k in range(k_of(alpha), k_of(alpha) + 32)
        )
        assert abs(separation(np.array([alpha]), 2).K[0] - exact) < 0.15 * rest


@pytest.mark.parametrize("first", [3.0, 60.0, 5000.0])
@pytest.mark.parametrize("c", [1.0, 2.0, 12.0])
def test_the_rest_is_between_two_integrals(first: float, c: float) -> None:
    """Terms that decrease add up to no less than their integral, and to no more than one added."""
    from scipy.integrate import quad

    n = first + 12 * c
    g = n - c * math.log(n)
    slope = 1 - c / n
    low = quad(lambda x: (n + x) / (g + x) ** 5, 0, np.inf, epsabs=0, epsrel=1e-11)[0]
    high = quad(lambda x: (n + x) / (g - 1 + slope * x) ** 5, 0, np.inf, epsabs=0, epsrel=1e-11)[0]
    high += n / (g - 1) ** 5
    found = bounds._rest(np.array([n]), np.array([g]), np.array([c]))
    assert found[0] == pytest.approx((low + high) / 2, rel=1e-9)
    exact = math.fsum(k / math.floor(k - c * math.log(k)) ** 5 for k in np.arange(n, n + 10**5))
    assert low < exact < high


def test_decimal_arithmetic_is_for_doubts_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a hundred times as long: where floats are exact enough, it is left alone."""
    monkeypatch.setattr(bounds, "_first_exactly", None)
    alphas = [0.55, 0.31, 0.083, 0.0301]
    times = separation(np.array(alphas), 2)
    assert times.k == [k_of(alpha) for alpha in alphas]
    # One rounding away from a whole number, and where k has more digits than g can lose.
    for alpha in (0.6550455631766782, 1e-6):
        with pytest.raises(TypeError):
            separation(np.array([alpha]), 2)


@pytest.mark.parametrize("alpha", [2.5, 2.6, 2.8, 3.0, 3.4, 3.5, 7.0, 400.0])
def test_k_where_models_are_far_apart(alpha: float) -> None:
    """Without a range of rewards α may be above 1; from √(6 ln 3) = 2.567 on k is 3."""
    times = separation(np.array([alpha]), 3)
    assert times.k == [k_of(alpha)] == [3 if alpha > 2.567 else 4]
    assert times.K[0] == pytest.approx(K_of(alpha, 3), rel=1e-10)


@pytest.mark.parametrize("k", [49, 100, 139, 1000, 54321])
def test_k_at_its_jumps(k: int) -> None:
    """At α² = 12 ln k/(k − 1) the definition jumps; a few roundings around it are all exact."""
    center = math.sqrt(12 * math.log(k) / (k - 1))
    for steps in range(-4, 5):
        alpha = center * (1 + steps * 2.0**-53)
        with localcontext(prec=60):
            c = 12 / Decimal(alpha) ** 2
            expected = k if k > math.ceil(c * Decimal(k).ln()) else k + 1
        assert separation(np.array([alpha]), 2).k == [expected]


def test_many_distances_at_once_are_each_on_their_own() -> None:
    """More distances than are computed at once, in any order, with repeats."""
    generator = np.random.default_rng(1)
    alphas = generator.uniform(0.001, 1, 3000)
    alphas = np.concatenate([alphas, alphas[:500]])
    together = separation(alphas, 4)
    for place in (0, 17, 2047, 2048, 2999, 3100, 3499):
        alone = separation(alphas[place : place + 1], 4)
        assert together.k[place] == alone.k[0]
        assert together.K[place] == alone.K[0]
        assert together.lemma2[place] == alone.lemma2[0]
    assert separation(np.array([]), 4).k == []


def test_lemma_2_holds_and_is_loose() -> None:
    alphas = np.concatenate([np.linspace(0.001, 1, 500), [0.2, 0.4, 0.6 - 0.4, 0.5]])
    for candidates in (1, 2, 10):
        times = separation(alphas, candidates)
        assert (times.episodes <= times.lemma2_printed).all()
        assert (times.lemma2_printed <= times.lemma2).all()
    assert (
        separation(np.array([0.2]), 4).lemma2[0] > 1e6 * separation(np.array([0.2]), 4).episodes[0]
    )


@pytest.mark.parametrize("alpha", [0.2, 0.6 - 0.4, 0.4 - 0.2, 1.0])
def test_lemma_2_needs_one_more_at_whole_numbers(alpha: float) -> None:
    """144/α⁴ is 90000 and 144 here, however the subtraction rounds."""
    printed = round(144 / round(alpha, 12) ** 4)
    times = separation(np.array([alpha]), 1)
    for E, value in ((printed, times.lemma2_printed[0]), (printed + 1, times.lemma2[0])):
        assert value == pytest.approx(2 * E * (E + 1) + 4 * alpha**10, rel=1e-14)


def test_lemma_2_as_printed_and_corrected_agree_elsewhere() -> None:
    times = separation(np.array([0.7, 0.3]), 2)
    for alpha, printed, corrected in zip(
        times.alpha, times.lemma2_printed, times.lemma2, strict=True
    ):
        E = math.ceil(144 / alpha**4)
        assert printed == corrected == pytest.approx(2 * (2 * E * (E + 1) + 4 * alpha**10))


@pytest.mark.parametrize("alpha", [3.0, 144**0.25])
def test_lemma_2_begins_at_three(alpha: float) -> None:
    """144/α⁴ is below 3 here: without a range of rewards α may be above 1."""
    times = separation(np.array([alpha]), 1)
    for value in (times.lemma2_printed[0], times.lemma2[0]):
        assert value == pytest.approx(2 * 3 * 4 + 4 * alpha**10, rel=1e-14)
