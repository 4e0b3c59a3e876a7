"""What rules are given: a state that is split by context as it should be."""

from __future__ import annotations

import numpy as np
import pytest

from fpbandits import UCB1, Problem, ThompsonTheta
from fpbandits.engine.contract import CLOCK, COUNTERS, State, count, in_context

PROBLEM = Problem.beta([[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]], 4.0, contexts=["x", "y"])


def test_a_context_has_its_part_of_a_state_as_a_view() -> None:
    """Rules that look at each context apart have counters of their own there."""
    state = UCB1().new_state(PROBLEM)
    state.plays[:], state.sums[:] = np.arange(6), np.arange(6) / 10
    state.counters[:] = np.arange(2 * COUNTERS)
    here = in_context(state, 1, 3)
    assert here.plays.tolist() == [3, 4, 5]
    assert here.counters.tolist() == [*range(COUNTERS, 2 * COUNTERS)]
    assert here.statistics.shape == (3, PROBLEM.rewards.statistics)
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
    assert state.drawn.size == state.statistics.size == state.extra.size == 0
