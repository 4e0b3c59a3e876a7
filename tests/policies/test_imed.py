"""IMED's index and its stability check. Its decisions: `test_init`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from moments import Make, Moment, assert_certain_as, moments, normal_problem, small_problem
from reference import kl

from fpbandits import IMED, Agent, Problem
from fpbandits.engine.contract import State
from fpbandits.policies.imed import imed_holds, imed_plan


def divergence(one: Moment, p: float, q: float) -> float:
    return kl(p, q) if one.problem.rewards.bounded else 2 * (p - q) ** 2


@pytest.mark.parametrize("make", [small_problem, normal_problem])
def test_it_is_certain_while_the_leaders_index_is_surely_the_smallest(make: Make) -> None:
    def leads(one: Moment, more: int, by: float) -> bool:
        leader, n = one.cycle[0], one.state.plays
        low, _ = one.mean_ahead(leader, more)
        return all(
            mean < low + by
            and math.log(n[leader] + more)
            < math.log(n[arm]) + n[arm] * divergence(one, mean, low) + by
            for arm, mean in enumerate(one.seen)
            if arm != leader
        )

    # Where it explores, the arm is not the one of the largest mean: there it is sure of nothing.
    found = (one for one in moments(IMED(), 200, make) if one.cycle[0] == one.seen.argmax())
    assert_certain_as(leads, found)


def test_only_the_leader_may_be_played_again() -> None:
    """Of means .6, .5 and .5, indices ln 100, ln n + n·kl(.5, .6); ln 100 = 4.605."""
    cycle = np.zeros(3, np.int64)

    def plan(*plays: int, eligible: list[bool] | None = None) -> tuple[bool, int]:
        state = State(np.array(plays), np.array(plays) * [0.6, 0.5, 0.5], np.zeros(5, np.int64))
        marks = None if eligible is None else np.array(eligible)
        return imed_plan(state, cycle, False, marks), int(cycle[0])

    # kl(.5, .6) = .020411: n = 60 has 4.0943 + 1.2247 = 5.319, n = 50 has 3.912 + 1.0206 = 4.933.
    assert plan(100, 60, 60) == (True, 0)
    assert plan(100, 60, 40) == (False, 2)  # 3.689 + .816 = 4.505
    assert plan(100, 40, 40) == (False, 1)
    assert plan(100, 0, 0) == (False, 1)
    assert plan(100, 40, 0, eligible=[True, True, False]) == (False, 1)
    assert plan(100, 0, 60, eligible=[True, False, True]) == (True, 0)
    assert plan(5, 60, 60, eligible=[False, True, True]) == (True, 1)


def test_indices_count_as_equal_within_a_billionth() -> None:
    """Of equals the first is played; that of the leader, arm 2, is ln 100."""
    cycle = np.zeros(2, np.int64)
    for by, arm in ((0.5e-9, 0), (-0.5e-9, 0), (-2e-9, 0), (2e-9, 1)):
        # The first arm has one play, and ln 1 + kl(0, q) = −ln(1 − q) is to be ln 100 + by.
        q = 1 - math.exp(-by) / 100
        state = State(np.array([1, 100]), np.array([0.0, 100 * q]), np.zeros(5, np.int64))
        imed_plan(state, cycle, False)
        assert cycle[0] == arm, by


def test_a_tie_of_means_is_no_lead() -> None:
    """With no more plays to come, an arm of the same mean and more plays has a larger index."""
    from fpbandits.engine.contract import Envelope

    envelope = Envelope(np.array([0.5, 0.5]), 0.5)
    state = State(np.array([4, 100]), np.array([2.0, 50.0]), np.zeros(5, np.int64))
    assert not imed_holds(state, envelope, 0, False, 1)
    state.sums[1] = 40
    assert imed_holds(state, envelope, 0, False, 1)


def test_why_gives_each_arms_surprise() -> None:
    for problem in (
        Problem.bernoulli([[0.5, 0.5, 0.5]]),
        Problem.gaussian([[0.5, 0.5, 0.5]], 0.5),
    ):
        agent = Agent(problem, IMED())
        assert {n["surprise"] for n in agent.why().arms.values()} == {-math.inf}
        for arm, reward in (("arm1", 1), ("arm1", 0), ("arm2", 1), ("arm2", 1), ("arm2", 0)):
            agent.observe(arm, reward)
        found = [numbers["surprise"] for numbers in agent.why().arms.values()]
        bounded = problem.rewards.bounded
        apart = kl(1 / 2, 2 / 3) if bounded else 2 * (1 / 2 - 2 / 3) ** 2
        assert found == [pytest.approx(math.log(2) + 2 * apart), math.log(3), -math.inf]
