"""The floor by pairs lies below the exact one, and above each way of naming pairs by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.theory import pairs
from fpbandits.theory.floor import floor
from fpbandits.theory.pairs import costly_pairs, floor_by_pairs


def three(seed: int) -> fpb.Problem:
    random = np.random.default_rng(seed)
    prior = {f"theta{k}": float(random.uniform(0.2, 1)) for k in (1, 2, 3)}
    return fpb.Problem.bernoulli(random.uniform(0.1, 0.9, (3, 2)), prior=prior)


@pytest.mark.parametrize("seed", range(6))
def test_below_the_exact_floor(seed: int) -> None:
    problem = three(seed)
    times = [5, 20, 60]
    exact = [floor(problem, time).value for time in times]
    found = floor_by_pairs(problem, times)
    assert (found <= np.array(exact) + 1e-9).all()
    assert (np.diff(found) >= -1e-9).all()


def test_above_any_pair_named_with_all_that_is_left() -> None:
    """Name a pair with probability π(θ) + π(φ), else the truth itself."""
    problem = three(3)
    (found,) = floor_by_pairs(problem, [300])
    prior = np.array(problem.prior)
    for pair in combinations(range(3), 2):
        share = prior[list(pair)].sum()
        weights = dict(zip(("theta1", "theta2"), prior[list(pair)] / share, strict=True))
        alone = fpb.Problem.bernoulli(problem.means[list(pair)], prior=weights)
        assert found >= share * floor(alone, 300).value * (1 - 0.02)


def test_two_models_are_one_pair() -> None:
    two = fpb.Problem.bernoulli([[0.5, 0.3], [0.5, 0.6]], prior={"theta1": 2})
    assert floor_by_pairs(two, [400])[0] == pytest.approx(floor(two, 400).value, rel=0.01)


def test_models_that_share_a_best_arm_make_no_pair() -> None:
    problem = fpb.Problem.bernoulli([[0.5, 0.3], [0.7, 0.6], [0.2, 0.4]])
    assert costly_pairs(problem).tolist() == [[0, 2], [1, 2]]
    assert floor_by_pairs(fpb.Problem.bernoulli([[0.5, 0.3], [0.7, 0.6]]), [9]).tolist() == [0]


def test_of_many_pairs_the_costliest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    means = [[0.5, 0.49], [0.5, 0.51], [0.5, 0.9]]
    problem = fpb.Problem.bernoulli(means)
    monkeypatch.setattr(pairs, "_MOST_PAIRS", 1)
    # To tell the first from the second takes a hundred times as many plays as from the third.
    assert costly_pairs(problem).tolist() == [[0, 1]]
