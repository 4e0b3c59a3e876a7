"""UCB1's stability check, which is its own."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import Stretch, is_certain, stretches

from fpbandits import UCB1, load_problem
from fpbandits.engine.compiling import prepare
from fpbandits.engine.contract import Envelope, State


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(stretches(), st.integers(0, 10**4))
def test_ucb1_is_never_sure_of_a_leader_who_can_be_overtaken(stretch: Stretch, others: int) -> None:
    """A rival just above the leader's lowest index on some step must make the plan unsure."""
    n, total, p, more, spread = stretch
    t = n + 10**9 + others
    lowest = min(
        (total + stretch.limits(j)[0]) / (n + j) + math.sqrt(2 * math.log(t) / (n + j))
        for j in range(more + 1)
    )
    wide = math.sqrt(2 * math.log(t + more) / 1e9)
    prepared = prepare(UCB1(), load_problem("paper:two"))
    for shift, expected in ((1e-6, False), (-0.2, True)):
        rival = (lowest + shift - wide) * 1e9
        state = State(np.array([n, 10**9]), np.array([total, rival]), np.array([t, 0, 0, 0]))
        workspace = UCB1().workspace(prepared, 2)
        workspace.mean[:] = state.sums / state.plays
        workspace.inverse[:] = 1 / state.plays
        envelope = Envelope(np.array([p, 0.5]), spread)
        # Far enough below, a plan must be sure: the stability check is not merely timid.
        if expected and n < 100:
            continue
        assert is_certain(prepared, state, workspace, envelope, more + 1) is expected
