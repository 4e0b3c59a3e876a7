"""Thompson sampling: its draws, and what it makes of rewards between 0 and 1."""

from __future__ import annotations

import math

import numpy as np
import pytest
from laws import chi_square
from moments import planned
from scipy import stats

from fpbandits import Problem, Thompson, load_problem
from fpbandits.engine.compiling import prepare
from fpbandits.engine.contract import BOUND, CHANCES, COUNTERS, OWN, State
from fpbandits.engine.ready import plan_once
from fpbandits.policies.thompson import ThompsonData, _event, _leap


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


class Draws:
    """A stream that gives one exponential number, and then NumPy's."""

    def __init__(self, exponential: float) -> None:
        numpy = np.random.default_rng(1)
        self.exponential, self.random, self.beta = exponential, numpy.random, numpy.beta

    def standard_exponential(self) -> float:
        return self.exponential


def leap(
    plays: list[int], wins: list[float], most: int, waiting: float = 1e9
) -> tuple[int, State, int]:
    """Leap with an event after so many expected events; the rounds, the state and the arm."""
    size = len(plays)
    drawn = np.zeros(CHANCES + size)
    state = State(np.array(plays), np.array(wins), np.zeros(COUNTERS, np.int64), drawn)
    cycle = np.full(size, -1)
    given: object = Draws(waiting)
    rounds = _leap(ThompsonData(size, False, True), state, cycle, most, given)  # type: ignore[arg-type]
    return rounds, state, int(cycle[0])


def test_a_leap_is_as_long_as_failures_alone_cost_a_32nd_of_the_lead() -> None:
    """The leader, of mean .6, has the most plays; the nearest other posterior mean is 81/202."""
    plays, wins = [200, 40_000, 100, 3], [80.0, 24_000, 20, 0]
    loss = (0.6 - 81 / 202) / 32
    window = int(40_000 * loss / (0.6 - loss))
    rounds, state, arm = leap(plays, wins, 10**9)
    assert (rounds, arm, state.counters[OWN]) == (window, 1, 0)
    end = 40_000 + window + 1
    y = 24_000 / end - math.sqrt(38 / end)
    assert state.drawn[BOUND] == pytest.approx(y, rel=1e-14)
    chances = [
        0.0 if i == 1 else stats.beta(1 + wins[i], 1 + plays[i] - wins[i]).sf(y) for i in range(4)
    ]
    assert state.drawn[CHANCES:] == pytest.approx(chances, rel=1e-9)
    rounds, state, _ = leap(plays, wins, 50)
    assert rounds == 50
    y = 24_000 / 40_051 - math.sqrt(38 / 40_051)
    assert state.drawn[BOUND] == pytest.approx(y, rel=1e-14)


def test_a_leap_ends_where_an_event_is_due() -> None:
    plays, wins = [40_000, 10], [24_000.0, 5]
    _, state, _ = leap(plays, wins, 100)
    rate = -math.log1p(-state.drawn[CHANCES + 1])
    for waiting, rounds, led in ((100.01, 100, 0), (99.99, 99, 1), (1.01, 1, 1)):
        found, state, arm = leap(plays, wins, 100, waiting * rate)
        assert (found, arm, state.counters[OWN]) == (rounds, 0, led)
    found, state, arm = leap(plays, wins, 100, 0.99 * rate)
    assert (found, arm, state.counters[OWN]) == (1, 1, 0), "the event itself, at once"


def test_where_no_leap_is_possible_there_is_none() -> None:
    """With too few plays, a rival too near, a lead of nothing, or no room for two rounds."""
    assert leap([200, 9], [200.0, 0], 99)[0] == 5
    assert leap([199, 9], [199.0, 0], 99)[0] == 0
    assert leap([40_000, 9], [24_000.0, 5], 99)[0] > 0
    assert leap([40_000, 9], [24_000.0, 6], 99)[0] == 0, "7/11 is above .6"
    assert leap([10_000, 98], [5000.0, 49], 99)[0] == 0, "equal posterior means"
    assert leap([40_000, 9], [24_000.0, 0], 1)[0] == 0
    assert leap([40_000, 9], [24_000.0, 0], 2)[0] == 2
    # Of the threshold .6 − √(38/40001) = .5692: a rival at or above it.
    assert leap([40_000, 998], [24_000.0, 570], 2)[0] == 0
    assert leap([40_000, 998], [24_000.0, 567], 2)[0] == 2


