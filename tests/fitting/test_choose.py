"""How many types, and how far thin cells are pulled."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest
from logs import added_up, drawn, in_turn, log_likelihood, matched

from fpbandits.fitting import choose as module
from fpbandits.fitting.choose import (
    Score,
    choose,
    estimate_pseudo_count,
    fewest_types,
    folds,
    gain,
    least_fraction,
)
from fpbandits.fitting.em import Mixture, Sample
from fpbandits.fitting.search import search

FOUR = np.random.default_rng(12).uniform(0.05, 0.95, (4, 6))


RARE = [[0.8, 0.4, 0.6, 0.5, 0.7, 0.3], [0.1, 0.4, 0.2, 0.5, 0.3, 0.2], [0.1, 0.9] * 3]


def quiet(*told: object) -> None:
    pass


@pytest.mark.parametrize("family", ["bernoulli", "gaussian", "beta", "discrete"])
def test_the_number_of_types_is_found(family: str) -> None:
    # The gaps between types are many times what noise makes of them: with other seeds as well.
    truth = drawn(1, family, units=2500, means=FOUR, shares=(0.4, 0.3, 0.2, 0.1), shown=3)
    cells, estimator = added_up(truth, family)
    mixture, choice = choose(cells, estimator, None, 0, quiet)
    assert choice.types == mixture.types == 4
    assert min(choice.bic, key=choice.bic.__getitem__) == 4
    found = estimator.means(mixture.parameters, mixture.common).T
    np.testing.assert_allclose(found[matched(found, FOUR)], FOUR, atol=0.12)


def scored(held_out: list[float], learnt: float, times: int = 1) -> Score:
    return Score(np.array(held_out), np.full(len(held_out), float(times)), learnt)


def test_a_gain_is_half_way_between_units_learnt_from_and_units_held_out() -> None:
    one = scored([-2.0] * 8, -16.0)
    # Held out it gains 1 + 0 + 1 + … = 4; learnt from, 10: half way is 7.
    two = scored([-1.0, -2.0] * 4, -6.0)
    error = math.sqrt(8) * statistics.stdev([1.0, 0.0] * 4)
    assert gain(two, one) == pytest.approx(7 / error)
    assert gain(one, two) == pytest.approx(-7 / error)
    assert gain(one, one) == 0
    # Each of these units thrice is 24 units.
    error = math.sqrt(24) * statistics.stdev([1.0, 0.0] * 12)
    three = scored([-1.0, -2.0] * 4, -18.0, 3)
    assert gain(three, scored([-2.0] * 8, -48.0, 3)) == pytest.approx(21 / error)


def test_the_smallest_number_is_taken_that_is_not_clearly_worse_than_the_best() -> None:
    # An error is √8 · .53 = 1.51 nats. Two types gain 7 nats on one, three gain 2.5 on two.
    one, two = scored([-2.0] * 8, -16.0), scored([-1.0, -2.0] * 4, -6.0)
    three = scored([-1.0, -1.0, -2.0, -1.0] + [-1.0, -2.0] * 2, -3.0)
    assert fewest_types({1: one}, 2.0) == 1
    assert fewest_types({1: one, 2: two}, 2.0) == 2
    assert 2 > gain(three, two) > 1
    assert fewest_types({1: one, 2: two, 3: three}, 2.0) == 2
    assert fewest_types({1: one, 2: two, 3: three}, 1.0) == 3
    # Steady gains are many standard errors, and may still be negligible: here .8 and 8 nats.
    for scale, types in ((0.1, 1), (1.0, 2)):
        better = scored([-2.0 + 0.9 * scale, -2.0 + 1.1 * scale] * 4, -16.0 + 8 * scale)
        assert gain(better, one) > 20
        assert fewest_types({1: one, 2: better}, 1.0) == types
    # However much more four types gain on units learnt from, held out they are worse than three.
    four = scored([-1.5] * 8, 50.0)
    assert fewest_types({1: one, 2: two, 3: three, 4: four}, 2.0) == 2


def test_a_rare_type_is_found() -> None:
    # Seven units of 3,000. On units held out they gain less than two standard errors, and less
    # than BIC asks for.
    means = np.array(RARE)
    truth = drawn(2, units=3000, means=means, shares=(0.5975, 0.4, 0.0025), shown=6)
    cells, estimator = added_up(truth)
    mixture, choice = choose(cells, estimator, None, 0, quiet)
    assert choice.types == 3
    assert min(choice.bic, key=choice.bic.__getitem__) == 2
    found = estimator.means(mixture.parameters, mixture.common).T
    np.testing.assert_allclose(found[matched(found, means)][2], means[2], atol=0.25)


def test_a_type_too_many_is_rare() -> None:
    # A type too many is found in one log of a hundred or so: in two of ten, one time in 200.
    found = []
    for seed in range(10):
        truth = drawn(seed, units=250, means=FOUR[:2], shares=(0.5, 0.5), shown=3)
        cells, estimator = added_up(truth)
        found.append(choose(cells, estimator, None, 0, quiet)[1].types)
    assert sum(types > 2 for types in found) <= 1
    assert sum(types == 2 for types in found) >= 9


def test_scores_are_those_of_cells_pulled_as_far_as_they_should() -> None:
    # Three types fitted to units of one kind are pulled to the same means, and so predict as well.
    truth = drawn(2, units=600, means=[[0.9, 0.5, 0.1]], shares=(1.0,))
    cells, estimator = added_up(truth)
    one, three = (choose(cells, estimator, types, 0, quiet)[1].held_out[types] for types in (1, 3))
    # 4,800 rewards; unpulled, eight numbers more would cost some five nats.
    assert abs(one - three) * 4800 < 1


def test_one_type_is_one_type() -> None:
    truth = drawn(2, units=600, means=[[0.9, 0.5, 0.1]], shares=(1.0,))
    cells, estimator = added_up(truth)
    _, choice = choose(cells, estimator, None, 0, quiet)
    assert choice.types == 1


def test_bic_is_what_it_says() -> None:
    truth = drawn(3, units=200)
    cells, estimator = added_up(truth)
    mixture, choice = choose(cells, estimator, 2, 0, quiet)
    means = estimator.means(mixture.parameters, mixture.common).T
    likelihood = log_likelihood(truth, "bernoulli", means, np.exp(mixture.log_shares), 1.0)
    wanted = (2 * 3 + 1) * math.log(200) - 2 * likelihood
    # That of the choice is of the pseudo-count that all numbers of types are compared with.
    assert choice.bic == {2: pytest.approx(wanted, abs=2)}


def test_held_out_units_are_scored_per_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = drawn(4, units=4000, means=[[0.5, 0.5, 0.5]], shares=(1.0,))
    cells, estimator = added_up(truth)
    # Rewards of a fair coin cost ln 2, but for what it takes to learn that: 32,000 of them in
    # folds, 8,000 held out once, or 144 of 18 units.
    for few, many, off in ((10**6, 10**6, 0.001), (0, 10**6, 0.001), (0, 140, 0.1)):
        monkeypatch.setattr(module, "FEW", few)
        monkeypatch.setattr(module, "_MANY", many)
        _, choice = choose(cells, estimator, 1, 0, quiet)
        assert choice.held_out[1] == pytest.approx(-math.log(2), abs=off)


def test_the_same_seed_is_the_same_fit() -> None:
    truth = drawn(5, units=300)
    cells, estimator = added_up(truth)
    fits = [choose(cells, estimator, None, seed, quiet) for seed in (3, 3, 4)]
    np.testing.assert_array_equal(fits[0][0].flat, fits[1][0].flat)
    assert fits[0][1] == fits[1][1]
    assert fits[0][1].held_out != fits[2][1].held_out, "other units are held out"


def test_thin_cells_are_pulled_far_where_types_are_alike() -> None:
    # All types are the same but for noise: what a type saw of an arm itself is worth nothing.
    truth = drawn(6, units=100, means=[[0.3, 0.5, 0.7]], shares=(1.0,), repeats=2)
    cells, estimator = added_up(truth)
    _, alike = choose(cells, estimator, 3, 0, quiet)
    apart = drawn(6, units=1000, means=[[0.02, 0.98, 0.5], [0.98, 0.02, 0.5]], repeats=2)
    cells, estimator = added_up(apart)
    _, different = choose(cells, estimator, 2, 0, quiet)
    assert alike.pseudo_count > 10 * different.pseudo_count


def test_the_pseudo_count_is_that_of_the_distribution_which_types_are_drawn_from() -> None:
    # Means of 12 types drawn from Beta(κm, κ(1 − m)) with κ = 6: 240 of them know κ to 10 %, and
    # the divergence is quadratic only near the pooled law.
    random = np.random.default_rng(1)
    means = random.beta(6 * 0.4, 6 * 0.6, (12, 20))
    truth = drawn(6, units=3000, means=means, shares=(1 / 12,) * 12, shown=20, repeats=3)
    cells, estimator = added_up(truth)
    sample = Sample(cells, cells.weights(), estimator, 1.0)
    odds = np.log(means / (1 - means)).T[..., np.newaxis]
    mixture = Mixture(np.full(12, -np.log(12)), np.ascontiguousarray(odds), np.zeros(0))
    pulled_sample, _ = estimate_pseudo_count(sample, mixture)
    assert 4 < pulled_sample.pseudo_count < 8


def test_rivals_are_what_is_as_likely_by_symmetry() -> None:
    # Two types for three: one of them stands for two, and which ones these are cannot be told.
    cells, estimator = added_up(in_turn(200, 200, 200))
    mixture, choice = choose(cells, estimator, 2, 0, quiet)
    means = estimator.means(mixture.parameters, mixture.common)
    turned = [np.roll(means, turn, axis=0).T for turn in range(3)]
    found = set()
    for end, nats in choice.rivals:
        other = estimator.means(end.parameters, end.common).T
        off = [np.abs(other[matched(other, wanted)] - wanted).max() for wanted in turned]
        # Climbs end some thousandths of a nat below the top: by some hundredths of an error of .02.
        assert min(off) < 0.002
        assert abs(nats) < 0.01
        found.add(int(np.argmin(off)))
    assert found == {0, 1, 2}


def test_what_is_less_likely_is_no_rival() -> None:
    # The third type is rarer: to be one with it is not the same for the first and the second.
    cells, estimator = added_up(in_turn(240, 240, 120))
    mixture, choice = choose(cells, estimator, 2, 3, quiet)
    means = estimator.means(mixture.parameters, mixture.common).T
    sample = Sample(cells, cells.weights(), estimator, choice.pseudo_count)
    best = sample.climb(mixture, 1500, 1e-9)[1]
    ends = [sample.climb(sample.start(2, np.random.default_rng(s)), 1500, 1e-9) for s in range(20)]
    assert any(2 < best - value < 10 for _, value in ends), "there is another top, not far below"
    assert choice.rivals
    for end, _ in choice.rivals:
        other = estimator.means(end.parameters, end.common).T
        np.testing.assert_allclose(other[matched(other, means)], means, atol=0.002)


@pytest.mark.parametrize(("units", "arms", "part"), [(3000, 3, 0.25), (200, 40, 1.0)])
def test_means_are_pulled_no_further_than_predicts_units_held_out(
    units: int, arms: int, part: float
) -> None:
    # All means are known well, or by some twelve rewards each.
    means = np.random.default_rng(3).uniform(0.05, 0.95, (4, arms))
    shown = min(arms, 10)
    truth = drawn(5, units=units, means=means, shares=(0.25,) * 4, shown=shown, repeats=10 // shown)
    cells, estimator = added_up(truth)
    splits = list(folds(cells, estimator, np.random.default_rng(0)))
    for split in splits:
        split.best[4] = search(split.sample, 4, None, np.random.default_rng(0))
        split.sample, _ = estimate_pseudo_count(split.sample, split.best[4][0])
    assert least_fraction(splits, 4) == part


def test_what_is_under_way_is_told() -> None:
    told: list[Any] = []
    cells, estimator = added_up(drawn(10, units=100))
    choose(cells, estimator, 2, 0, lambda name, *shares: told.append(name))
    wanted = ["fitting 2 types", "fitting 2 types once more", "fitting 2 types to all units"]
    assert told == wanted
