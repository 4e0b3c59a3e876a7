"""The definitions on examples small enough to do by hand."""

from __future__ import annotations

import numpy as np

from fpbandits import Problem
from fpbandits.theory.structure import Structure

#            a    b    c    d
MEANS = [
    [0.5, 0.4, 0.3, 0.1],  # 0: the truth; a is best
    [0.5, 0.8, 0.3, 0.1],  # 1: b is best, a looks the same: confused
    [0.5, 0.6, 0.3, 0.1],  # 2: the same, nearer on b
    [0.5, 0.5, 0.3, 0.1],  # 3: a and b tie, and a is first
    [0.2, 0.1, 0.9, 0.1],  # 4: c is best, a differs by 0.3
    [0.9, 0.4, 0.3, 0.1],  # 5: a is best
]


def test_definitions_by_hand() -> None:
    structure = Structure(Problem.bernoulli(MEANS))
    assert structure.best_arm.tolist() == [0, 1, 1, 0, 2, 0]
    assert structure.ties.tolist() == [3]
    assert structure.best_arms[3].tolist() == [True, True, False, False]
    assert structure.candidate_arms.tolist() == [0, 1, 2]
    assert structure.confusion_set(0).tolist() == [1, 2]
    assert structure.separable(0).tolist() == [4]
    assert structure.confusing_arms(0).tolist() == [1]
    np.testing.assert_allclose(structure.gaps(0), [0, 0.1, 0.2, 0.4])
    assert list(structure.betas(0)) == [1]
    np.testing.assert_allclose(structure.betas(0)[1], 0.2)
    np.testing.assert_allclose(structure.alphas(0), [0, 0, 0, 0, 0.3, 0.4], atol=1e-15)


def test_a_tie_confuses_without_forcing() -> None:
    """Under 1 the best arm is b; 0 has the same mean on b, prefers a by its order alone."""
    structure = Structure(Problem.bernoulli([[0.5, 0.5], [0.2, 0.5], [0.7, 0.5]]))
    assert structure.confusion_set(1).tolist() == [0, 2]
    assert structure.must_explore(1).tolist() == [2]


def test_another_law_of_equal_mean_forces_nothing() -> None:
    surely_half, fair_coin = [0.0, 1.0, 0.0], [0.5, 0.0, 0.5]
    low, high = [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]
    laws = [[surely_half, low], [fair_coin, high], [surely_half, high]]
    structure = Structure(Problem.discrete(laws, support=[0, 0.5, 1]))
    assert structure.confusion_set(0).tolist() == [1, 2]
    assert structure.must_explore(0).tolist() == [2]
