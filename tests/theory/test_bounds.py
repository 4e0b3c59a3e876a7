"""k_i, K_i and Lemma 2 over the whole range of α, in arithmetic of its own."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from oracle import K_of, k_of

from fpbandits.theory.bounds import separation

reproducible = settings(max_examples=200, deadline=None, derandomize=True, database=None)


@pytest.mark.parametrize(
    ("alpha", "k"), [(1, 48), (0.7, 118), (0.5, 270), (0.4, 462), (0.3, 910), (0.2, 2327)]
)
def test_k_at_round_distances(alpha: float, k: int) -> None:
    assert separation(np.array([alpha]), 2).k == [k]
    assert k_of(alpha) == k


@reproducible
@given(st.floats(0.02, 1))
@example(1.0)
@example(0.6 - 0.4)
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


def test_many_distances_at_once_are_each_on_their_own() -> None:
    """More distances than a chunk holds, in any order, with repeats."""
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
