"""OSSB: what it explores, and its stability check. Its decisions: `test_init`."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest
from moments import Make, Moment, assert_certain_as, moments, normal_problem, planned, small_problem
from reference import Known, Rates

from fpbandits import OSSB, Problem
from fpbandits.engine.contract import CLOCK, OWN
from fpbandits.policies.shared.likelihood import bracket, stays_best


@lru_cache
def rates(problem: Problem) -> Rates:
    return Known(problem).rates_over_all


@pytest.mark.parametrize("make", [small_problem, normal_problem])
@pytest.mark.parametrize("gamma", [0.0, 2.0])
def test_it_is_certain_while_all_is_explored_and_the_estimate_stays(
    gamma: float, make: Make
) -> None:
    policy = OSSB(gamma=gamma)

    def explored(one: Moment, t: int, by: float) -> bool:
        hat = int(one.workspace.fit.reference[0])
        _, needed = rates(one.problem)[hat]
        best = one.prepared.theta.best[0, hat]
        return all(
            n * (1 + by) >= (1 + gamma) * rate * math.log(t)
            for arm, (n, rate) in enumerate(zip(one.state.plays, needed, strict=True))
            if arm != best
        )

    def stays(one: Moment, more: int, by: float) -> bool:
        theta, fit = one.prepared.theta, one.workspace.fit
        bracket(theta, one.envelope, fit, np.array(one.cycle), 1, more)
        return explored(one, one.t + more + 1, by) and stays_best(theta, fit, -1)

    found = moments(policy, 60, make)
    assert_certain_as(stays, (one for one in found if explored(one, one.t + 1, 0)))


def test_what_it_explores() -> None:
    """The least played arm at least ε·s times, then the one that lags behind its rate most."""
    problem = Problem.bernoulli(
        [[0.9, 0.5, 0.5, 0.1], [0.9, 0.95, 0.5, 0.1], [0.9, 0.5, 0.97, 0.1]]
    )
    policy = OSSB(epsilon=0.5)
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    workspace = policy.workspace(prepared, 4)
    rate = prepared.rates.plays[0]
    assert rate[0] == rate[3] == 0
    assert rate[1] > rate[2] > 0

    def plan(plays: list[int], explorations: int, clock: int = 10**6) -> tuple[int, int]:
        state.plays[:], state.counters[CLOCK], state.counters[OWN] = plays, clock, explorations
        state.sums[:] = state.plays * [0.9, 0.5, 0.5, 0.1]
        assert planned(policy, prepared, state, workspace, None, 9) == (1, 1)
        return int(workspace.cycle[0]), int(state.counters[OWN])

    needed = rate * math.log(10**6 + 1)
    enough = np.ceil(needed).astype(int).tolist()
    assert plan([100, enough[1], enough[2], 0], 7) == (0, 7)
    assert plan([100, enough[1] - 1, enough[2], 3], 4) == (1, 5)  # 3 > .5·5
    assert plan([100, enough[1] - 1, enough[2], 3], 5) == (3, 6)  # 3 is .5·6
    assert plan([100, enough[1], enough[2] - 1, 50], 0) == (2, 1)
    # At t = 10^15 rates of 1.204 and .930 ask for 41.6 and 32.1 plays.
    assert plan([100, 30, 29, 30], 57, 10**15) == (2, 58)
    assert plan([100, 29, 29, 29], 57, 10**15) == (1, 58)
    assert plan([100, 30, 30, 30], 57, 10**15) == (1, 58)
    assert plan([100, 40, 30, 35], 0, 10**15) == (2, 1)
    assert plan([100, 42, 33, 35], 0, 10**15) == (0, 0)
