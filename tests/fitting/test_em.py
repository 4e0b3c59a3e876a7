"""Expectation-maximisation: its likelihood is the textbook's, and no step lowers it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from logs import Truth, added_up, drawn, log_likelihood, matched, shape_of

from fpbandits.core.arrays import Floats
from fpbandits.families.estimator import Estimator
from fpbandits.fitting import em as module
from fpbandits.fitting.em import (
    Mixture,
    Sample,
    add_type,
    merge_pairs,
    merge_same,
    random_starts,
    remove_type,
)

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


def squarem(sample: Sample, start: Mixture, most: int, tolerance: float) -> tuple[Floats, float]:
    """Climb by SQUAREM as published: α = −‖r‖/‖v‖, θ − 2αr + α²v, in cycles of three steps.

    α is −1 at most and −64 at least. Where that is lower than two plain steps lead, these count.
    """
    here = start
    first, value = sample.step(here)
    for _ in range(most // 3):
        second, plain = sample.step(first)
        r = first.flat - here.flat
        v = second.flat - 2 * first.flat + here.flat
        length = float(np.linalg.norm(r) / np.linalg.norm(v)) if v.any() else 1.0
        alpha = -min(max(length, 1.0), 64.0)
        ahead = second
        if alpha < -1:
            ahead = here.from_flat(here.flat - 2 * alpha * r + alpha**2 * v)
        after, reached = sample.step(ahead)
        if reached < plain or math.isnan(reached):
            ahead = second
            after, reached = sample.step(ahead)
        gained = reached - value
        here, first, value = ahead, after, reached
        if gained < 3 * tolerance:
            break
    return here.flat, value


@pytest.mark.parametrize(
    ("family", "types", "most", "tolerance", "enough"),
    [
        ("bernoulli", 3, 600, 1e-7, 80e-7),  # by default the tolerance of the mean of 80 units
        ("bernoulli", 3, 30, 0.0, -1.0),
        ("bernoulli", 4, 31, 0.0, -1.0),
        ("gaussian", 3, 300, 1e-4, 80e-4),
        ("discrete", 2, 60, 1e-3, 80e-3),
        ("bernoulli", 2, 600, 0.05, 4.0),
    ],
)
def test_climbs_are_squarem(
    family: str, types: int, most: int, tolerance: float, enough: float
) -> None:
    sample = sample_of(drawn(3, family, units=80, shown=3, repeats=2), family)
    for seed in range(3):
        start = sample.start(types, np.random.default_rng(seed))
        wanted, reached = squarem(sample, start, most, enough)
        how = () if tolerance == 1e-7 else (tolerance,)
        mixture, value = sample.climb(start, most, *how)
        assert value == pytest.approx(reached, rel=1e-9)
        np.testing.assert_allclose(mixture.flat, wanted, rtol=1e-6, atol=1e-6)


def test_a_leap_is_of_64_steps_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a step goes a hundredth of the way to 0, these leave (1 − 0.64)² of it."""

    def step(sample: Sample, mixture: Mixture) -> tuple[Mixture, float]:
        after = Mixture(mixture.log_shares, 0.99 * mixture.parameters, mixture.common)
        return after, -float((mixture.parameters**2).sum())

    sample = sample_of(drawn(2, units=30))
    start = Mixture(np.zeros(1), np.array([[[5.0]], [[3.0]], [[-4.0]]]), np.zeros(0))
    monkeypatch.setattr(Sample, "step", step)
    found, _ = sample.climb(start, 3, -1.0)
    np.testing.assert_allclose(found.parameters, 0.36**2 * start.parameters, rtol=1e-9)


