"""What every family promises of its draws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from laws import bernoulli, discrete, families

from fpbandits.families import RewardFamily


@pytest.mark.parametrize("rewards", families(), ids=lambda family: family.name)
def test_draws_have_the_mean_and_stay_in_the_unit_interval(rewards: RewardFamily) -> None:
    """Seed 7; 4 z-tests at 5 standard errors: a false alarm in 4e5 seeds for each family."""
    generator = np.random.default_rng(7)
    for parameter in (0, 1):
        for arm in (0, 1):
            law = rewards.law(parameter)
            sample = np.array(
                [
                    rewards.draw_sum(law, arm, 1, generator, np.zeros(rewards.statistics))
                    for _ in range(20_000)
                ]
            )
            assert sample.min() >= 0
            assert sample.max() <= 1
            error = sample.std() / math.sqrt(len(sample)) + 1e-12
            assert abs(sample.mean() - rewards.unit_means[parameter, arm]) < 5 * error


def test_huge_sums_take_one_draw() -> None:
    generator = np.random.default_rng(3)
    plays = 10**15
    for rewards in (bernoulli(), discrete()):
        assert rewards.sum_in_one_draw
        mean = (
            rewards.draw_sum(rewards.law(0), 0, plays, generator, np.zeros(rewards.statistics))
            / plays
        )
        # Eight standard deviations of a mean of 1e15 rewards.
        assert abs(mean - rewards.unit_means[0, 0]) < 8 * 0.5 / math.sqrt(plays)
