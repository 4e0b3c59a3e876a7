"""Thompson sampling: its draws, and what it makes of rewards between 0 and 1."""

from __future__ import annotations

import math

import numpy as np
from laws import chi_square
from scipy import stats

from fpbandits import Problem, Thompson, load_problem
from fpbandits.engine.compiling import prepare
from fpbandits.engine.contract import BOUND, CHANCES, COUNTERS, State
from fpbandits.engine.ready import plan_once
from fpbandits.policies.thompson import ThompsonData, _event


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


def test_means_of_normal_rewards_have_a_flat_prior() -> None:
    """In the user's units: the mean so far, and a normal draw of deviation σ/√n."""
    problem = Problem.gaussian([[3, 6, 5], [7, 2, 4]], deviation=2.5)
    prepared = prepare(Thompson(), problem)
    workspace = Thompson().workspace(prepared, 3)
    generator = np.random.default_rng(2)
    for seed in range(200):
        plays, means = generator.integers(1, 9, 3), generator.normal(5, 1, 3)
        sums = (plays * np.array(problem.rewards.to_unit(means))).astype(float)
        state, nothing = State(plays, sums, np.zeros(COUNTERS, np.int64)), np.zeros_like(plays)
        plan_once(prepared, state, workspace, 0, nothing, np.random.default_rng(seed))
        draws = means + 2.5 * np.random.default_rng(seed).standard_normal(3) / np.sqrt(plays)
        assert workspace.cycle[0] == int(np.argmax(draws))
        state.plays[seed % 3] = 0
        plan_once(prepared, state, workspace, 0, nothing, np.random.default_rng(seed))
        assert workspace.cycle[0] == seed % 3, "what was never played comes first"


def test_an_event_is_a_round_of_draws_in_which_another_arm_comes_up_to_the_threshold() -> None:
    """Against draws of NumPy's, those without an event thrown away.

    Seeds 3 and 4, 20,000 draws, one χ² test at level 1e-4; the leader's draws are below the
    threshold once in 10⁵.
    """
    plays, wins, y, leader = np.array([20, 300, 30, 8]), np.array([7.0, 150, 10, 1]), 0.38, 1
    others = [0, 2, 3]
    drawn = np.zeros(CHANCES + 4)
    drawn[BOUND] = y
    for arm in others:
        drawn[CHANCES + arm] = stats.beta(1 + wins[arm], 1 + plays[arm] - wins[arm]).sf(y)
    state = State(plays, wins, np.zeros(COUNTERS, np.int64), drawn)
    random = np.random.default_rng(3)
    data = ThompsonData(4, normal=False, binary=True)
    ours = np.bincount([_event(data, state, leader, random) for _ in range(20_000)], minlength=4)
    draws = np.random.default_rng(4).beta(1 + wins, 1 + plays - wins, (2_000_000, 4))
    events = draws[(draws[:, others] >= y).any(axis=1)]
    shares = np.bincount(events.argmax(axis=1), minlength=4) / len(events)
    assert chi_square(ours, 20_000 * shares) > 1e-4
