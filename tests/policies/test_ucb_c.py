"""UCB-C: its misfits, and its stability check. Its decisions: `test_init`."""

from __future__ import annotations

import math

import numpy as np
import pytest
from boxes import fitting
from moments import Moment, assert_certain_as, moments, planned

from fpbandits import UCBC, Agent, Problem
from fpbandits.engine.contract import CLOCK, MISFITS, Envelope


@pytest.mark.parametrize("alpha", [3.0, 0.5])
def test_it_is_certain_while_no_competitive_arm_can_have_a_larger_index(alpha: float) -> None:
    """A model of its own is sure to fit; arms that may be competitive have a smaller index."""

    def stays(one: Moment, more: int, by: float) -> bool:
        played, n = one.cycle[0], one.state.plays
        best = (one.unit_means >= one.unit_means.max(axis=1)[:, None] - 1e-9).argmax(axis=1)
        surely, _ = fitting(one, more, by)
        _, maybe = fitting(one, more, -by)
        low, _ = one.mean_ahead(played, more)
        least = low + math.sqrt(alpha / 2 * math.log(one.t) / (n[played] + more))
        index = one.seen + np.sqrt(alpha / 2 * math.log(one.t + more) / n)
        rivals = set(best[maybe].tolist()) - {played}
        return bool((surely & (best == played)).any()) and all(
            index[arm] < least + by for arm in rivals
        )

    found = (one for one in moments(UCBC(alpha=alpha), 150) if fitting(one, 0, 0)[0].any())
    assert_certain_as(stays, found)


def test_a_rival_that_was_never_played_may_be_next() -> None:
    """Arm 2 is best under a model that fits from √(1.5 ln t/100) = .27 on, t = 130."""
    policy = UCBC()
    for means, expected in (([[0.9, 0.2], [0.63, 0.95]], (1, 24)), ([[0.9, 0.2]], (1, 64))):
        problem = Problem.bernoulli(means)
        prepared, state = policy.prepare(problem), policy.new_state(problem)
        workspace = policy.workspace(prepared, 2)
        state.plays[:], state.sums[:], state.counters[CLOCK] = [100, 0], [90, 0], 100
        envelope = Envelope(np.array([0.9, 0.2]), 0.0)
        assert planned(policy, prepared, state, workspace, envelope, 64) == expected


def test_misfits_are_plays_after_the_first_for_which_no_model_fits() -> None:
    policy, problem = UCBC(), Problem.bernoulli([[0.05, 0.95], [0.95, 0.05]])
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    workspace = policy.workspace(prepared, 2)
    state.plays[:], state.sums[:], state.counters[CLOCK] = [1, 0], [0.5, 0], 1
    assert planned(policy, prepared, state, workspace, None, 9) == (1, 1)
    assert workspace.cycle[0] == 1
    assert state.counters[MISFITS] == 0
    state.plays[:], state.sums[:], state.counters[CLOCK] = [200, 200], [100, 100], 400
    planned(policy, prepared, state, workspace, None, 9)
    assert state.counters[MISFITS] == 1
    state.sums[:] = [10, 190]
    planned(policy, prepared, state, workspace, None, 9)
    assert state.counters[MISFITS] == 1
    assert workspace.cycle[0] == 1


def test_where_no_model_fits_all_eligible_arms_compete() -> None:
    """√(1.5 ln 400) = 2.998: indices .5 + .212, .5 + .2998 and .45 + .2998 after 400 plays."""
    agent = Agent(Problem.bernoulli([[0.05, 0.95, 0.05], [0.95, 0.05, 0.05]]), UCBC())
    for arm, plays, mean in (("arm1", 200, 0.5), ("arm2", 100, 0.5), ("arm3", 100, 0.45)):
        for _ in range(plays):
            agent.observe(arm, mean)
    assert agent.why().arm == "arm2"
    assert agent.why(among=["arm1", "arm3"]).arm == "arm3"
