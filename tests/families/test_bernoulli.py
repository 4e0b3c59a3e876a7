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
