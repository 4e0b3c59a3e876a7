"""The parts of the default: information value, term by term, horizon and choice."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reference import divergences

from fpbandits import Agent, Problem
from fpbandits.engine.compiling import prepare
from fpbandits.errors import InputError
from fpbandits.policies import Frugal
from fpbandits.policies.frugal_value import choose, h_of, information_value, lead
from fpbandits.policies.shared.belief import believe, expected_loss, fill_posterior


def value_before_any_play(problem: Problem, pending: np.ndarray | None) -> tuple[Any, Any, int]:
    """Return what the rule prepares, its workspace after the prior alone, and θ̂."""
    policy = Frugal()
    prepared = prepare(policy, problem)
    work = policy.workspace(prepared, problem.pairs)
    theta, cost = prepared.theta, work.fit.deficit
    believe(theta, theta.prior, policy.new_state(problem), cost, 0.0, None)
    hat = fill_posterior(cost, math.inf, work.now.posterior)
    expected_loss(theta, work.now.posterior, 0, work.now.loss)
    lead(theta, work.now.loss, hat, work.leaders)
    information_value(prepared, work, work.now, hat, pending)
    return prepared, work, hat


def by_definition(problem: Problem, hat: int, pending: np.ndarray) -> tuple[list[float], ...]:
    """Sums over all pairs of models, as the docstring has them."""
    prior = np.array(problem.prior or [1.0] * len(problem.models))
    p, means = prior / prior.sum(), problem.rewards.unit_means
    gaps, apart = means.max(axis=1, keepdims=True) - means, divergences(problem)
    arms, models = range(means.shape[1]), range(len(p))
    loss = [float(p @ gaps[:, i]) for i in arms]
    leader = min((i for i in arms if gaps[hat, i] < 1e-12), key=lambda i: loss[i])
    value = [0.0 for _ in arms]
    for m in models:
        weights = {}
        for f in models:
            nats = sum(pending[j] * (apart[f, m, j] + apart[m, f, j]) for j in arms) / 8
            if f != m and (not pending.any() or p[f] >= 0.2 * p[hat]):
                weights[f] = p[f] * math.exp(-nats)
        for_all = sum(p[f] for f in models if f != m) / max(sum(p[f] for f in weights), 1e-300)
        weights = {f: weight * for_all for f, weight in weights.items()}
        w = sum(weights.values())
        for i in arms:
            told = sum(weight * apart[f, m, i] for f, weight in weights.items()) / w if w else 0.0
            value[i] += p[m] * gaps[m, leader] * w * told / (1 + told)
    return loss, value


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("kind", ["bernoulli", "gaussian", "beta"])
def test_loss_and_value_are_those_of_the_definition(kind: str, late: bool) -> None:
    random = np.random.default_rng(3)
    for _ in range(30):
        models, arms = int(random.integers(2, 9)), int(random.integers(2, 5))
        means = random.uniform(0.05, 0.95, (models, arms)).round(2)
        prior = {f"theta{n + 1}": w for n, w in enumerate(random.dirichlet(np.ones(models)))}
        given: dict[str, dict[str, float]] = {
            "gaussian": {"deviation": 0.3},
            "beta": {"concentration": 5},
        }
        problem = getattr(Problem, kind)(means, prior=prior, **given.get(kind, {}))
        pending = random.integers(0, 4, arms) * late
        _, work, hat = value_before_any_play(problem, pending)
        loss, value = by_definition(problem, hat, pending)
        np.testing.assert_allclose(work.now.loss, loss, rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(work.now.value, value, rtol=1e-7, atol=1e-13)


def test_why_gives_information_values_in_the_users_units() -> None:
    """Before any play h is 10, and the first of two models leads."""
    means = np.array([[0.5, 0.4, 0.3], [0.2, 0.6, 0.3]])
    agent = Agent(Problem.bernoulli(10 + 5 * means, range=(10, 15)), Frugal())
    why = agent.why()
    _, value = by_definition(Problem.bernoulli(means), 0, np.zeros(3))
    found = [numbers["information value"] for numbers in why.arms.values()]
    assert found == pytest.approx([5 * v for v in value])
    assert "times 10 is at least its expected loss" in why.rule
    assert why.rule.startswith("plays the arm that tells most")
    assert why.rule.endswith("the best arm of the likeliest model")
    doubting = Agent(Problem.bernoulli(means), Frugal(false_alarm=0.001)).why()
    assert doubting.rule.endswith("unless an arm that the models advise against is due for a check")


def test_without_a_use_for_information_nothing_would_be_bought() -> None:
    with pytest.raises(
        InputError, match="kappa is 0: it must be above 0, or nothing is worth its cost"
    ):
        Frugal(kappa=0)


def test_why_gives_the_information_values_of_its_own_context() -> None:
    random = np.random.default_rng(7)
    means, values = random.uniform(0.1, 0.9, (3, 2, 3)), []
    for order in ([0, 1], [1, 0]):
        problem = Problem.bernoulli(means[:, order], contexts=[["a", "b"][x] for x in order])
        agent = Agent(problem, Frugal())
        values.append([n["information value"] for x in "ab" for n in agent.why(x).arms.values()])
        assert "the arms, one per context, that together tell most" in agent.why("a").rule
    assert values[0] == pytest.approx(values[1])
    assert len(set(values[0])) == 6


def test_arms_on_which_all_models_agree_tell_exactly_nothing() -> None:
    problem = Problem.bernoulli([[0.3, 0.7, 0.1], [0.3, 0.2, 0.1], [0.3, 0.4, 0.1]])
    _, work, _ = value_before_any_play(problem, None)
    assert work.now.value[0] == work.now.value[2] == 0
    assert work.now.value[1] > 0


def test_of_many_models_some_are_drawn_while_rewards_are_pending() -> None:
    """961 models on a grid: those drawn must not all share a row or a column of it."""
    levels = (np.arange(31) + 0.5) / 31
    grid = np.stack(np.meshgrid(levels, levels, indexing="ij"), axis=-1).reshape(-1, 2)
    problem = Problem.bernoulli(grid)
    _, work, _ = value_before_any_play(problem, np.array([1, 0]))
    drawn = grid[work.rivals]
    assert len(np.unique(work.rivals)) > 28
    assert np.ptp(drawn, axis=0).min() > 0.8
    assert all(len(np.unique(column)) > 10 for column in drawn.T)
    # The drawn ones stand for all: a single pending reward changes little.
    _, at_once, _ = value_before_any_play(problem, np.array([0, 0]))
    np.testing.assert_allclose(work.now.value, at_once.now.value, rtol=0.3)
    # What is pending of one arm lowers the value of telling the same again, not of the other arm.
    _, later, _ = value_before_any_play(problem, np.array([50, 0]))
    ratio = later.now.value / at_once.now.value
    assert ratio[0] < 0.3
    assert ratio[0] < 0.6 * ratio[1]


def test_how_long_information_is_of_use() -> None:
    problem = Problem.bernoulli([[0.5, 0.4], [0.3, 0.6]])

    def h(t: int, **options: Any) -> float:
        policy = replace(Frugal(), **options)
        return h_of(prepare(policy, problem), t)

    assert h(7) == pytest.approx(10 * 7**1.1)
    assert h(7, delta=0.5, kappa=2) == pytest.approx(2 * 7**1.5)
    assert [h(t, horizon=10) for t in (1, 7, 10, 11, 99)] == [10, 4, 1, 1, 1]
    assert h(1, kappa=1e-3) == 1e-3
    assert h(10**9, delta=20) == 1e100
    assert h(1, lifetime=30) == h(10**6, lifetime=30) == 30
    assert h(10**9, change_rate=0.01) == pytest.approx(10**1.1)


def test_the_largest_ratio_over_contexts_is_found() -> None:
    """Against all choices of an arm for each of three contexts."""
    random = np.random.default_rng(0)
    means = random.random((4, 3, 3))
    problem = Problem.bernoulli(means, contexts=["a", "b", "c"], shares=[0.5, 0.3, 0.2])
    prepared, work, _ = value_before_any_play(problem, None)
    shares = [0.5, 0.3, 0.2]
    for _ in range(50):
        work.now.value[:], work.now.loss[:] = random.random(9) ** 4, random.random(9)
        value, loss = work.now.value.reshape(3, 3), work.now.loss.reshape(3, 3)
        ratios = {
            (a, b, c): np.dot(shares, value[[0, 1, 2], [a, b, c]])
            / np.dot(shares, loss[[0, 1, 2], [a, b, c]])
            for a in range(3)
            for b in range(3)
            for c in range(3)
        }
        most = max(ratios.values())
        arms, weights = prepared.theta.arms, prepared.shares
        first, second, third = (
            choose(arms, weights, work.now, context, 1.001 / most) for context in range(3)
        )
        assert ratios[first, second, third] == pytest.approx(most)
        assert choose(arms, weights, work.now, 0, 0.999 / most) == -1


def test_an_arm_that_never_pays_tells_whatever_amount_is_given_for_it() -> None:
    """Revenue: the amount of a model with chance 0 had made its divergences negative."""
    found = []
    for unused in (0.5, 0.9, 3.0, 1000.0):
        amounts = [[1, 1, 0.9], [1, 1, unused]]
        problem = Problem.revenue([[0.5, 0.3, 0.5], [0.5, 0.6, 0]], amounts, 50)
        _, work, _ = value_before_any_play(problem, None)
        found.append(work.now.value.tolist())
    assert found[0][2] > 0
    assert found == found[:1] * 4
