"""Thompson sampling: its draws, and what it makes of rewards between 0 and 1."""

from __future__ import annotations

import math

import numpy as np

from fpbandits import Thompson, load_problem
from fpbandits.engine.compiling import prepare
from fpbandits.engine.contract import COUNTERS, State
from fpbandits.engine.ready import plan_once


def test_thompson_plays_the_largest_draw() -> None:
    """With the same stream, the arm is the argmax of NumPy's own Beta draws."""
    problem = load_problem("paper:grid")
    prepared = prepare(Thompson(), problem)
    workspace = Thompson().workspace(prepared, 4)
    generator = np.random.default_rng(1)
    for seed in range(200):
        plays = generator.integers(0, 50, 4)
        wins = generator.binomial(plays, 0.4).astype(float)
        state = State(plays, wins, np.zeros(COUNTERS, np.int64))
        nothing, random = np.zeros_like(plays), np.random.default_rng(seed)
        assert plan_once(prepared, state, workspace, 0, nothing, random) == 1
        stream = np.random.default_rng(seed)
        draws = [stream.beta(1 + wins[i], 1 + plays[i] - wins[i]) for i in range(4)]
        assert workspace.cycle[0] == int(np.argmax(draws))


def test_thompson_rounds_rewards_at_random() -> None:
    """A reward of 0.3 is a success 3 times in 10. Seeds 0 … 3999; 5 standard errors."""
    problem = load_problem("paper:two")
    policy = Thompson()
    state, prepared = policy.new_state(problem), prepare(policy, problem)
    for seed in range(4000):
        policy.observe(prepared, state, 0, 1, 0.3, np.random.default_rng(seed))
    assert state.plays[0] == 4000
    assert state.sums[0] == int(state.sums[0])
    assert abs(state.sums[0] / 4000 - 0.3) < 5 * math.sqrt(0.3 * 0.7 / 4000)
