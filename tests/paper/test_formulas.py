"""Numbers, computed once more in the plainest way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from fpbandits import Problem
from fpbandits.paper import formulas
from fpbandits.paper.formulas import compute_numbers
from fpbandits.theory.bounds import separation


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    return compute_numbers()


def test_numbers_by_brute_force(found: dict[str, float]) -> None:
    # By the formula of Euler and Maclaurin, the rest from 200,000 on is an integral, that of
    # x^(7/2)/(x − 1)⁵ = x^(−3/2) + 5 x^(−5/2) + …, plus half a term.
    N = 200_000
    series = math.fsum(k**3.5 / (k - 1) ** 5 for k in range(4, N))
    rest = 2 * N**-0.5 + 10 / 3 * N**-1.5 + N**3.5 / (N - 1) ** 5 / 2
    assert found["lemma 2: step (b)"] == pytest.approx(series + rest, rel=1e-12)
    assert found["lemma 2: step (a)"] == pytest.approx(0.04 * 90_001**0.5 - 12, rel=1e-9)
    assert found["lemma 1: least β − Δ"] == pytest.approx(0.05)
    # √(3 ln 60/60) is .452464…
    assert found["margin of θ°"] == pytest.approx(0.452457 - 0.5, abs=1e-6)
    assert found["margin of a stand-in"] == pytest.approx(0.452457 - 0.1, abs=1e-6)
    assert found["Σ 2 k⁻⁵"] == pytest.approx(2 * math.fsum(k**-5 for k in range(1, 3000)))


def test_the_sum_of_k_is_added_up_to_1e5(found: dict[str, float]) -> None:
    """2|A| k/(k − ⌈12 ln k/α²⌉)⁵ from the first k above ⌈300 ln k⌉, at α = .2 and |A| = 4."""
    terms = [
        8 * k / (k - math.ceil(300 * math.log(k))) ** 5
        for k in range(2327, 10**5)
        if k > math.ceil(300 * math.log(k))
    ]
    assert len(terms) == 10**5 - 2327
    assert found["K at α = .2, to 1e5"] == pytest.approx(math.fsum(terms), rel=1e-12)
    assert found["K at α = .2"] == pytest.approx(math.fsum(terms), rel=1e-9)


def test_k_is_3_from_which_alpha_on(found: dict[str, float]) -> None:
    """k > ⌈12 ln k/α²⌉: for k = 3, where 12 ln 3/α² is at most 2."""
    threshold = 2 * (3 / math.e) ** 0.5
    assert found["2√(3/e)"] == pytest.approx(threshold)
    assert [math.ceil(12 * math.log(k) / threshold**2) for k in (3, 4, 5)] == [3, 4, 5]
    assert math.ceil(12 * math.log(6) / threshold**2) == 5
    assert found["k just above 2√(3/e)"] == 6
    first = found["first α with k = 3"]
    assert formulas._first_episode(first * (1 + 1e-9)) == 3
    assert formulas._first_episode(first * (1 - 1e-9)) == 4
    assert formulas._first_episode(0.2) == 2327


def test_lemma_2_is_compared_on_a_grid(found: dict[str, float]) -> None:
    """Every α = .010, .011, … 1 and |A| = 2, 4, 16, one by one."""
    shares = []
    for candidates in (2, 4, 16):
        for alpha in range(10, 1001):
            times = separation(np.array([alpha / 1000]), candidates)
            shares.append(float(times.episodes[0] / times.lemma2_printed[0]))
    assert found["lemma 2: largest share of the bound"] == pytest.approx(max(shares), rel=1e-3)
    assert found["lemma 2: least share of the bound"] == pytest.approx(min(shares), rel=1e-3)


def test_lemma_1_is_tried_on_sets_of_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 sets of up to 11 models and 2 to 5 arms, means in twentieths, best arms unique."""
    tried: list[Problem] = []

    class Recorded:
        def __init__(self, problem: Problem) -> None:
            tried.append(problem)

        def gaps(self, truth: int) -> Any:
            return np.array([0.0, 0.25])

        def betas(self, truth: int) -> dict[int, float]:
            # The least is that of the last model of the largest sets.
            return {1: 1.0 - len(tried[-1].models) / 100 - truth / 1000}

    monkeypatch.setattr(formulas, "Structure", Recorded)
    assert formulas._least_beta_less_gap() == pytest.approx(1 - 0.11 - 0.010 - 0.25)
    assert 1_900 < len(tried) < 2_000, "a set whose models all have ties is left out"
    assert {len(problem.arms) for problem in tried} == {2, 3, 4, 5}
    assert {len(problem.models) for problem in tried} == set(range(1, 12))
    means = [problem.means * 20 for problem in tried]
    assert all(np.allclose(table, table.round()) for table in means)
    assert {round(value) for table in means for value in table.flat} == set(range(1, 20))
    for table in means:
        ordered = np.sort(table, axis=1)
        assert (ordered[:, -1] > ordered[:, -2] + 0.5).all()
        assert len({tuple(row) for row in table.round().tolist()}) == len(table)
