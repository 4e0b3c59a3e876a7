"""Beta laws against numerical integration, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from laws import beta
from oracle import kl_beta
from scipy import stats
from scipy.special import digamma, polygamma

from fpbandits import InputError, Problem, fit
from fpbandits.core.arrays import Floats
from fpbandits.families.beta import BetaEstimator
from fpbandits.families.estimator import Rewards


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
        ([[0.0, 0.5]], 3, "arm 'arm1': the mean 0 of a beta arm must lie strictly inside"),
        ([[0.5, 1 - 1e-9]], 10, "with concentration 10 the mean 0.999999999 is too near to"),
        ([[0.5, 0.9]], math.nextafter(1e15, math.inf), "it must be above 0 and at most 1e15"),
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


def test_means_and_concentrations_at_their_limits() -> None:
    assert Problem.beta([[0.5, 0.9]], 1e15).means.tolist() == [[0.5, 0.9]]
    # The smaller shape, c times the distance to an end, is at least 1e-6.
    assert Problem.beta([[0.5, 1.001e-6], [1 - 1.001e-6, 0.5]], 1).means[0, 1] == 1.001e-6
    for mean in (20, 120):
        with pytest.raises(InputError, match=rf"the mean {mean} of a beta arm .* \[20, 120\]"):
            Problem.beta([[70, mean]], 3, range=(20, 120))


def expected_of(c: float, mean: float) -> tuple[Floats, Floats, Floats]:
    """Return means of two arms, plays, and plays times E[ln r] and E[ln(1 − r)]."""
    means, plays = np.array([[mean], [0.7]]), np.array([[2.0], [0.5]])
    shapes = c * np.stack([means, 1 - means], axis=-1)
    return means, plays, plays[..., np.newaxis] * (digamma(shapes) - digamma(c))


@pytest.mark.parametrize("c", [0.3, 4.0, 50.0, 1e5])
def test_expected_statistics_bring_the_distribution_back(c: float) -> None:
    """The likelihood of E[ln r] and E[ln(1 − r)] is largest at the distribution they come from."""
    for mean in (0.5, 0.02, 0.9)[: 3 if c == 1e5 else 1]:
        means, plays, sums = expected_of(c, mean)
        estimator = BetaEstimator((0.0, 1.0), None, 1e-300)
        common = estimator.begin
        for _ in range(7):
            where, common = estimator.maximise(plays, sums, common)
        assert common[0] == pytest.approx(math.log(c), abs=1e-9)
        np.testing.assert_allclose(estimator.means(where, common), means, rtol=1e-9)
        known = BetaEstimator((0.0, 1.0), c, 1e-300)
        where, none = known.maximise(plays, sums, known.begin)
        assert len(none) == 0
        np.testing.assert_allclose(known.means(where, none), means, rtol=1e-9)


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.9])
@pytest.mark.parametrize("c", [0.3, 4.0, 50.0, 1e5])
def test_a_step_from_nearby_is_a_step_nearer(c: float, mean: float) -> None:
    means, plays, sums = expected_of(c, mean)
    estimator = BetaEstimator((0.0, 1.0), None, 1e-300)
    where, common = np.log(means / (1 - means))[..., np.newaxis], np.array([math.log(c) + 0.01])
    for _ in range(3):
        before = abs(common[0] - math.log(c))
        where, common = estimator.maximise(plays, sums, common, where)
        after = abs(common[0] - math.log(c))
        assert after < max(0.9 * before, 1e-8)
        assert mean != 0.5 or after < max(0.1 * before, 1e-8)
        np.testing.assert_allclose(estimator.means(where, common), means, rtol=0.1)


def test_fitted_concentrations_have_limits() -> None:
    estimator = BetaEstimator((0.0, 1.0), None, 1e-300)
    for log, limit in ((-1000.0, -5), (1000.0, 25)):
        fitted: Any = estimator.fields(np.array([log]))["concentration"]
        assert fitted == pytest.approx(math.exp(limit), rel=1e-5)


def test_the_likelihood_in_a_range_is_scipys() -> None:
    values = np.array([12.0, 31.5, 77.0, 80.0, 109.0])
    log = Rewards(values, np.zeros(5, np.int32), ("a",), (10.0, 110.0), ("a",))
    for c, given in ((math.exp(1.3), {}), (6.0, {"concentration": 6.0})):
        estimator = BetaEstimator.of_log(log, given)
        where, common = np.array([[[0.4]]]), np.full(0 if given else 1, 1.3)
        mean = 1 / (1 + math.exp(-0.4))
        assert estimator.means(where, common)[0, 0] == pytest.approx(10 + 100 * mean)
        base, cost = estimator.laws(where, common)
        sums = estimator.statistics_of(values).sum(axis=0)
        by_scipy = -stats.beta(c * mean, c * (1 - mean), 10, 100).logpdf(values).sum()
        assert 5 * base[0, 0] + cost[0, 0] @ sums == pytest.approx(by_scipy)
        assert estimator.fields(common) == {
            "concentration": pytest.approx(c, rel=1e-5),
            "range": [10, 110],
        }


def test_rewards_at_an_end_of_a_range() -> None:
    middle = np.linspace(40, 80, 60)
    for end, nearest in ((110.0, 109.0), (10.0, 11.0)):
        values = np.array([*middle, nearest, end])
        log = Rewards(values, np.zeros(62, np.int32), ("a",), (10.0, 110.0), ("a",))
        statistics = BetaEstimator.of_log(log, {}).statistics_of(values)
        assert sorted(np.exp(statistics[-1])) == pytest.approx([0.005, 1])

    def estimator_of(*values: float) -> BetaEstimator:
        log = Rewards(np.array(values), np.zeros(len(values), np.int32), ("a",), None, ("a",))
        return BetaEstimator.of_log(log, {})

    assert estimator_of(1e-300, 0.5).least == 2.0**-54
    assert estimator_of(0, 1, *middle / 100).least == pytest.approx(0.1)
    with pytest.raises(InputError, match=r"the reward 0 is an end .* and so are 33% of all"):
        estimator_of(0.5, 0, 0.6)
