"""How ATA divides its exploration."""

from __future__ import annotations

import numpy as np

from fpbandits import ATA, Problem


def test_where_nothing_must_be_lost_the_other_arms_are_explored_in_equal_shares() -> None:
    # Under either model its best arm tells the two apart, so the lower bound's rates are all 0.
    problem = Problem.bernoulli([[0.9, 0.5, 0.1], [0.4, 0.5, 0.8]])
    shares = ATA().prepare(problem).rates.over_a
    np.testing.assert_array_equal(shares, [[0, 0.5, 0.5], [0.5, 0.5, 0]])
    two = Problem.bernoulli([[0.9, 0.5], [0.4, 0.5]])
    np.testing.assert_array_equal(ATA().prepare(two).rates.over_a, [[0, 1], [1, 0]])


def test_shares_add_up_to_1() -> None:
    problem = Problem.bernoulli([[0.9, 0.5, 0.1], [0.9, 0.95, 0.1], [0.9, 0.3, 0.97]])
    shares = ATA().prepare(problem).rates.over_a
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares[0, 0] == 0
    assert (shares[0, 1:] > 0).all()
