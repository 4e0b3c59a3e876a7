"""Truths near the models stay where rewards can be, and as near as they should."""

from __future__ import annotations

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.forecast.nearby import likeliest, move_means

PROBLEMS = {
    "bernoulli": fpb.Problem.bernoulli([[0.01, 0.5], [0.99, 0.5]]),
    "range": fpb.Problem.bernoulli([[1, 5], [9, 5]], range=(0, 10)),
    "values": fpb.Problem.bernoulli([[0.01, 0.5], [0.99, 0.5]], value=[3, 12]),
    "gaussian": fpb.Problem.gaussian([[0, 1], [1, 0]], deviation=2),
    "beta": fpb.Problem.beta([[0.02, 0.5], [0.98, 0.5]], concentration=3),
    "contexts": fpb.Problem.bernoulli([[[0.2, 0.3], [0.4, 0.5]]] * 2, contexts=["a", "b"]),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_moved_means_make_a_truth_and_are_near(name: str) -> None:
    problem, random = PROBLEMS[name], np.random.default_rng(1)
    farthest = 0.0
    for _ in range(50):
        means = move_means(problem, 1, 0.05, random)
        apart = np.abs(np.array(means) - problem.means[1]).max() / problem.rewards.width
        assert apart <= 0.05 + 1e-12
        farthest = max(farthest, apart)
    assert farthest > 0.04
    result = fpb.simulate(problem, "frugal", truth=means, horizon=3, runs=1)
    assert result.truth_means.ravel() == pytest.approx(np.ravel(means))


def test_near_which_models() -> None:
    many = fpb.Problem.bernoulli(
        np.random.default_rng(0).random((12, 2)), prior={"theta12": 5, "theta3": 4, "theta1": 0.1}
    )
    chosen = likeliest(many, None)
    assert len(chosen) == 8
    assert {11, 2} <= set(chosen)
    assert 0 not in chosen
    assert likeliest(many, "theta1") == [0]
    with_impossible = fpb.Problem.bernoulli([[0.1, 0.2], [0.2, 0.1]], prior={"theta2": 0})
    assert likeliest(with_impossible, None) == [0]
