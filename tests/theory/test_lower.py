"""Theorem 2 asks for nothing where nothing need be paid."""

from __future__ import annotations

import json

import pytest

from fpbandits import Problem, analyze, load_problem


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
