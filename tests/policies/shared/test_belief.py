"""Posterior and expected loss, against the same in NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fpbandits import Problem
from fpbandits.policies import BeliefGreedy
from fpbandits.policies.shared.belief import believe, expected_loss, fill_posterior, gap
from fpbandits.policies.shared.levels import restricted, theta


def test_the_posterior_is_that_of_bayes() -> None:
    cost, posterior = np.array([3.0, 1.5, 900.0, 1.5]), np.zeros(4)
    assert fill_posterior(cost, math.inf, posterior) == 1  # the first of equals
    expected = np.exp(1.5 - cost)
    np.testing.assert_allclose(posterior, expected / expected.sum(), rtol=1e-15)
    assert posterior[2] == 0
    assert fill_posterior(np.array([1.5, 1.5, 2.0, 1.5]), math.inf, posterior) == 0
    assert fill_posterior(cost, 1.0, posterior) == 1
    assert posterior.tolist() == [0, 0.5, 0, 0.5]  # the first is 1.5 nats above


def test_likelier_models_that_do_not_fit_are_left_out() -> None:
    cost, posterior = np.array([0.0, 2.0, 1.0, 1.0, 1.0]), np.zeros(5)
    misfit = np.array([True, True, True, False, False])
    assert fill_posterior(cost, 40.0, posterior, misfit) == 3
    expected = np.array([0, math.exp(-1), 0, 1, 1])
    np.testing.assert_allclose(posterior, expected / expected.sum(), rtol=1e-15)


def test_losses_are_expected_gaps_of_eligible_arms_in_each_context() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        means = generator.choice([0.2, 0.4, 0.5, 0.9], (5, 2, 4))
        sorted_theta = theta(Problem.bernoulli(means, contexts=["a", "b"]))
        posterior = generator.dirichlet(np.ones(5))
        posterior[2] = 0
        gaps = means.max(axis=2, keepdims=True) - means
        losses = np.tensordot(posterior, gaps, 1)
        whole, second = np.zeros(8), np.zeros(4)
        expected_loss(sorted_theta, posterior, 0, whole)
        np.testing.assert_allclose(whole, losses.ravel(), rtol=1e-13)
        assert gap(sorted_theta, 6, 3) == pytest.approx(gaps[3, 1, 2])
        among = [0, 2, 3]  # in the second context
        expected_loss(restricted(sorted_theta, 1, among), posterior, 4, second)
        tops = means[:, 1, among].max(axis=1, keepdims=True)
        np.testing.assert_allclose(second[among], posterior @ (tops - means[:, 1, among]))
        assert second[1] == math.inf


def test_beliefs_are_likelihood_times_prior_and_leak_if_the_truth_changes() -> None:
    problem = Problem.bernoulli([[0.5, 0.4], [0.3, 0.6]], prior={"theta1": 3, "theta2": 1})
    deficit, posterior = np.array([2.0, 0.0]), np.zeros(2)
    for rate in (0.0, 0.1):
        policy = BeliefGreedy(change_rate=rate)
        state, sorted_theta = policy.new_state(problem), theta(problem)
        state.counters[0] = 1  # one play so far
        cost = deficit.copy()
        believe(sorted_theta, sorted_theta.prior, state, cost, rate, None)
        fill_posterior(cost, math.inf, posterior)
        before = np.array([3 * math.exp(-2), 1])
        expected = (1 - rate) * before / before.sum() + rate * np.array([0.75, 0.25])
        np.testing.assert_allclose(posterior, expected, rtol=1e-12)
