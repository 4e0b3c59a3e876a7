"""Theorem 2 asks for nothing where nothing need be paid."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from oracle import kl_bernoulli
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


def test_a_single_cheapest_mixture_is_exact() -> None:
    """Of gains and needs of different size: no digit is lost."""
    gain = np.array([[2e-3, 0.0], [0.0, 3e2]])
    assert _cover(gain, np.array([1.0, 7.0])) == pytest.approx([500, 7 / 300], rel=1e-14)
    assert _cover(gain, np.array([1.0, -7.0])) == pytest.approx([500, 0], rel=1e-14)
    assert _cover(gain, np.array([0.0, -7.0])).tolist() == [0, 0]
    assert _cover(np.array([[4.0, 1.0]]), np.array([3.0])) == pytest.approx([0.75, 0], rel=1e-14)


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e7])
def test_of_equally_cheap_arms_each_is_played_as_often(scale: float) -> None:
    found = _cover(scale * np.array([[2.0, 2.0, 1.0]]), np.array([1.0]))
    assert found == pytest.approx([0.25 / scale, 0.25 / scale, 0], rel=1e-6, abs=1e-8 / scale)
    two = _cover(scale * np.array([[3.0, 3.0], [1.0, 0.5]]), np.array([6.0, 1.0]))
    # x + y = 2 and x + y/2 ≥ 1 leave x ≥ 0: the most even is (1, 1).
    assert two == pytest.approx([1 / scale, 1 / scale], rel=1e-6)


def test_arms_that_tie_for_best_tell_what_they_can_at_no_cost() -> None:
    """theta3 is told by arm2, which is as good; theta2 only by arm3. Each takes 1/kl plays."""
    problem = Problem.bernoulli(
        [[0.5, 0.5, 0.3, 0.2], [0.5, 0.5, 0.8, 0.2], [0.5, 0.7, 0.3, 0.2], [0.5, 0.5, 0.3, 0.2]]
    )
    case = analyze(problem, "theta1").cases[0]
    assert case.theorem2.confusion_set == ("theta2", "theta3")
    pulls = case.theorem2.all_arms.pulls
    expected = {"arm2": 1 / kl_bernoulli(0.5, 0.7), "arm3": 1 / kl_bernoulli(0.3, 0.8), "arm4": 0}
    assert pulls == {arm: pytest.approx(plays) for arm, plays in expected.items()}
    assert case.theorem2.all_arms.coefficient == pytest.approx(0.2 / kl_bernoulli(0.3, 0.8))
    # Plays of arm3 tell of theta3 as well, so that fewer of arm2 are missing.
    problem = Problem.bernoulli([[0.5, 0.5, 0.3], [0.5, 0.5, 0.8], [0.5, 0.7, 0.4]])
    pulls = analyze(problem, "theta1").cases[0].theorem2.all_arms.pulls
    own = 1 - pulls["arm3"] * kl_bernoulli(0.3, 0.4)
    assert 0 < own < 1
    assert pulls["arm2"] == pytest.approx(own / kl_bernoulli(0.5, 0.7))
