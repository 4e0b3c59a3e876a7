"""Bernoulli laws against SciPy and the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import bernoulli, chi_square, reproducible
from oracle import kl_bernoulli
from scipy import stats

from fpbandits import Problem
from fpbandits.families.bernoulli import BernoulliEstimator


def test_bernoulli_sum_is_binomial() -> None:
    """Seed 8; one χ² test at level 1e-4."""
    rewards = bernoulli()
    generator = np.random.default_rng(8)
    sums = [
        rewards.draw_sum(rewards.law(0), 0, 12, generator, np.zeros(rewards.statistics))
        for _ in range(20_000)
    ]
    observed = np.bincount(np.array(sums, dtype=int), minlength=13)
    expected = stats.binom.pmf(np.arange(13), 12, 0.3) * len(sums)
    assert chi_square(observed, expected) > 1e-4


@reproducible
@given(st.floats(0, 1), st.floats(0, 1))
def test_bernoulli_divergence(p: float, q: float) -> None:
    rewards = Problem.bernoulli([[p], [q]]).rewards
    value = rewards.divergence(0, np.array([1, 0]))[:, 0]
    assert value[0] == pytest.approx(kl_bernoulli(p, q), rel=1e-9, abs=1e-13)
    assert value[1] == 0
    assert value[0] >= 2 * (p - q) ** 2 * (1 - 1e-12)  # Pinsker's inequality


def test_what_always_or_never_paid_has_a_chance_near_1_or_0() -> None:
    """So near that no sample tells the difference, but one that has a logarithm."""
    estimator = BernoulliEstimator(0.0, np.ones(3))
    sums, plays = np.array([[[0.0]], [[7.0]], [[3.5]]]), np.full((3, 1), 7.0)
    parameters, common = estimator.maximise(plays, sums, np.zeros(0))
    chances = estimator.means(parameters, common)[:, 0]
    assert chances == pytest.approx([0, 1, 0.5], abs=1e-9)
    base, cost = estimator.laws(parameters, common)
    # Seven rewards as expected cost next to nothing; one that never came before, 20 nats or more.
    assert base[0, 0] == pytest.approx(0, abs=1e-9)
    assert base[1, 0] + cost[1, 0, 0] == pytest.approx(0, abs=1e-9)
    assert base[1, 0] > 20
    assert base[0, 0] + cost[0, 0, 0] > 20