def test_an_event_that_is_due_is_the_next_plan() -> None:
    """It was the other arm that drew at least the threshold: of two, it is played."""
    problem, policy = load_problem("paper:two"), Thompson()
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    workspace = policy.workspace(prepared, 2)
    state.plays[:], state.sums[:] = [20, 40_000], [8, 24_000]
    state.drawn[BOUND], state.drawn[CHANCES:] = 0.7, [0.001, 0]
    state.counters[OWN] = 2
    assert planned(policy, prepared, state, workspace, None, 100) == (1, 1)
    assert (workspace.cycle[0], state.counters[OWN]) == (0, 0)
    # With no event due it leaps over what it was asked for, but agents ask for one play.
    assert planned(policy, prepared, state, workspace, None, 4) == (1, 4)
    assert workspace.cycle[0] == 1
    assert planned(policy, prepared, state, workspace, None, 1) == (1, 1)
    assert state.counters[OWN] == 0


def test_only_rewards_of_0_and_1_are_leapt_over() -> None:
    for problem, normal, binary in (
        (Problem.bernoulli([[0.5, 0.4]]), False, True),
        (Problem.beta([[0.5, 0.4]], 3), False, False),
        (Problem.gaussian([[0.5, 0.4]], 0.5), True, False),
    ):
        policy = Thompson()
        prepared, state = policy.prepare(problem), policy.new_state(problem)
        assert prepared == ThompsonData(2, normal, binary)
        state.plays[:], state.sums[:] = [40_000, 20], [24_000, 8]
        rounds = planned(policy, prepared, state, policy.workspace(prepared, 2), None, 4)[1]
        assert (rounds > 1) is binary


def test_what_is_rounded_at_random() -> None:
    """Only a single reward between 0 and 1, which a number below it makes a success."""

    class Uniform:
        def random(self) -> float:
            return 0.3

    stream: object = Uniform()
    for normal, plays, total, kept in (
        (False, 1, 0.3, 0.0),
        (False, 1, 0.31, 1.0),
        (False, 1, 0.0, 0.0),
        (False, 1, 1.0, 1.0),
        (False, 5, 0.5, 0.5),
        (True, 1, 0.5, 0.5),
        (True, 1, 7.5, 7.5),
    ):
        state = State(np.array([2, 3]), np.array([1.0, 2.0]), np.zeros(COUNTERS, np.int64))
        data = ThompsonData(2, normal, binary=False)
        Thompson.observe(data, state, 1, plays, total, stream)  # type: ignore[arg-type]
        assert (state.plays.tolist(), state.sums.tolist()) == ([2, 3 + plays], [1.0, 2.0 + kept])


def test_at_an_event_the_arm_of_the_largest_draw_is_played() -> None:
    """With a threshold of next to 0 an event is sure, and all draws are NumPy's own Beta draws."""
    plays, wins = np.array([3, 4]), np.array([1.0, 3.0])
    drawn = np.array([1e-9, 0.0, 0.999])
    for leader in (0, 1):
        drawn[CHANCES:] = [0.0 if arm == leader else 0.999 for arm in (0, 1)]
        state = State(plays, wins, np.zeros(COUNTERS, np.int64), drawn)
        for seed in range(50):
            data = ThompsonData(2, normal=False, binary=True)
            arm = _event(data, state, leader, np.random.default_rng(seed))
            stream, draws = np.random.default_rng(seed), np.zeros(2)
            draws[leader] = stream.beta(1 + wins[leader], 1 + plays[leader] - wins[leader])
            stream.random()
            other = 1 - leader
            draws[other] = stream.beta(1 + wins[other], 1 + plays[other] - wins[other])
            assert arm == draws.argmax()
