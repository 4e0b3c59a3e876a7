"""Discrete laws against exact arithmetic, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from laws import LAWS, chi_square, discrete
from oracle import kl_discrete

from fpbandits import InputError, Problem


def test_discrete_sum_is_the_convolution() -> None:
    """Seed 9; one χ² test at level 1e-4, against the law of the sum by repeated convolution."""
    rewards = discrete()
    generator = np.random.default_rng(9)
    plays = 5
    law = {Fraction(0): Fraction(1)}
    step = {
        Fraction(0): Fraction(2, 10),
        Fraction(1, 4): Fraction(3, 10),
        Fraction(1): Fraction(1, 2),
    }
    for _ in range(plays):
        summed: dict[Fraction, Fraction] = {}
        for total, p in law.items():
            for value, q in step.items():
                summed[total + value] = summed.get(total + value, Fraction(0)) + p * q
        law = summed
    values = sorted(law)
    sums = [
        rewards.draw_sum(rewards.law(0), 0, plays, generator, np.zeros(rewards.statistics))
        for _ in range(20_000)
    ]
    observed = np.array([sums.count(float(value)) for value in values])
    assert observed.sum() == len(sums)
    expected = np.array([float(law[value]) for value in values]) * len(sums)
    assert chi_square(observed, expected) > 1e-4


def test_discrete_divergence() -> None:
    rewards = discrete()
    forth, back = rewards.divergence(0, np.array([1])), rewards.divergence(1, np.array([0]))
    assert forth[0].tolist() == [math.inf, pytest.approx(kl_discrete(LAWS[0][1], LAWS[1][1]))]
    assert back[0, 0] == pytest.approx(kl_discrete(LAWS[1][0], LAWS[0][0]))
    assert back[0, 1] == math.inf


def test_probabilities_are_made_to_add_up() -> None:
    third = 0.33333333333
    problem = Problem.discrete([[[third, third, third]]], [0, 0.5, 1])
    assert problem.means[0, 0] == pytest.approx(0.5, abs=1e-15)


def test_sums_that_are_1_but_for_rounding_stay() -> None:
    """Four units of rounding for each value: eight of two values."""
    eps = 2.0**-52
    for units, stays in ((8, True), (-8, True), (10, False), (-10, False)):
        law = [0.5, 0.5 + units * eps]
        found = Problem.discrete([[law]], [0, 1]).rewards.content["rows"]
        assert (np.asarray(found)[0, 0].tolist() == law) == stays
        assert abs(np.asarray(found).sum() - 1) <= 8 * eps


def test_a_reward_outside_the_support_is_refused_in_its_own_units() -> None:
    for count, listed in (
        (8, "10, 20, 30, 40, 50, 60, 70, 80"),
        (9, "10, 20, 30, 40, 50, 60, 70, 80, …"),
    ):
        support = [10.0 * n for n in range(1, count + 1)]
        rewards = Problem.discrete([[[1 / count] * count]], support, range=(0, 200)).rewards
        assert rewards.statistics_of(0, 0.1) == (0, 1, *[0] * (count - 2))
        with pytest.raises(InputError) as caught:
            rewards.statistics_of(0, 0.125)
        assert str(caught.value) == f"25 is not in the support [{listed}]"


@pytest.mark.parametrize(
    ("laws", "support", "message"),
    [
        ([[[0.5, 0.4]]], [0, 1], "arm 'arm1': the probabilities add up to 0.9, not 1"),
        ([[[1.5, -0.5]]], [0, 1], "arm 'arm1': 1.5 is not a probability"),
        ([[[0.5, -0.5]]], [0, 1], "arm 'arm1': -0.5 is not a probability"),
        ([[[1e308, 1e308]]], [0, 1], "arm 'arm1': 1e+308 is not a probability"),
        ([[[0.5, 0.4999]]], [0, 1], "the probabilities add up to 0.9999, not 1"),
        ([[[1.0]]], [0, 1], "arm 'arm1': 1 probabilities for a support of 2 values"),
        ([[0.5]], [0, 1], "arm 'arm1': expected a list of 2 probabilities, not 0.5"),
        ([[[0.5, "x"]]], [0, 1], "arm 'arm1': expected a number, not the text 'x'"),
        ([[[0.5, float("nan")]]], [0, 1], "nan is not a finite number"),
        ([[[0.5, 0.5]]], [0, 2], "support: 2 is outside the range [0, 1]"),
        ([[[0.5, 0.5]]], [1, 1], "support: 1 stands there twice"),
        ([[[0.5, 0.5]]], [], "support must be a list of the possible rewards"),
        ([[[0.5, 0.5]]], "01", "support must be a list of the possible rewards"),
        (np.full((1, 1, 3), 1 / 3), [0, 1], "3 probabilities per arm for a support of 2 values"),
        (np.array([[[0.5, np.nan]]]), [0, 1], "nan is not a probability"),
    ],
)
def test_discrete_refusals(laws: Any, support: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        Problem.discrete(laws, support)
    assert message in str(caught.value)
