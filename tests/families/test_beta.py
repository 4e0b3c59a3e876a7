"""Beta laws against numerical integration, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from laws import beta
from oracle import kl_beta
from scipy.special import polygamma

from fpbandits import InputError, Problem, fit


def test_a_beta_sum_is_as_good_as_its_draws() -> None:
    rewards = beta()
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    assert rewards.draw_sum(
        rewards.law(0), 1, 50, one, np.zeros(rewards.statistics)
    ) == pytest.approx(
        sum(
            rewards.draw_sum(rewards.law(0), 1, 1, other, np.zeros(rewards.statistics))
            for _ in range(50)
        )
    )
    assert not rewards.sum_in_one_draw


def test_a_concentration_below_1_is_found() -> None:
    """Of rewards near 0 and 1; 20,000 of them know ln c to 1 %, so this is 10 standard errors."""
    users, mean, c = np.arange(20_000), 0.4, 0.5
    values = np.random.default_rng(3).beta(c * mean, c * (1 - mean), users.size)
    log = {"user": users, "arm": np.where(users % 2, "a", "b"), "reward": values}
    found = fit(log, unit="user", arm="arm", reward="reward", family="beta", types=1, range=(0, 1))
    fitted: Any = found.problem.rewards.content["concentration"]
    assert math.log(fitted / c) == pytest.approx(0, abs=0.1)


@pytest.mark.parametrize(("p", "q"), [(0.3, 0.31), (0.3, 0.8), (0.9, 0.05), (0.5, 0.5001)])
@pytest.mark.parametrize("concentration", [0.8, 3.5, 200.0])
def test_beta_divergence(p: float, q: float, concentration: float) -> None:
    rewards = Problem.beta([[p], [q]], concentration).rewards
    value = rewards.divergence(0, np.array([1, 0]))[:, 0]
    assert value[0] == pytest.approx(kl_beta(p, q, concentration), rel=1e-6)
    assert value[1] == 0


def test_beta_divergence_between_near_neighbours() -> None:
    """To leading order it is the step squared times half the curvature of ln Γ, ψ₁."""
    p, step, c = 0.3, 1e-6, 1e6
    value = Problem.beta([[p], [p + step]], c).rewards.divergence(0, np.array([1]))[0, 0]
    curvature = polygamma(1, c * p) + polygamma(1, c * (1 - p))
    assert value == pytest.approx((c * step) ** 2 / 2 * float(curvature), rel=1e-5)


def test_beta_divergence_is_continuous_where_the_formula_changes() -> None:
    """Beside a step of one hundredth the series takes over from the closed form."""
    p = 0.5
    for q in (p * 1.00999, p * 1.01001):
        rewards = Problem.beta([[p], [q]], 40.0).rewards
        assert rewards.divergence(0, np.array([1]))[0, 0] == pytest.approx(
            kl_beta(p, q, 40.0), rel=1e-7
        )


@pytest.mark.parametrize(
    ("means", "concentration", "message"),
    [
        ([[0.5, 1.0]], 3, "arm 'arm2': the mean 1 of a beta arm must lie strictly inside"),
        ([[0.5, 0.9]], 0, "concentration is 0: it must be above 0"),
        ([[0.5, 0.9]], 1e16, "it must be above 0 and at most 1e15"),
        ([[0.5, 1e-200]], 10, "arm 'arm2': with concentration 10 the mean 1e-200 is too near to"),
        ([[0.5, 0.9]], float("nan"), "concentration: nan is not a finite number"),
        ([[0.5, 0.9]], "3", "concentration: expected a number, not the text '3'"),
    ],
)
def test_beta_refusals(means: Any, concentration: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Problem.beta(means, concentration)
    assert message in str(caught.value)