def steps_of(sample: Sample, most: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Count the steps of a climb that goes on as long as it may."""
    taken, step = [], Sample.step

    def counted(sample: Sample, mixture: Mixture) -> tuple[Mixture, float]:
        taken.append(step(sample, mixture))
        return taken[-1]

    with monkeypatch.context() as patched:
        patched.setattr(Sample, "step", counted)
        patched.setattr(Mixture, "from_flat", lambda mixture, flat: mixture)  # no leap helps
        sample.climb(sample.start(3, np.random.default_rng(1)), most, -1.0)
    return len(taken)


def test_how_many_steps_a_climb_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two plain steps of three, and one that is taken back; the first comes before them.

    With very many cells, as many as it takes to visit 80 million; 24 in any case, and one round.
    """
    sample = sample_of(drawn(3, units=80, shown=3))
    monkeypatch.setattr(module, "_ENOUGH", 0.0)
    assert steps_of(sample, 1, monkeypatch) <= 1 + 3
    many = steps_of(sample, 60, monkeypatch)
    cells = len(sample.cells.members)
    assert steps_of(sample, 300, monkeypatch) > 2 * many
    monkeypatch.setattr(module, "_WORK", 60 * cells + 1)
    assert steps_of(sample, 300, monkeypatch) == many
    few = steps_of(sample, 24, monkeypatch)
    monkeypatch.setattr(module, "_WORK", 10 * cells)
    assert steps_of(sample, 300, monkeypatch) == few < many


def test_a_sum_that_is_large_is_what_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more units than _ENOUGH, here 20, the tolerance is on the sum as if they were so many."""
    sample = sample_of(drawn(3, units=80, shown=3, repeats=2))
    monkeypatch.setattr(module, "_ENOUGH", 20.0)
    start = sample.start(3, np.random.default_rng(0))
    wanted, _ = squarem(sample, start, 600, 20e-3)
    np.testing.assert_allclose(sample.climb(start, 600, 1e-3).mixture.flat, wanted, atol=1e-6)


def test_the_penalty_is_of_pooled_rewards_and_shares() -> None:
    truth = drawn(2, units=30)
    sample = sample_of(truth, pseudo_count=2.5)
    means, shares = np.array([[0.7, 0.4, 0.2], [0.3, 0.6, 0.5]]), np.array([0.3, 0.7])
    mixture, pooled = at(sample, means, shares), sample.pooled[:, 0]
    likelihoods = pooled * np.log(means) + (1 - pooled) * np.log(1 - means)
    wanted = 2.5 * likelihoods.sum() + np.log(shares).sum()
    assert sample.penalty(mixture) == pytest.approx(wanted, rel=1e-12)
    best = pooled * np.log(pooled) + (1 - pooled) * np.log(1 - pooled)
    np.testing.assert_allclose(sample.divergences(mixture), (best - likelihoods).T, atol=1e-12)
    alike = at(sample, np.array([pooled, pooled]), shares)
    np.testing.assert_allclose(sample.divergences(alike), 0, atol=1e-12)
    assert sample.divergences(alike).min() >= 0
    assert mixture.free_parameters == 2 * 3 + 1
    total, value = sample.expect(mixture)[0], sample.step(mixture)[1]
    assert value == pytest.approx(total + wanted, rel=1e-12)


def test_shares_of_a_leap_add_up_to_one_and_stay_above_nothing() -> None:
    mixture = Mixture(np.log([0.5, 0.5]), np.zeros((1, 2, 1)), np.zeros(1))
    found = mixture.from_flat(np.array([1000.0, 999.0, 3.0, 4.0, 5.0]))
    np.testing.assert_allclose(np.exp(found.log_shares), [math.e / (1 + math.e), 1 / (1 + math.e)])
    assert (found.parameters.ravel().tolist(), found.common.tolist()) == ([3, 4], [5])
    found = mixture.from_flat(np.array([0.0, -500.0, 3.0, 4.0, 5.0]))
    np.testing.assert_allclose(found.log_shares, [0, math.log(1e-12)])


def test_a_start_has_the_means_of_random_cells_pulled_to_the_arms() -> None:
    """By hand: a cell of n rewards with the sum s counts as s + (1 + n/4)·pooled of 2n·5/8 + 1."""
    truth = drawn(2, units=30, repeats=3)
    truth.log["arm"][truth.log["user"] < 5] = 1
    sample = sample_of(truth)
    cells = sample.cells
    n, own = cells.plays, sample.pooled[cells.pair, 0]
    weight = 1 + n / 4
    pulled = (cells.sums[:, 0] + weight * own) / (n + weight)
    random, seen = np.random.default_rng(0), [set[float]() for _ in range(3)]
    for _ in range(40):
        start = sample.start(4, random)
        np.testing.assert_allclose(start.log_shares, math.log(1 / 4))
        for kind in means_of(sample.estimator, start):
            for pair, mean in enumerate(kind.round(9).tolist()):
                seen[pair].add(mean)
    for pair in range(3):
        assert sorted(seen[pair]) == sorted(set(pulled[cells.pair == pair].round(9).tolist()))


def test_a_new_type_takes_half_of_the_share_of_one_that_it_is_near_to() -> None:
    """At 0.3 or all of the way from there to a random start."""
    sample = sample_of(drawn(7, units=40))
    three, _ = sample.step(sample.start(3, np.random.default_rng(5)))
    ways = set()
    for seed in range(20):
        four = add_type(three, sample, np.random.default_rng(seed))
        twin = np.random.default_rng(seed)
        kind = int(twin.integers(3))
        new = sample.start(1, twin).parameters[:, 0]
        way = float(twin.choice([0.3, 1.0]))
        ways.add(way)
        own = three.parameters[:, kind]
        np.testing.assert_allclose(four.parameters[:, 3], (1 - way) * own + way * new, atol=1e-12)
        np.testing.assert_array_equal(four.parameters[:, :3], three.parameters)
        shares = np.exp(np.append(three.log_shares, three.log_shares[kind])) / 2
        shares[:3][np.arange(3) != kind] *= 2
        np.testing.assert_allclose(np.exp(four.log_shares), shares)
    assert ways == {0.3, 1.0}


def test_every_second_start_is_grown_from_one_type_less() -> None:
    sample = sample_of(drawn(7, units=40))
    two = sample.start(2, np.random.default_rng(3))
    starts = list(random_starts(sample, 3, two, 5, np.random.default_rng(0)))
    grown = [bool((start.parameters[:, :2] == two.parameters).all()) for start in starts]
    assert grown == [False, True, False, True, False]
    starts = list(random_starts(sample, 3, None, 3, np.random.default_rng(0)))
    assert [start.types for start in starts] == [3] * 3


@pytest.mark.parametrize("family", ["bernoulli", "beta"])
def test_types_that_are_the_same_are_merged_if_it_costs_no_more_than_so_many_nats(
    family: str,
) -> None:
    """By the penalised log-likelihood of what is left, whose loss is at most what was charged."""
    sample = sample_of(drawn(7, family, units=60, repeats=8), family)
    two, value = sample.climb(sample.start(2, np.random.default_rng(0)), 600, 1e-10)
    twins = Mixture(
        np.append(two.log_shares[0], two.log_shares[1] + np.log([0.6, 0.4])),
        np.ascontiguousarray(two.parameters[:, [0, 1, 1]]),
        two.common,
    )
    twins.parameters[:, 1] += 0.01
    merged = merge_same(twins, sample, 1.0)
    assert merged.types == 2
    np.testing.assert_allclose(merged.flat, two.flat, atol=1e-3)
    assert merge_same(twins, sample, -1.0).types == 3
    assert merge_same(two, sample, 1.0) is two
    one, lower = sample.climb(sample.start(1, np.random.default_rng(0)), 600, 1e-10)
    assert merge_same(two, sample, 1e6).types == 1
    assert value > lower + 1
    # What merging costs where units are assigned by their posteriors, in exact likelihoods.
    _, plays, sums, _, _ = sample.expect(two)
    plays = plays + sample.pseudo_count
    sums = sums + sample.pseudo_count * sample.pooled[:, np.newaxis]

    def cost(plays: Floats, sums: Floats, parameters: Floats) -> float:
        base, rates = sample.estimator.laws(parameters, two.common)
        return float((plays * base).sum() + (sums * rates).sum())

    all_plays, all_sums = plays.sum(axis=1)[:, None], sums.sum(axis=1)[:, None]
    together, _ = sample.estimator.maximise(all_plays, all_sums, two.common, one.parameters)
    nats = cost(all_plays, all_sums, together) - cost(plays, sums, two.parameters)
    assert merge_same(two, sample, 0.999 * nats).types == 2
    assert merge_same(two, sample, 1.001 * nats).types == 1


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
    np.testing.assert_allclose(once.log_shares, again.log_shares, rtol=1e-9)


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
