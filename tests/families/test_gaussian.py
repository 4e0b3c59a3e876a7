"""Normal laws: sums, units of 2σ, what a file says of them, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import reproducible
from scipy import stats

from fpbandits import Agent, InputError, Optimist, Problem, load_problem


def test_a_sum_is_one_normal_draw() -> None:
    """Seed 4; K-S tests of sums of 1, 7 and 10⁹ rewards, each at level 1e-5."""
    mean, deviation = 37.0, 5.0
    rewards = Problem.gaussian([[mean, 30], [20, 60]], deviation).rewards
    generator = np.random.default_rng(4)
    for plays in (1, 7, 10**9):
        drawn = [
            rewards.draw_sum(rewards.law(0), 0, plays, generator, np.zeros(1)) for _ in range(4000)
        ]
        sums = rewards.zero * plays + rewards.width * np.array(drawn)
        law = stats.norm(plays * mean, math.sqrt(plays) * deviation)
        assert stats.kstest(sums, law.cdf).pvalue > 1e-5


def test_which_numbers_a_seed_draws() -> None:
    rewards = Problem.gaussian([[37.0, 30], [20, 60]], 5.0).rewards
    generator, statistics = np.random.default_rng(4), np.zeros(1)
    normal = np.random.default_rng(4).standard_normal()
    mean = float(rewards.law(0)[1, 0])
    drawn = rewards.draw_sum(rewards.law(0), 1, 9, generator, statistics)
    assert drawn == statistics[0] == 9 * mean + 1.5 * normal


@reproducible
@given(st.floats(-1e6, 1e6), st.floats(0.1, 1e3), st.floats(-20, 20), st.floats(-20, 20))
def test_divergence_is_the_squared_distance_over_twice_the_variance(
    middle: float, deviation: float, one: float, other: float
) -> None:
    means = [[middle + one * deviation], [middle + other * deviation]]
    value = Problem.gaussian(means, deviation).rewards.divergence(0, np.array([1]))[0, 0]
    distance = means[0][0] - means[1][0]
    assert value == pytest.approx(distance**2 / (2 * deviation**2), rel=1e-8, abs=1e-8)


@reproducible
@given(st.floats(1e-6, 1e6), st.floats(-1e3, 1e3))
def test_units_do_not_matter(scale: float, shift: float) -> None:
    """In other units, and from another 0, the problem on the scale of 2σ is the same."""
    means = np.array([[3.0, 8.0, 4.5], [9.0, 0.5, 2.0]])
    one = Problem.gaussian(means, 2).rewards
    other = Problem.gaussian(scale * (means + shift), 2 * scale).rewards
    np.testing.assert_allclose(other.unit_means, one.unit_means, rtol=1e-9, atol=1e-9)
    spread = other.unit_means.max() - other.unit_means.min()
    assert spread == pytest.approx((9 - 0.5) / (2 * 2), rel=1e-9)


def test_digits_survive_far_from_zero() -> None:
    """Means a million deviations from 0, and a thousandth of one apart: 0 lies between them."""
    rewards = Problem.gaussian([[1e6, 1e6 + 0.001]], 1.0).rewards
    assert np.abs(rewards.unit_means).max() < 0.001
    assert rewards.zero == pytest.approx(1e6 + 0.0005)


def test_rewards_of_any_size_are_told(tmp_path: Path) -> None:
    agent = Agent(Problem.gaussian([[30, 20], [10, 20]], deviation=5), Optimist())
    for reward in (-1e6, 1e6, 25):
        agent.tell(agent.ask().id, reward)
    with pytest.raises(InputError, match="nan"):
        agent.tell(agent.ask().id, math.nan)
    with pytest.raises(InputError, match="inf"):
        agent.tell(agent.ask().id, math.inf)
    agent.save(tmp_path / "agent.json")
    again = Agent.load(tmp_path / "agent.json", agent.problem)
    assert again.ask().arm == agent.ask().arm


def test_means_and_deviations_at_their_limits() -> None:
    for deviation in (0.5, 1.0, 4.0, 1e-100, 1e100):
        apart = 1e6 * min(deviation, 1e90)
        assert Problem.gaussian([[0, apart]], deviation).rewards.width == 2 * deviation
        if deviation < 1e90:
            with pytest.raises(InputError, match="more than a million times the deviation"):
                Problem.gaussian([[0, 1.001 * apart]], deviation)
    for means, deviation in (([[0, 1.001e100]], 1e99), ([[0, 1]], 1.001e100), ([[0, 0]], 9e-101)):
        with pytest.raises(InputError):
            Problem.gaussian(means, deviation)


@pytest.mark.parametrize(
    ("means", "deviation", "naming", "message"),
    [
        ([[0.5, 1.0]], 0, {}, "deviation is 0: it must be above 0"),
        ([[0.5, 1.0]], -2, {}, "deviation is -2: it must be above 0"),
        ([[0.5, 1.0]], math.nan, {}, "deviation: nan is not a finite number"),
        ([[0.5, 1.0]], "2", {}, "deviation: expected a number, not the text '2'"),
        ([[0.5, math.inf]], 1, {}, "arm 'arm2': inf is not a finite number"),
        ([[0, 1e7]], 1, {}, "more than a million times the deviation 1 apart"),
        ([[0.5, 1.0]], 1, {"range": (0, 1)}, "gaussian rewards have no range: leave it out"),
    ],
)
def test_gaussian_refusals(means: Any, deviation: Any, naming: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Problem.gaussian(means, deviation, **naming)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("", "deviation"),
        ("deviation = 0", "deviation is 0: it must be above 0"),
        ("deviation = 1\nrange = [0, 1]", "gaussian rewards have no range: leave it out"),
        ("deviation = 1\nconcentration = 3", "concentration"),
    ],
)
def test_what_a_file_must_say(tmp_path: Path, lines: str, message: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(f'reward = "gaussian"\n{lines}\n[models]\na = [1, 2]\nb = [2, 1]\n')
    with pytest.raises(InputError) as caught:
        load_problem(path)
    assert message in str(caught.value)
    assert "prices.toml" in str(caught.value)
    assert "\n" not in str(caught.value)
