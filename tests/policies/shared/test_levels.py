"""Θ by level, against loops over every model and arm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from plans import random_problem

from fpbandits import Problem
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.levels import prior_cost, restricted, theta


def test_levels_by_plain_loops() -> None:
    generator = np.random.default_rng(2)
    for _ in range(60):
        problem = random_problem(generator)
        means = problem.rewards.unit_means.tolist()
        found = theta(problem)
        assert not found.by_law
        for model, row in enumerate(means):
            best = [arm for arm, mean in enumerate(row) if mean >= max(row) - 1e-12]
            assert found.best[0, model] == best[0]
            assert found.top[0, model] == row[best[0]]
            assert np.flatnonzero(found.is_best[:, model]).tolist() == best
            for arm, mean in enumerate(row):
                code = found.codes[arm, model]
                assert found.levels[arm, code] == mean
                assert found.win[arm, code] == pytest.approx(-math.log(mean), rel=1e-12, abs=0)
                assert found.loss[arm, code] == pytest.approx(-math.log1p(-mean), rel=1e-12, abs=0)
        for arm in range(len(problem.arms)):
            own = sorted({row[arm] for row in means})
            assert found.counts[arm] == len(own)
            assert found.levels[arm, : len(own)].tolist() == own


def test_what_a_model_rules_out_is_dear_but_finite() -> None:
    found = theta(Problem.bernoulli([[0.0, 1.0], [0.5, 0.5]]))
    zero, one = found.codes[0, 0], found.codes[1, 0]
    assert found.win[0, zero] == found.loss[1, one] == IMPOSSIBLE
    assert found.loss[0, zero] == found.win[1, one] == 0
    assert np.isfinite(found.win).all()
    assert np.isfinite(found.loss).all()


def test_by_law_levels_are_different_distributions() -> None:
    """Equal means of other laws are two levels; entries that no law needs are never looked up."""
    laws: list[list[list[float]]] = [
        [[0, 1, 0], [0.5, 0, 0.5]],
        [[0.5, 0, 0.5], [0.5, 0, 0.5]],
        [[0.25, 0, 0.75], [0.25, 0, 0.75]],
    ]
    problem = Problem.discrete(laws, [0, 0.5, 1])
    found, by_means = theta(problem, by_law=True), theta(problem)
    assert (found.by_law, by_means.by_law) == (True, False)
    assert (found.counts.tolist(), by_means.counts.tolist()) == ([3, 2], [2, 2])
    for arm in range(2):
        for model, by_arm in enumerate(laws):
            law, code = by_arm[arm], found.codes[arm, model]
            assert found.levels[arm, code] == pytest.approx(np.dot(law, [0, 0.5, 1]))
            costs = found.base[arm, code] + found.cost[arm, code]
            expected = [-math.log(chance) if chance else IMPOSSIBLE for chance in law]
            np.testing.assert_allclose(costs - costs.min(), np.subtract(expected, min(expected)))
    assert found.win.size == found.loss.size == by_means.base.size == by_means.cost.size == 0


def test_normal_rewards_cost_nothing_by_their_range() -> None:
    found = theta(Problem.gaussian([[1.0, 2.0]], 3))
    assert found.normal
    assert found.win.size == found.loss.size == 0
    assert not theta(Problem.bernoulli([[0.5, 0.4]])).normal


def test_among_some_arms_the_best_is_the_best_of_these() -> None:
    """In one context; the others, and what is costly, stay as they were."""
    generator = np.random.default_rng(5)
    for _ in range(20):
        means = generator.choice([0.2, 0.4, 0.7], (6, 2, 4))
        whole = theta(Problem.bernoulli(means, contexts=["a", "b"]))
        assert (whole.arms, whole.eligible.tolist()) == (4, [True] * 8)
        among = [0, 2, 3]
        found = restricted(whole, 1, among)
        assert found.eligible.tolist() == [True] * 5 + [False] + [True] * 2
        assert whole.eligible.all()
        for context, arms in ((0, [0, 1, 2, 3]), (1, among)):
            for model in range(6):
                row = means[model, context]
                best = [arm for arm in arms if row[arm] == max(row[arms])]
                assert found.best[context, model] == best[0]
                assert found.top[context, model] == row[best[0]]
                marks = found.is_best[4 * context : 4 * context + 4, model]
                assert np.flatnonzero(marks).tolist() == best
        assert (found.codes, found.levels, found.win) == (whole.codes, whole.levels, whole.win)


def test_means_that_differ_by_rounding_tie() -> None:
    found = theta(Problem.bernoulli([[0.3, 0.1 + 0.2, 0.3 - 1e-11]]))
    assert found.is_best[:, 0].tolist() == [True, True, False]
    assert (found.best[0, 0], found.top[0, 0]) == (0, 0.3)
    # Of 0.3 and 0.1 + 0.2 the first is taken, also among these alone.
    again = restricted(theta(Problem.bernoulli([[0.3, 0.1 + 0.2, 0.9]])), 0, [0, 1])
    assert again.is_best[:, 0].tolist() == [True, True, False]
    assert (again.best[0, 0], again.top[0, 0]) == (0, 0.3)


def test_what_a_prior_costs() -> None:
    found = prior_cost([1.0, 4.0, 0.0])
    assert found.tolist() == pytest.approx([math.log(4), 0, IMPOSSIBLE])
    weighted = Problem.bernoulli([[0.5], [0.4]], prior={"theta1": 3, "theta2": 1})
    assert theta(weighted).prior.tolist() == pytest.approx([0, math.log(3)])
    assert theta(Problem.bernoulli([[0.5], [0.4]])).prior.tolist() == [0, 0]
