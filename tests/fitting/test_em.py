"""Expectation-maximisation: its likelihood is the textbook's, and no step lowers it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from logs import Truth, added_up, drawn, log_likelihood, matched, shape_of

from fpbandits.core.arrays import Floats
from fpbandits.families.estimator import Estimator
from fpbandits.fitting.em import Mixture, Sample, add_type, merge_pairs, random_starts, remove_type

FAMILIES = ["bernoulli", "gaussian", "beta", "discrete"]


def sample_of(truth: Truth, family: str = "bernoulli", pseudo_count: float = 1.0) -> Sample:
    cells, estimator = added_up(truth, family)
    return Sample(cells, cells.weights(), estimator, pseudo_count)


def at(sample: Sample, means: Floats, shares: Floats) -> Mixture:
    """The mixture with these means on [0, 1], for families that have log-odds as parameters."""
    odds = np.log(means / (1 - means)).T[..., np.newaxis]
    return Mixture(np.log(shares), np.ascontiguousarray(odds), sample.estimator.begin)


def means_of(estimator: Estimator, mixture: Mixture) -> Floats:
    return estimator.means(mixture.parameters, mixture.common).T


@pytest.mark.parametrize("family", ["bernoulli", "beta", "gaussian"])
def test_the_likelihood_is_that_of_every_reward(family: str) -> None:
    truth = drawn(1, family, units=50)
    sample = sample_of(truth, family)
    start = sample.start(3, np.random.default_rng(0))
    mixture, _ = sample.step(start)
    shape = shape_of(sample.estimator, mixture.common)
    means, shares = means_of(sample.estimator, mixture), np.exp(mixture.log_shares)
    wanted = log_likelihood(truth, family, means, shares, shape)
    found = sample.expect(mixture)[0]
    assert found == pytest.approx(wanted, rel=1e-9)
    each = sample.likelihoods(mixture)
    assert float(each @ sample.weights) == pytest.approx(wanted, rel=1e-9)


def test_one_step_by_hand() -> None:
    truth = drawn(2, units=30)
    sample = sample_of(truth, pseudo_count=2.0)
    means, shares = np.array([[0.7, 0.4, 0.2], [0.3, 0.6, 0.5]]), np.array([0.3, 0.7])
    after, _ = sample.step(at(sample, means, shares))
    users, arms, rewards = (truth.log[name] for name in ("user", "arm", "reward"))
    chance = np.where(rewards[:, np.newaxis] > 0, means[:, arms].T, 1 - means[:, arms].T)
    own = np.array([shares * np.prod(chance[users == user], axis=0) for user in range(30)])
    own /= own.sum(axis=1, keepdims=True)
    plays = np.array([[own[users[arms == arm], t].sum() for arm in range(3)] for t in (0, 1)])
    paid = np.array(
        [[(own[users, t] * rewards)[arms == arm].sum() for arm in range(3)] for t in (0, 1)]
    )
    everywhere = rewards.mean()
    pooled = np.array(
        [(rewards[arms == a].sum() + everywhere / 2) / ((arms == a).sum() + 0.5) for a in range(3)]
    )
    np.testing.assert_allclose(
        means_of(sample.estimator, after), (paid + 2 * pooled) / (plays + 2), rtol=1e-9
    )
    np.testing.assert_allclose(np.exp(after.log_shares), (own.sum(axis=0) + 1) / 32)
    surest = sample.sureness(at(sample, means, shares))
    assert surest == pytest.approx(own.max(axis=1).mean())


@pytest.mark.parametrize("family", FAMILIES)
def test_no_step_lowers_the_penalised_likelihood(family: str) -> None:
    sample = sample_of(drawn(3, family, units=80), family, pseudo_count=3.0)
    random = np.random.default_rng(1)
    for _ in range(4):
        mixture = sample.start(3, random)
        mixture, before = sample.step(mixture)
        for _ in range(25):
            mixture, value = sample.step(mixture)
            assert value >= before - 1e-6 * abs(before)
            before = value


@pytest.mark.parametrize("family", FAMILIES)
def test_leaps_reach_what_steps_reach(family: str) -> None:
    sample = sample_of(drawn(4, family, units=150), family)
    start = sample.start(2, np.random.default_rng(2))
    plain = start
    for _ in range(400):
        plain, value = sample.step(plain)
    _, reached = sample.climb(start, 400, 1e-10)
    assert reached == pytest.approx(value, abs=1e-4)


def test_a_weight_of_two_is_a_unit_twice() -> None:
    truth = drawn(5, units=40)
    sample = sample_of(truth)
    mixture = sample.start(2, np.random.default_rng(0))
    twice = Sample(sample.cells, 2 * sample.weights, sample.estimator, sample.pseudo_count)
    assert twice.expect(mixture)[0] == pytest.approx(2 * sample.expect(mixture)[0])


def test_shares_and_types_keep_together() -> None:
    sample = sample_of(drawn(6, units=40))
    mixture, _ = sample.step(sample.start(3, np.random.default_rng(0)))
    turned = mixture.ordered(np.array([2, 0, 1]))
    assert sample.expect(turned)[0] == pytest.approx(sample.expect(mixture)[0])
    back = mixture.from_flat(mixture.flat)
    np.testing.assert_allclose(back.log_shares, mixture.log_shares)
    np.testing.assert_array_equal(back.parameters, mixture.parameters)


def test_types_are_put_in_and_taken_out() -> None:
    sample = sample_of(drawn(7, units=40))
    random = np.random.default_rng(0)
    two = sample.start(2, random)
    three = add_type(two, sample, random)
    assert three.types == 3
    assert np.exp(three.log_shares).sum() == pytest.approx(1)
    np.testing.assert_array_equal(three.parameters[:, :2], two.parameters)
    fewer = remove_type(three, 1)
    np.testing.assert_array_equal(fewer.parameters, three.parameters[:, [0, 2]])
    assert (fewer.types, math.isclose(np.exp(fewer.log_shares).sum(), 1)) == (2, True)
    assert [start.types for start in random_starts(sample, 3, two, 4, random)] == [3] * 4


def test_two_types_that_are_one_are_merged_into_it() -> None:
    sample = sample_of(drawn(7, units=40))
    two, _ = sample.climb(sample.start(2, np.random.default_rng(0)), 300, 1e-10)
    twins = two.ordered(np.array([0, 1, 1]))
    twins = Mixture(np.log([0.5, 0.25, 0.25]), twins.parameters, twins.common)
    (once,) = merge_pairs(twins, sample, [(1, 2)])
    assert once.types == 2
    again, _ = sample.step(Mixture(np.log([0.5, 0.5]), two.parameters, two.common))
    np.testing.assert_allclose(once.parameters, again.parameters, rtol=1e-9)


def test_the_truth_is_found_where_it_can_be() -> None:
    # 4,000 units with 8 rewards each: errors of means are about .01, and .05 is far beyond them.
    truth = drawn(8, units=4000)
    sample = sample_of(truth)
    random = np.random.default_rng(0)
    rivals = [sample.climb(start, 300) for start in random_starts(sample, 2, None, 6, random)]
    best, _ = max(rivals, key=lambda rival: rival[1])
    found = means_of(sample.estimator, best)
    order = matched(found, truth.means)
    np.testing.assert_allclose(found[order], truth.means, atol=0.05)
    np.testing.assert_allclose(np.exp(best.log_shares)[order], truth.shares, atol=0.05)
