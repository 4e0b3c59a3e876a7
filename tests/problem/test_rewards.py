"""Rewards as users give them: what is a number, where it is on [0, 1], and what is said if not."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

from fpbandits import InputError, Problem
from fpbandits.problem.rewards import unit_reward

SALES = Problem.bernoulli([[9, 6]], range=(-5, 15)).rewards
PAID = Problem.bernoulli([[0.5, 0.25]], value=[9, 12]).rewards
NORMAL = Problem.gaussian([[30, 20]], 5).rewards
STARS = Problem.discrete([[[0.5, 0.5]]], [1, 5], range=(1, 5)).rewards


@pytest.mark.parametrize(
    "reward",
    [5, 5.0, np.float64(5), np.int32(5), np.array(5.0), Fraction(5), Decimal(5)],
    ids=lambda reward: type(reward).__name__,
)
def test_numbers_of_any_type(reward: Any) -> None:
    assert unit_reward(SALES, reward) == 0.5
    assert type(unit_reward(SALES, reward)) is float


def test_truths_are_1_and_0() -> None:
    rewards, false = Problem.bernoulli([[0.5]]).rewards, cast(Any, np.bool_(False))
    assert unit_reward(rewards, True) == 1
    assert unit_reward(rewards, false) == 0


@pytest.mark.parametrize(
    "reward",
    [None, "5", b"5", [5], np.array([5.0]), np.array([[5.0]]), 5j, np.timedelta64(5, "s"), 10**400],
)
def test_what_is_no_number_is_refused(reward: Any) -> None:
    with pytest.raises(InputError, match="the reward must be a number, not ") as caught:
        unit_reward(SALES, reward, ("arm", "a"))
    assert caught.value.place == (("arm", "a"),)


def test_the_ends_of_the_range_are_0_and_1() -> None:
    assert [unit_reward(SALES, reward) for reward in (-5, 15)] == [0, 1]
    assert [unit_reward(STARS, reward) for reward in (1, 2, 5)] == [0, 0.25, 1]


@pytest.mark.parametrize(
    ("rewards", "reward", "words"),
    [
        (
            SALES,
            16,
            "the reward 16 is outside the range [-5, 15]: a problem whose rewards are in [-5, 16] "
            'says range = [-5, 16], and reward = "discrete" or "beta" where rewards are not all or '
            "nothing",
        ),
        (
            STARS,
            0.5,
            "the reward 0.5 is outside the range [1, 5]: a problem whose rewards are in [0.5, 5] "
            "says range = [0.5, 5]",
        ),
        (STARS, float("inf"), "the reward inf is outside the range [1, 5]"),
        (STARS, float("nan"), "the reward nan is outside the range [1, 5]"),
        (
            PAID,
            13,
            "the reward 13 is outside the range [0, 12]: an arm pays 0, or its value in the "
            "problem",
        ),
        (
            NORMAL,
            1e102,
            "the reward 1e+102 is too large to be added up: it may be at most 1e+100 deviations "
            "from what models expect",
        ),
    ],
)
def test_what_is_said_of_a_reward_that_cannot_be(rewards: Any, reward: float, words: str) -> None:
    with pytest.raises(InputError) as caught:
        unit_reward(rewards, reward, ("arm", "a"))
    assert caught.value.reason == words
    assert caught.value.place == (("arm", "a"),)


def test_normal_rewards_are_finite() -> None:
    assert abs(unit_reward(NORMAL, 1e99)) < 1e100
    for reward in (float("inf"), -float("inf"), float("nan")):
        with pytest.raises(InputError, match="outside the range"):
            unit_reward(NORMAL, reward)
