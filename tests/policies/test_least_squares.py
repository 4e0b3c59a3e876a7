"""Greedy least squares: the best arm of the nearest model, also where that is a trap."""

from __future__ import annotations

import numpy as np
import pytest
from moments import Moment, assert_certain_as, moments
from plans import random_problem
from reference import best_arm, first_least

from fpbandits import Agent, Problem, simulate
from fpbandits.policies import LeastSquares


def test_it_is_certain_while_models_with_another_best_arm_surely_fit_worse() -> None:
    """Σ n(μ̂ − μ)² grows by what any rewards of the arm add to the difference to the nearest one.

    j plays of sum s add j(q² − r²) − 2s(q − r) to a model of mean q, against r of the nearest.
    """

    def stays(one: Moment, more: int, by: float) -> bool:
        models, n, played = one.unit_means, one.state.plays, one.cycle[0]
        costs = (n * (one.seen - models) ** 2).sum(axis=1)
        nearest = first_least(costs.tolist())
        plays, least, most = one.sums_ahead(played, more)
        for model, cost in enumerate(costs - costs[nearest]):
            if best_arm(models[model].tolist()) != played:
                q, r = models[model, played], models[nearest, played]
                added = [plays * (q * q - r * r) - 2 * s * (q - r) for s in (least, most)]
                # What the bracket spares for rounding is a ten-millionth, where rewards tell.
                if cost + np.min(added) <= 1e-9 + (1.1e-7 if q != r else 0.0) - 20 * by:
                    return False
        return True

    assert_certain_as(stays, moments(LeastSquares(), 200))


def test_it_gets_stuck_where_its_arm_does_not_tell_models_apart() -> None:
    problem = Problem.bernoulli([[0.5, 0.4], [0.5, 0.6]])
    result = simulate(problem, LeastSquares(), truth="theta2", horizon=10**9, runs=3)
    assert result.pulls["least-squares"][:, -1].tolist() == [[10**9, 0]] * 3
    assert result.final_regret("least-squares").tolist() == pytest.approx([0.1 * 10**9] * 3)


def test_it_plays_the_best_arm_of_the_nearest_model() -> None:
    generator = np.random.default_rng(6)
    for _ in range(10):
        problem = random_problem(generator)
        agent = Agent(problem, LeastSquares())
        arms = len(problem.arms)
        n, S = np.zeros(arms), np.zeros(arms)
        for _ in range(20):
            arm, reward = int(generator.integers(arms)), float(generator.random())
            agent.observe(problem.arms[arm], reward)
            n[arm] += 1
            S[arm] += reward
        distance = (n * (S / np.maximum(n, 1) - problem.means) ** 2).sum(axis=1)
        nearest = problem.means[distance.argmin()]
        assert agent.ask().arm == problem.arms[int(nearest.argmax())]
