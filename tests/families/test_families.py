"""Reward laws against SciPy, numerical integration and exact arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import kl_bernoulli, kl_beta, kl_discrete
from scipy import stats
from scipy.special import polygamma

from fpbandits import Problem
from fpbandits.families import RewardFamily

reproducible = settings(max_examples=100, deadline=None, derandomize=True, database=None)
SUPPORT = [0.0, 0.25, 1.0]
LAWS = [[[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]], [[0.6, 0.4, 0.0], [0.1, 0.1, 0.8]]]


def families() -> list[RewardFamily]:
    means = [[0.3, 0.8], [0.9, 0.05]]
    return [
        Problem.bernoulli(means).rewards,
        Problem.beta(means, concentration=3.5).rewards,
        Problem.discrete(LAWS, SUPPORT).rewards,
    ]


@pytest.mark.parametrize("rewards", families(), ids=lambda family: family.name)
def test_draws_have_the_mean_and_stay_in_the_unit_interval(rewards: RewardFamily) -> None:
    """Seed 7; 4 z-tests at 5 standard errors: a false alarm in 4e5 seeds for each family."""
    generator = np.random.default_rng(7)
    for parameter in (0, 1):
        for arm in (0, 1):
            law = rewards.law(parameter)
            sample = np.array([rewards.draw_sum(law, arm, 1, generator) for _ in range(20_000)])
            assert sample.min() >= 0
            assert sample.max() <= 1
            error = sample.std() / math.sqrt(len(sample)) + 1e-12
            assert abs(sample.mean() - rewards.unit_means[parameter, arm]) < 5 * error


def test_bernoulli_sum_is_binomial() -> None:
    """Seed 8; one χ² test at level 1e-4."""
    rewards = families()[0]
    generator = np.random.default_rng(8)
    sums = [rewards.draw_sum(rewards.law(0), 0, 12, generator) for _ in range(20_000)]
    observed = np.bincount(np.array(sums, dtype=int), minlength=13)
    expected = stats.binom.pmf(np.arange(13), 12, 0.3) * len(sums)
    assert _chi_square(observed, expected) > 1e-4


def test_discrete_sum_is_the_convolution() -> None:
    """Seed 9; one χ² test at level 1e-4, against the law of the sum by repeated convolution."""
    rewards = families()[2]
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
    sums = [rewards.draw_sum(rewards.law(0), 0, plays, generator) for _ in range(20_000)]
    observed = np.array([sums.count(float(value)) for value in values])
    assert observed.sum() == len(sums)
    expected = np.array([float(law[value]) for value in values]) * len(sums)
    assert _chi_square(observed, expected) > 1e-4


def _chi_square(observed: np.ndarray, expected: np.ndarray) -> float:
    """Return the p-value, rare outcomes taken together."""
    rare = expected < 5
    merged = [np.append(counts[~rare], counts[rare].sum()) for counts in (observed, expected)]
    keep = merged[1] > 0
    return float(stats.chisquare(merged[0][keep], merged[1][keep]).pvalue)


def test_a_beta_sum_is_as_good_as_its_draws() -> None:
    rewards = families()[1]
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    assert rewards.draw_sum(rewards.law(0), 1, 50, one) == pytest.approx(
        sum(rewards.draw_sum(rewards.law(0), 1, 1, other) for _ in range(50))
    )
    assert not rewards.sum_in_one_draw


def test_huge_sums_take_one_draw() -> None:
    generator = np.random.default_rng(3)
    plays = 10**15
    for rewards in (families()[0], families()[2]):
        assert rewards.sum_in_one_draw
        mean = rewards.draw_sum(rewards.law(0), 0, plays, generator) / plays
        # Eight standard deviations of a mean of 1e15 rewards.
        assert abs(mean - rewards.unit_means[0, 0]) < 8 * 0.5 / math.sqrt(plays)


@reproducible
@given(st.floats(0, 1), st.floats(0, 1))
def test_bernoulli_divergence(p: float, q: float) -> None:
    rewards = Problem.bernoulli([[p], [q]]).rewards
    value = rewards.divergence(0, np.array([1, 0]))[:, 0]
    assert value[0] == pytest.approx(kl_bernoulli(p, q), rel=1e-9, abs=1e-13)
    assert value[1] == 0
    assert value[0] >= 2 * (p - q) ** 2 * (1 - 1e-12)  # Pinsker's inequality


@reproducible
@given(st.floats(0.01, 0.99), st.floats(-1, 1), st.integers(1, 11))
def test_divergence_keeps_its_digits_between_near_neighbours(
    p: float, direction: float, digits: int
) -> None:
    q = p + direction * 10.0**-digits * min(p, 1 - p)
    value = Problem.bernoulli([[p], [q]]).rewards.divergence(0, np.array([1]))[0, 0]
    with localcontext(prec=60):
        x, y = Decimal(p), Decimal(q)
        # The code's 1 − p is rounded; so is this one.
        exact = x * (x / y).ln() + (1 - x) * ((1 - x) / (1 - y)).ln()
    if abs(p - q) > 1e-13:
        assert value == pytest.approx(float(exact), rel=5e-16 / abs(p - q) + 1e-11)


def test_divergence_of_exact_neighbours_has_twelve_digits() -> None:
    """Probabilities that floats hold exactly, and their complements too: nothing else to blame."""
    for bits in (8, 20, 30):
        step = 2.0**-bits
        laws = [[[0.5, 0.5]], [[0.5 + step, 0.5 - step]]]
        value = Problem.discrete(laws, [0, 1]).rewards.divergence(0, np.array([1]))[0, 0]
        with localcontext(prec=60):
            half, other = Decimal("0.5"), Decimal(step)
            exact = half * (half / (half + other)).ln() + half * (half / (half - other)).ln()
        assert value == pytest.approx(float(exact), rel=1e-12)


def test_beta_divergence_between_near_neighbours() -> None:
    """To leading order it is the step squared times half the curvature of ln Γ, ψ₁."""
    p, step, c = 0.3, 1e-6, 1e6
    value = Problem.beta([[p], [p + step]], c).rewards.divergence(0, np.array([1]))[0, 0]
    curvature = polygamma(1, c * p) + polygamma(1, c * (1 - p))
    assert value == pytest.approx((c * step) ** 2 / 2 * float(curvature), rel=1e-5)


@pytest.mark.parametrize(("p", "q"), [(0.3, 0.31), (0.3, 0.8), (0.9, 0.05), (0.5, 0.5001)])
@pytest.mark.parametrize("concentration", [0.8, 3.5, 200.0])
def test_beta_divergence(p: float, q: float, concentration: float) -> None:
    rewards = Problem.beta([[p], [q]], concentration).rewards
    value = rewards.divergence(0, np.array([1, 0]))[:, 0]
    assert value[0] == pytest.approx(kl_beta(p, q, concentration), rel=1e-6)
    assert value[1] == 0


def test_beta_divergence_is_continuous_where_the_formula_changes() -> None:
    """Beside a step of one hundredth the series takes over from the closed form."""
    p = 0.5
    for q in (p * 1.00999, p * 1.01001):
        rewards = Problem.beta([[p], [q]], 40.0).rewards
        assert rewards.divergence(0, np.array([1]))[0, 0] == pytest.approx(
            kl_beta(p, q, 40.0), rel=1e-7
        )


def test_discrete_divergence() -> None:
    rewards = families()[2]
    forth, back = rewards.divergence(0, np.array([1])), rewards.divergence(1, np.array([0]))
    assert forth[0].tolist() == [math.inf, pytest.approx(kl_discrete(LAWS[0][1], LAWS[1][1]))]
    assert back[0, 0] == pytest.approx(kl_discrete(LAWS[1][0], LAWS[0][0]))
    assert back[0, 1] == math.inf


def test_vanishing_probabilities_do_not_overflow() -> None:
    rewards = Problem.bernoulli([[1e-310], [0.5], [0.0]]).rewards
    values = rewards.divergence(0, np.array([0, 1, 2]))[:, 0]
    assert values.tolist() == [0, pytest.approx(math.log(2)), math.inf]
