"""How ATA divides its exploration, and its stability check. Its decisions: `test_init`."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest
from moments import Make, Moment, assert_certain_as, moments, normal_problem, planned, small_problem
from reference import Known, Rates

from fpbandits import ATA, Problem
from fpbandits.engine.contract import CLOCK
from fpbandits.policies.shared.likelihood import bracket, stays_best


@lru_cache
def rates(problem: Problem) -> Rates:
    return Known(problem).rates


@pytest.mark.parametrize("make", [small_problem, normal_problem])
@pytest.mark.parametrize("c", [1.0, 0.2])
def test_it_is_certain_while_no_rival_can_come_near(c: float, make: Make) -> None:
    """θ̂ stays the model that fits best, and Λ is above ln(c·t) of the last play."""

    def stays(one: Moment, more: int, by: float) -> bool:
        theta, fit = one.prepared.theta, one.workspace.fit
        bracket(theta, one.envelope, fit, np.array(one.cycle), 1, more)
        rivals, _ = rates(one.problem)[int(fit.reference[0])]
        ratio = min((fit.lowest[rival] for rival in rivals), default=math.inf)
        certain = stays_best(theta, fit, -1)
        return bool(certain and ratio + by > math.log(c * (one.t + more + 1)))

    def follows(one: Moment) -> bool:
        """Whether its arm is that of the model that fits best."""
        return bool(one.cycle[0] == one.prepared.theta.best[0, one.workspace.fit.reference[0]])

    assert_certain_as(stays, filter(follows, moments(ATA(c=c), 60, make)))


def test_arms_are_drawn_in_proportion_to_their_shares() -> None:
    """Until a rival is 1 unlikelier than ln(c·t): here θ̂ looks like its rival on its own arm."""
    problem = Problem.bernoulli([[0.9, 0.5, 0.1], [0.9, 0.95, 0.1], [0.9, 0.3, 0.97]])
    first, second, third = ATA().prepare(problem).rates.plays[0]
    assert first == 0

    class Draws:
        def __init__(self, number: float) -> None:
            self.number = number

        def random(self) -> float:
            return self.number

    policy = ATA()
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    workspace = policy.workspace(prepared, 3)

    def plan(draw: float) -> int:
        stream: object = Draws(draw)
        assert planned(policy, prepared, state, workspace, None, 9, stream) == (1, 1)  # type: ignore[arg-type]
        return int(workspace.cycle[0])

    assert [plan(draw) for draw in (0.0, second - 1e-9, second + 1e-9)] == [1, 1, 2]
    assert plan(second + third) == 2, "where rounding leaves nothing below the draw"
    for plays, arm in ((1, 1), (3, 0)):
        # Of the second arm 0: Λ = n·ln(.5/.05) = 2.30 n against ln 11.
        state.plays[:], state.sums[:], state.counters[CLOCK] = [4, plays, 3], 0, 10
        state.sums[0] = 3.6
        assert plan(0.0) == arm


def test_where_nothing_must_be_lost_the_other_arms_are_explored_in_equal_shares() -> None:
    # Under either model its best arm tells the two apart, so the lower bound's rates are all 0.
    problem = Problem.bernoulli([[0.9, 0.5, 0.1], [0.4, 0.5, 0.8]])
    shares = ATA().prepare(problem).rates.plays
    np.testing.assert_array_equal(shares, [[0, 0.5, 0.5], [0.5, 0.5, 0]])
    two = Problem.bernoulli([[0.9, 0.5], [0.4, 0.5]])
    np.testing.assert_array_equal(ATA().prepare(two).rates.plays, [[0, 1], [1, 0]])


def test_shares_add_up_to_1() -> None:
    problem = Problem.bernoulli([[0.9, 0.5, 0.1], [0.9, 0.95, 0.1], [0.9, 0.3, 0.97]])
    shares = ATA().prepare(problem).rates.plays
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares[0, 0] == 0
    assert (shares[0, 1:] > 0).all()
