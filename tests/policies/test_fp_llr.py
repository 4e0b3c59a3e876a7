"""FP-LLR: its threshold, its stability check, contexts. Its decisions: `test_init`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from moments import Moment, assert_certain_as, moment, moments, planned
from reference import best_arm
from scipy.optimize import brentq

from fpbandits import FPLLR, Agent, Problem
from fpbandits.engine.contract import CLOCK, Envelope, State
from fpbandits.policies.shared.likelihood import bracket


def episodes(state: State) -> int:
    return int(state.plays.max())


def test_an_episode_is_certain_as_its_docstring_says() -> None:
    """All that could become consistent have their best arm in it; each arm has one that stays."""

    def repeats(one: Moment, more: int, by: float) -> bool:
        theta, fit = one.prepared.theta, one.workspace.fit
        bracket(theta, one.envelope, fit, np.array(one.cycle), len(one.cycle), more)
        models = one.unit_means
        best = np.array([best_arm(row) for row in models.tolist()])
        now, end = (2 * math.log(k) + math.log(len(models)) for k in (one.t, one.t + more))
        may_fit = fit.lowest <= end - by
        fits = fit.highest - min(fit.lowest.min(), 0) <= now + by
        return set(best[may_fit].tolist()) <= set(one.cycle) <= set(best[fits].tolist())

    found = moments(FPLLR(), 200, clock=episodes)
    assert_certain_as(repeats, found)


def test_a_model_counts_as_consistent_up_to_a_billionth_above_the_threshold() -> None:
    """2 ln 50 + ln 2 nats: arm 1 tells the models apart, and each has another best arm."""
    problem, policy = Problem.bernoulli([[0.6, 0.1], [0.3, 0.5]]), FPLLR()
    limit = 2 * math.log(50) + math.log(2)

    def nats(total: float) -> float:
        return total * math.log(0.6 / 0.3) + (100 - total) * math.log(0.4 / 0.7)

    for by, cycle in ((-0.5e-9, [0, 1]), (0.5e-9, [0, 1]), (2e-9, [0])):
        total = brentq(lambda s, by=by: nats(s) - limit - by, 45, 100, xtol=1e-14)
        state = policy.new_state(problem)
        state.plays[0], state.sums[0], state.counters[CLOCK] = 100, total, 50
        one = moment(policy, problem, state, Envelope(np.array([0.6, 0.1]), 0.5))
        assert one.cycle == cycle, by


def test_the_clock_counts_episodes() -> None:
    problem, policy = Problem.bernoulli([[0.6, 0.1, 0.3], [0.3, 0.1, 0.5]]), FPLLR()
    prepared: Any = policy.prepare(problem)
    state = policy.new_state(problem)
    workspace = policy.workspace(prepared, 3)
    envelope = Envelope(np.array([0.6, 0.1, 0.3]), 0.0)
    assert planned(policy, prepared, state, workspace, envelope, 99) == (2, 1)
    assert workspace.cycle.tolist() == [0, 2, 0]
    assert state.counters[CLOCK] == 1
    # Arm 1 alone tells: 300·(.6 ln 2 + .4 ln(4/7)) = 57.6 nats, above the threshold for long.
    state.plays[:], state.sums[:] = [300, 0, 1], [180, 0, 0]
    state.counters[CLOCK] = 300
    assert planned(policy, prepared, state, workspace, envelope, 64) == (1, 64)
    assert state.counters[CLOCK] == 364
    policy.observe(prepared, state, 0, 64, 38.4, np.random.default_rng(0))
    assert (state.plays[0], state.sums[0], state.counters[CLOCK]) == (364, 218.4, 364)


def test_in_contexts_the_least_played_of_the_consistent_models_best_arms_is_next() -> None:
    generator = np.random.default_rng(4)
    levels = [0.35, 0.5, 0.65]
    for _ in range(15):
        means = np.unique(generator.choice(levels, (5, 2, 3)), axis=0)
        problem = Problem.bernoulli(means, contexts=["a", "b"])
        agent = Agent(problem, FPLLR())
        plays, sums = np.zeros((2, 2, 3))
        for k in range(1, 61):
            context = int(generator.integers(2))
            costs = [
                -sum(
                    wins * math.log(q) + (n - wins) * math.log(1 - q)
                    for n, wins, q in zip(plays.flat, sums.flat, model.flat, strict=True)
                )
                for model in means
            ]
            limit = min(costs) + 2 * math.log(k) + math.log(len(means)) + 1e-9
            best = {
                best_arm(model[context].tolist())
                for model, cost in zip(means, costs, strict=True)
                if cost <= limit
            }
            arm = min(best, key=lambda i: (plays[context, i], i))
            decision = agent.ask(context="ab"[context])
            assert decision.arm == problem.arms[arm]
            reward = float(generator.random() < means[0, context, arm])
            agent.tell(decision, reward)
            plays[context, arm] += 1
            sums[context, arm] += reward


def test_in_contexts_the_clock_counts_plays() -> None:
    problem, policy = (
        Problem.bernoulli([[[0.6, 0.1]] * 2, [[0.3, 0.4]] * 2], contexts=["a", "b"]),
        FPLLR(),
    )
    prepared, state = policy.prepare(problem), policy.new_state(problem)
    workspace = policy.workspace(prepared, 4)
    for plays in (1, 2, 3):
        assert planned(policy, prepared, state, workspace, None, 100) == (1, 1)
        assert state.counters[CLOCK] == plays


def test_among_some_arms_a_plan_is_for_the_best_of_these() -> None:
    policy, problem = FPLLR(), Problem.bernoulli([[0.6, 0.1, 0.3], [0.3, 0.4, 0.5]])
    prepared: Any = policy.prepare(problem)
    assert prepared.arms.tolist() == [0, 2]
    restricted: Any = policy.restrict(problem, prepared, 0, [1, 2])
    assert restricted.arms.tolist() == [2]
    assert policy.restrict(problem, prepared, 0, [0, 1]).arms.tolist() == [0, 1]
