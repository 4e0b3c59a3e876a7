"""FP-UCB: its table of models, its stability check, what it counts as misfits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from moments import Moment, assert_certain_as, moment, moments, planned, small_problem
from reference import best_arm

from fpbandits import FPUCB, Agent, Problem, load_problem
from fpbandits.engine.contract import CLOCK, MISFITS, Envelope, State
from fpbandits.policies.fp_ucb import FPUCBData, FPUCBWork, _frame, _occupied


def models_of(prepared: FPUCBData) -> list[list[list[float]]]:
    """For each arm of A the models that it is best under: their means on the arms of A, sorted."""
    found = []
    for first, last in zip(prepared.segments[:-1], prepared.segments[1:], strict=True):
        if not prepared.bits.size:
            found.append(sorted(prepared.means[:, first:last].T.tolist()))
            continue
        models = []
        for word in range(first, last):
            for bit in range(64):
                flag = np.uint64(1 << bit)
                held = (prepared.bits[:, :, word] & flag) > 0
                assert bool(prepared.present[word] & flag) == held.any()
                if held.any():
                    assert (held.sum(axis=1) == 1).all(), "one mean on each arm"
                    models.append(prepared.levels[held].tolist())
        found.append(sorted(models))
    return found


def many_models(levels: int, generator: np.random.Generator) -> np.ndarray:
    """More models than have room in a word of bits, with so many distinct means of each arm."""
    means = generator.choice(np.linspace(0.1, 0.9, levels), (300, 3))
    means[:levels] = np.linspace(0.1, 0.9, levels)[:, np.newaxis]
    return means


@pytest.mark.parametrize(("levels", "in_bits"), [(2, True), (5, True), (64, True), (65, False)])
def test_models_are_kept_by_their_best_arm(levels: int, in_bits: bool) -> None:
    generator = np.random.default_rng(levels)
    means = many_models(levels, generator)
    means[:, 1] = means[:, 1].clip(None, 0.1) if levels == 2 else means[:, 1]
    problem = Problem.bernoulli(np.unique(means, axis=0))
    prepared: Any = FPUCB(slack=0.25).prepare(problem)
    rows = problem.means.tolist()
    best = [best_arm(row) for row in rows]
    A = sorted(set(best))
    assert prepared.slack == 0.25
    assert prepared.arms.tolist() == A
    assert (prepared.bits.size > 0) is in_bits
    assert (prepared.means.size > 0) is not in_bits
    if in_bits:
        for i, arm in enumerate(A):
            own = np.unique(problem.means[:, arm])
            assert prepared.level_counts[i] == len(own)
            assert prepared.levels[i, : len(own)].tolist() == own.tolist()
        assert prepared.segments[-1] == prepared.bits.shape[2] == prepared.present.size
        assert prepared.bits.shape[1] == max(prepared.level_counts)
    assert models_of(prepared) == [
        sorted([row[i] for i in A] for row, own in zip(rows, best, strict=True) if own == arm)
        for arm in A
    ]


def test_each_arms_models_begin_with_a_word_of_their_own() -> None:
    """128, 64 and 65 models: two words, one and two."""
    generator, sizes = np.random.default_rng(1), [128, 64, 65]
    best = np.repeat([0, 1, 2], sizes)
    means = np.stack([*(generator.integers(0, 9, 257) / 20 for _ in range(2)), best / 3], axis=1)
    means = means[:, [0, 2, 1]] / 2
    means[np.arange(257), best] = 0.9
    prepared: Any = FPUCB()._sorted(means, np.arange(3), best)
    assert prepared.segments.tolist() == [0, 2, 3, 5]
    assert [int.bit_count(word) for word in prepared.present.tolist()] == [64, 64, 64, 64, 1]
    assert models_of(prepared) == [sorted(means[best == arm].tolist()) for arm in range(3)]


@pytest.mark.parametrize("levels", [3, 6, 70])
def test_a_model_is_found_in_a_box_if_there_is_one(levels: int) -> None:
    """Against all models one by one; the narrowest side is checked first."""
    generator, policy = np.random.default_rng(levels), FPUCB()
    problem = Problem.bernoulli(np.unique(many_models(levels, generator), axis=0))
    prepared: Any = policy.prepare(problem)
    work: FPUCBWork = policy.workspace(prepared, 3)
    best = np.array([best_arm(row) for row in problem.means.tolist()])
    answers = []
    for _ in range(300):
        model = problem.means[generator.integers(len(problem.means))]
        work.center[:] = model + generator.normal(0, 0.02, 3)
        work.center[generator.integers(3)] = generator.random()
        radius = generator.choice([0.01, 0.03, 0.2, 1.0], 3)
        within = abs(problem.means - work.center) <= radius
        possible = _frame(prepared, work, radius)
        assert possible == (levels == 70 or within.any(axis=0).all())
        if possible:
            assert work.order.tolist() == np.argsort(radius, kind="stable").tolist()
            expected = [bool(within[best == arm].all(axis=1).any()) for arm in range(3)]
            assert [_occupied(prepared, arm, work, radius) for arm in range(3)] == expected
            answers += expected
            for i in range(3 if levels < 70 else 0):
                inside = abs(prepared.levels[i, :levels] - work.center[i]) <= radius[i]
                assert np.flatnonzero(inside).tolist() == list(range(work.start[i], work.upto[i]))
    assert 60 < sum(answers) < len(answers) - 60


def distinct_problem(generator: np.random.Generator) -> Problem:
    """More distinct means than are turned into bits."""
    return Problem.bernoulli(generator.random((80, int(generator.integers(2, 4)))).round(3))


def episodes(state: State) -> int:
    """As many as the arm played most often has plays: then none was ever played outside of one."""
    return int(state.plays.max())


@pytest.mark.parametrize("make", [small_problem, distinct_problem])
@pytest.mark.parametrize("slack", [0.0, 0.05])
def test_an_episode_is_certain_as_its_docstring_says(slack: float, make: Any) -> None:
    """Every θ with another best arm stays inconsistent; each arm has a θ that stays consistent."""

    def repeats(one: Moment, more: int, by: float) -> bool:
        models, k = one.unit_means, one.t
        best = np.array([best_arm(row) for row in models.tolist()])
        fits, may_fit = np.ones((2, len(models)), bool)
        for arm in sorted(set(best.tolist())):
            n, means = one.state.plays[arm], models[:, arm]
            low = high = one.seen[arm]
            if arm in one.cycle:
                low, high = one.mean_ahead(arm, more)
                small, large = 3 * math.log(k + more) / (n + more), 3 * math.log(k) / n
            else:
                small, large = 3 * math.log(k) / n, 3 * math.log(k + more) / n
            nearest = np.maximum(np.maximum(low - means, means - high), 0)
            farthest = np.maximum(abs(low - means), abs(high - means))
            fits &= farthest <= math.sqrt(small) + slack + by
            may_fit &= nearest <= math.sqrt(large) + slack - by
        if nothing_fits(one):
            return not may_fit.any()
        return set(best[may_fit].tolist()) <= set(one.cycle) <= set(best[fits].tolist())

    def nothing_fits(one: Moment) -> bool:
        A = sorted({best_arm(row) for row in one.unit_means.tolist()})
        radii = np.sqrt(3 * math.log(one.t) / one.state.plays[A]) + slack
        inside = abs(one.unit_means[:, A] - one.seen[A]) <= radii
        return not inside.all(axis=1).any()

    found = list(moments(FPUCB(slack=slack), 60, make, episodes))
    assert any(map(nothing_fits, found)) or slack > 0
    assert_certain_as(repeats, iter(found))


def test_leaps_reach_far() -> None:
    problem, policy = load_problem("paper:permutations"), FPUCB()
    state = policy.new_state(problem)
    state.plays[:] = [10**6, 400, 300, 150]
    state.sums[:] = [600_000, 160, 90, 30]
    state.counters[CLOCK] = 10**6
    envelope = Envelope(np.array([0.6, 0.4, 0.3, 0.2]), math.log(2e18) / 2)
    one = moment(policy, problem, state, envelope)
    assert one.cycle == [0]
    assert one.holds_for(5 * 10**5)


def test_the_clock_counts_episodes_and_misfits_count_plays() -> None:
    """Means of .5 and .5, which no model has: three rounds of A, and the first is none yet."""
    problem, policy = Problem.bernoulli([[0.1, 0.9, 0.3], [0.9, 0.1, 0.3]]), FPUCB()
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    workspace = policy.workspace(prepared, 3)
    envelope = Envelope(np.array([0.5, 0.5, 0.5]), 0.0)

    def plan(clock: int, plays: int) -> tuple[tuple[int, int], int, int]:
        state.counters[:] = 0
        state.counters[CLOCK] = clock
        state.plays[:], state.sums[:] = [plays, plays, 0], [plays / 2, plays / 2, 0]
        made = planned(policy, prepared, state, workspace, envelope, 200)
        assert workspace.cycle.tolist()[:2] == [0, 1]
        return made, int(state.counters[CLOCK]), int(state.counters[MISFITS])

    assert plan(0, 0) == ((2, 1), 1, 0)
    assert plan(1, 1) == ((2, 1), 2, 0), "the radius is 0 then"
    assert plan(2, 100) == ((2, 1), 3, 2), "radii do not shrink yet"
    assert plan(3, 100) == ((2, 100), 103, 200)
    policy.observe(prepared, state, 1, 7, 3.5, np.random.default_rng(0))
    assert (state.plays.tolist(), state.sums.tolist()) == ([100, 107, 0], [50, 53.5, 0])
    assert state.counters[CLOCK] == 103


def test_without_rewards_of_its_own_an_arm_rules_no_model_out() -> None:
    """After k = 40 the radius of arm 1 is √(3 ln 40/60) = .43."""
    problem, policy = Problem.bernoulli([[0.4, 0.3], [0.4, 0.6], [0.95, 0.1]]), FPUCB()
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    state.plays[0], state.sums[0], state.counters[CLOCK] = 60, 24, 40
    workspace = policy.workspace(prepared, 2)
    assert planned(policy, prepared, state, workspace, None, 9) == (2, 1)
    state.plays[0], state.sums[0] = 600, 240  # .136: the third model is out, not the second
    assert planned(policy, prepared, state, workspace, None, 9) == (2, 1)
    state.sums[0] = 570
    assert planned(policy, prepared, state, workspace, None, 9) == (1, 1)
    assert workspace.cycle[0] == 0


def test_among_some_arms_the_best_of_these_under_a_model_that_fits_is_played() -> None:
    """The first arm tells models apart, also where it may not be played."""
    agent = Agent(Problem.bernoulli([[0.9, 0.5, 0.2, 0.3], [0.2, 0.3, 0.8, 0.6]]), FPUCB())
    for arm, mean in (("arm1", 0.9), ("arm3", 0.2)):
        for _ in range(300):
            agent.observe(arm, mean)
    for _ in range(4):
        agent.tell(agent.ask(), 0.9)
    assert agent.why().arm == "arm1"
    assert agent.why(among=["arm2", "arm4"]).arm == "arm2"
    assert agent.why(among=["arm3", "arm4"]).arm == "arm4"
    prepared: Any = FPUCB().prepare(agent.problem)
    restricted = FPUCB().restrict(agent.problem, prepared, 0, [1, 3])
    assert restricted.arms.tolist() == [0, 1, 2, 3]
    assert models_of(restricted) == [[], [[0.9, 0.5, 0.2, 0.3]], [], [[0.2, 0.3, 0.8, 0.6]]]
