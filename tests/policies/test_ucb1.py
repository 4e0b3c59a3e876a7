"""UCB1's index and its stability check, which is its own. Its decisions: `test_init`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from moments import Make, Moment, assert_certain_as, moments, normal_problem, planned, small_problem

from fpbandits import UCB1, Agent, Problem
from fpbandits.engine.contract import CLOCK
from fpbandits.policies.ucb1 import largest_index


@pytest.mark.parametrize("make", [small_problem, normal_problem])
def test_it_is_certain_while_no_index_can_reach_the_leaders_lowest(make: Make) -> None:
    """The leader's is at least what its lowest sum after j plays and the present t make of it."""

    def leads(one: Moment, more: int, by: float) -> bool:
        leader, n = one.cycle[0], one.state.plays
        plays, lowest, _ = one.sums_ahead(leader, more)
        plays = n[leader] + plays
        least = (one.state.sums[leader] + lowest) / plays + np.sqrt(2 * math.log(one.t) / plays)
        others = one.seen + np.sqrt(2 * math.log(one.t + more) / n)
        return bool((np.delete(others, leader) < least.min() + by).all())

    assert_certain_as(leads, moments(UCB1(), 150, make))


def test_every_arm_is_played_once_and_then_that_of_the_largest_index() -> None:
    policy, problem = UCB1(), Problem.bernoulli([[0.5, 0.4, 0.3]])
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    workspace = policy.workspace(prepared, 3)
    assert planned(policy, prepared, state, workspace, None, 100) == (3, 1)
    assert workspace.cycle.tolist() == [0, 1, 2]
    # √(2 ln 12) = 2.2293: indices .25 + .7882, 0 + 2.2293, 1 + 1.5764.
    state.plays[:], state.sums[:], state.counters[CLOCK] = [8, 1, 2], [2, 0, 2], 12
    assert largest_index(state, workspace.cycle, 2 * math.log(12)) == pytest.approx(2.57637, 1e-5)
    assert workspace.cycle[0] == 2
    eligible = np.array([True, True, False])
    assert largest_index(state, workspace.cycle, 2 * math.log(12), eligible) == pytest.approx(
        2.22932, 1e-5
    )
    assert workspace.cycle[0] == 1
    state.plays[1] = 0
    assert largest_index(state, workspace.cycle, 1.0) == math.inf
    assert workspace.cycle[0] == 1


def test_why_gives_the_index_in_the_users_units() -> None:
    problem = Problem.bernoulli([[12, 14]], range=(10, 20))
    agent = Agent(problem, UCB1())
    for arm, reward in (("arm1", 20), ("arm1", 10), ("arm1", 20), ("arm2", 10)):
        agent.observe(arm, reward)
    why = agent.why()
    assert why.arm == "arm2"
    width = math.sqrt(2 * math.log(4))
    assert [numbers["index"] for numbers in why.arms.values()] == pytest.approx(
        [10 + 10 * (2 / 3 + width / math.sqrt(3)), 10 + 10 * width]
    )
