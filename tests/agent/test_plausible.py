"""How well models fit, against sums in plain Python."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest
from oracle import kl_bernoulli

from fpbandits import Agent, Problem
from fpbandits.agent.plausible import margins, posterior_margins

MEANS = [[0.2, 0.5, 0.6], [0.9, 0.1, 0.4]]
PLAYS, SUMS = np.array([3, 0, 1]), np.array([1.0, 0.0, 0.75])


def test_rewards_in_a_range_are_judged_by_divergences() -> None:
    """Of the arms that were played: 3 rewards of mean 1/3, and one of 0.75."""
    allowed = log(1 / 0.05) + log(4) + log(2)
    misfits = [3 * kl_bernoulli(1 / 3, row[0]) + kl_bernoulli(0.75, row[2]) for row in MEANS]
    expected = [allowed - misfit for misfit in misfits]
    for problem in (Problem.bernoulli(MEANS), Problem.beta(MEANS, 7.0)):
        assert margins(problem, PLAYS, SUMS, 0.05).tolist() == pytest.approx(expected)


def test_normal_rewards_are_judged_by_squares() -> None:
    """On a scale where their deviation is ½."""
    problem = Problem.gaussian(MEANS, deviation=2)
    means = problem.rewards.unit_means.tolist()
    misfits = [2 * (1 - 3 * row[0]) ** 2 / 4 + 2 * (0.75 - row[2]) ** 2 / 2 for row in means]
    expected = [log(1 / 0.2) + log(4) + log(2) - misfit for misfit in misfits]
    assert margins(problem, PLAYS, SUMS, 0.2).tolist() == pytest.approx(expected)


def test_a_truth_that_moves_is_judged_by_the_posterior() -> None:
    found = posterior_margins(np.array([0.6, 0.4, 0.0]), 0.01)
    assert found.tolist() == pytest.approx([log(0.6 * 300), log(0.4 * 300), -inf])


def test_a_false_alarm_is_one_in_a_thousand_unless_the_policy_says_otherwise() -> None:
    problem = Problem.bernoulli(MEANS, models=["x", "y"])
    for word, alarm in (("ucb1", 1e-3), ("frugal", 1e-3), ("frugal:false_alarm=0.25", 0.25)):
        fitting = Agent(problem, word).plausible()
        assert fitting == pytest.approx({"x": -log(alarm), "y": -log(alarm)})


def test_a_model_is_plausible_as_long_as_it_is_not_above_what_is_allowed() -> None:
    """Zeros of an arm of mean ½, of which each costs ln 2."""
    agent = Agent(Problem.bernoulli([[0.5], [0.1]]), "ucb1")
    for n in range(1, 20):
        agent.observe("arm1", 0)
        left = log(1000) + log(n + 1) - n * log(2)
        assert agent.plausible().get("theta1") == (pytest.approx(left) if left >= 0 else None)
        assert n != 13 or 0 < left < 1
