"""What rules are given: a state that is split by context as it should be."""

from __future__ import annotations

import numpy as np
import pytest

from fpbandits import UCB1, Problem, ThompsonTheta
from fpbandits.engine.contract import (
    BOUND,
    CHANCES,
    CLOCK,
    CONTEXT,
    COUNTERS,
    MISFITS,
    NO_STATISTICS,
    OWN,
    ROUNDS,
    Envelope,
    State,
    count,
    in_context,
    of_arms,
)

PROBLEM = Problem.beta([[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]], 4.0, contexts=["x", "y"])


def test_a_context_has_its_part_of_a_state_as_a_view() -> None:
    """Rules that look at each context apart have counters of their own there."""
    state = UCB1().new_state(PROBLEM)
    state.plays[:], state.sums[:] = np.arange(6), np.arange(6) / 10
    state.counters[:] = np.arange(2 * COUNTERS)
    here = in_context(state, 1, 3)
    assert here.plays.tolist() == [3, 4, 5]
    assert here.counters.tolist() == [*range(COUNTERS, 2 * COUNTERS)]
    state.statistics[:] = np.arange(12).reshape(6, 2)
    assert here.statistics.tolist() == [[6, 7], [8, 9], [10, 11]]
    assert (here.drawn, here.extra) == (state.drawn, state.extra)
    first = in_context(state, 0, 3)
    assert (first.plays.tolist(), first.sums.tolist()) == ([0, 1, 2], [0, 0.1, 0.2])
    assert first.counters.tolist() == [*range(COUNTERS)]
    count(here, 2, 7, 3.5)
    assert state.plays.tolist() == [0, 1, 2, 3, 4, 12]
    assert state.sums[5] == pytest.approx(4.0)


def test_rules_that_look_at_all_contexts_share_their_counters() -> None:
    state = ThompsonTheta().new_state(PROBLEM)
    assert len(state.counters) == COUNTERS
    in_context(state, 1, 3).counters[CLOCK] = 9
    assert state.counters[CLOCK] == 9


def test_a_state_without_more_holds_plays_sums_and_counters() -> None:
    state = State(np.zeros(2, np.int64), np.zeros(2), np.zeros(COUNTERS, np.int64))
    assert (state.drawn.shape, state.statistics.shape, state.extra.shape) == ((0,), (0, 0), (0,))


def test_arms_are_taken_out_of_a_state() -> None:
    state = UCB1().new_state(PROBLEM)
    state.plays[:], state.sums[:] = np.arange(6), np.arange(6) / 10
    state.statistics[:] = np.arange(12).reshape(6, 2)
    some = of_arms(state, (4, 1))
    assert (some.plays.tolist(), some.sums.tolist()) == ([4, 1], [0.4, 0.1])
    assert some.statistics.tolist() == [[8, 9], [2, 3]]
    assert (some.counters, some.drawn, some.extra) == (state.counters, state.drawn, state.extra)


def test_an_envelope_is_of_rewards_in_a_range_unless_it_says_otherwise() -> None:
    envelope = Envelope(np.zeros(1), 2.0)
    assert envelope.bounded
    assert envelope.expected is NO_STATISTICS


def test_numbers_stand_where_saved_agents_have_them() -> None:
    assert (CLOCK, ROUNDS, MISFITS, OWN, CONTEXT) == (0, 1, 2, 3, 4)
    assert COUNTERS == 5
    assert (BOUND, CHANCES) == (0, 1)
