"""Theorem 2 asks for nothing where nothing need be paid."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from fpbandits import Problem, analyze, load_problem
from fpbandits.theory.lower import _cover


def test_ties_force_no_exploration() -> None:
    """Theorem 2 as printed asks 2.466 · ln T where nothing need be paid."""
    case = analyze(load_problem("paper:grid"), "0.4,0.6,0.3,0.2").cases[0]
    assert len(case.confusion_set) == 16
    assert case.theorem2.confusion_set == ()
    assert case.theorem2.coefficient == 0
    assert case.theorem2.printed.coefficient == pytest.approx(2.466, abs=0.0005)
    assert "best there too" in case.verdict


def test_equal_means_with_another_law_force_no_exploration() -> None:
    problem = Problem.discrete(
        [
            [[0.5, 0.0, 0.5], [0.7, 0.1, 0.2]],
            [[0.0, 1.0, 0.0], [0.1, 0.1, 0.8]],
        ],
        support=[0, 0.5, 1],
    )
    case = analyze(problem, "theta1").cases[0]
    assert case.confusion_set == ("theta2",)
    assert case.theorem2.confusion_set == ()
    assert case.theorem2.coefficient == 0
    assert case.theorem2.printed.coefficient > 0
    assert "another law" in case.verdict


def test_sure_rewards_make_information_infinite() -> None:
    """One reward of 1 rules out a mean of 0: no logarithm is forced."""
    problem = Problem.bernoulli([[0.6, 0.3, 0.5], [0.6, 0.9, 0.0]])
    case = analyze(problem, "theta1").cases[0]
    assert case.theorem2.coefficient > 0
    assert case.theorem2.all_arms.coefficient == 0
    json.dumps(analyze(problem).as_dict(), allow_nan=False)


def test_the_most_even_of_the_cheapest_has_the_least_norm() -> None:
    """Against a general solver, on 150 small programs of which many have several minimisers."""
    generator = np.random.default_rng(0)
    several = 0
    for _ in range(150):
        gain = generator.integers(0, 4, (generator.integers(1, 6), generator.integers(2, 6)))
        gain = gain[gain.max(axis=1) > 0].astype(float)
        if not len(gain):
            continue
        need, arms = np.ones(len(gain)), gain.shape[1]
        found = _cover(gain, need)
        cheapest = linprog(np.ones(arms), A_ub=-gain, b_ub=-need).fun
        assert (gain @ found >= need - 1e-7).all()
        assert found.sum() == pytest.approx(cheapest, rel=1e-7)
        solve: Any = minimize
        best = solve(
            lambda x: x @ x,
            found + generator.random(arms),
            constraints=[
                {"type": "ineq", "fun": lambda x, gain=gain, need=need: gain @ x - need},
                {"type": "eq", "fun": lambda x, cheapest=cheapest: x.sum() - cheapest},
            ],
            bounds=[(0, None)] * arms,
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        if best.success:
            assert found @ found <= best.fun + 1e-5
            several += bool(np.count_nonzero(found) > len(gain))
    assert several > 10
