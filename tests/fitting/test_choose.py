"""How many types, and how far thin cells are pulled."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
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
from fpbandits.fitting.em import Fitted, Mixture, Sample
from fpbandits.fitting.search import search

FOUR = np.random.default_rng(12).uniform(0.05, 0.95, (4, 6))


RARE = [[0.8, 0.4, 0.6, 0.5, 0.7, 0.3], [0.1, 0.4, 0.2, 0.5, 0.3, 0.2], [0.1, 0.9] * 3]


def quiet(*told: object) -> None:
    pass


@pytest.mark.parametrize("family", ["bernoulli", "gaussian", "beta", "discrete"])
def test_the_number_of_types_is_found(family: str) -> None:
    # The gaps between types are many times what noise makes of them: with other seeds as well.
    truth = drawn(1, family, units=1600, means=FOUR, shares=(0.4, 0.3, 0.2, 0.1), shown=3)
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
    # Two of them: half of (1 + 0) + (10 − 0) over √2 · √½.
    assert gain(scored([-1.0, -2.0], -6.0), scored([-2.0] * 2, -16.0)) == pytest.approx(5.5)
    assert gain(scored([-1.0], -6.0), scored([-2.0], -16.0)) == 0, "one has no spread"
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


def at_start(stream: np.random.Generator, seed: int, *key: int) -> bool:
    """Whether nothing was drawn of a stream yet, and it is that of the seed and the key."""
    new = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    return bool(stream.bit_generator.state == new.bit_generator.state)


def test_every_task_has_a_stream_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the number of types, the fold and the task; what is told, and in which order.

    Scores are made up, and types are best at 3: two more are tried, then all but the last are
    searched again from the next. One and two are 14 and 13 standard errors worse, five is two more
    than the best, so three and four are renewed.
    """
    seed, tasks, told = 7, list[tuple[Any, ...]](), list[Any]()
    quality = {1: 0.0, 2: 5.0, 3: 9.0, 4: 8.0, 5: 6.0}

    def noted(name: str, *key: int) -> Any:
        def task(sample: Sample, *others: Any) -> Any:
            types = others[0] if name == "search" else others[0].mixture.types
            fold = next(n for n, split in enumerate(splits) if split.sample is sample)
            assert at_start(others[-1], seed, types, fold, *key), (name, types, fold)
            before = getattr(others[-2], "types", None) if name != "renew" else None
            tasks.append((name, types, fold, before))
            found = sample.climb(sample.start(types, np.random.default_rng(0)), 3)
            return (found, []) if name == "renew" else found

        return task

    def made_up(splits: Any, types: int) -> Score:
        spread = np.resize([-1.0, 1.0], 40)
        return Score(quality[types] + types * spread, np.ones(40), quality[types])

    cells, estimator = added_up(drawn(10, units=40))
    splits: list[Any] = []
    whole = module.folds

    def noted_folds(cells: Any, estimator: Any, random: np.random.Generator) -> Any:
        assert at_start(random, seed, 0)
        splits.extend(whole(cells, estimator, random))
        return splits

    monkeypatch.setattr(module, "folds", noted_folds)
    monkeypatch.setattr(module, "score_of", made_up)
    for name, key in (("search", ()), ("shrink", (1,)), ("renew", (2,))):
        monkeypatch.setattr(module, name, noted(name, *key))

    def final(sample: Sample, small: Sample, best: Fitted, random: np.random.Generator) -> Fitted:
        assert at_start(random, seed, 0, 1)
        monkeypatch.setattr(module, "renew", lambda sample, best, random: (best, []))
        return best

    monkeypatch.setattr(module, "shake", final)
    choose(cells, estimator, None, seed, lambda *said: told.append(said))
    numbers: Any = (
        ("search", range(1, 6), "", lambda types: types - 1 or None),
        ("shrink", (4, 3, 2, 1), " again", lambda types: types + 1),
        ("renew", (3, 4), " once more", lambda types: None),
    )
    assert tasks == [
        (name, types, fold, other(types))
        for name, order, _, other in numbers
        for types in order
        for fold in range(4)
    ]
    words = [
        f"fitting {types} type{'s' * (types > 1)}{again}"
        for _, order, again, _ in (*numbers, ("", range(1, 6), " to all units", None))
        for types in order
    ]
    assert told == [(word, 0.0, 0.0) for word in words]


def test_which_climbs_a_choice_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a fit finds depends on them, and fits are compared over years.

    Each is on the units of a fold, or on all; of how many types, with which pseudo-count, most
    steps and tolerance. Searches are left out.
    """
    climbs: list[tuple[Any, ...]] = []
    climb = Sample.climb

    def noted(sample: Sample, start: Mixture, most: int, tolerance: float = 1e-7) -> Fitted:
        fold = "all" if sample.size == 60 else len(sample.cells.members)
        climbs.append((fold, start.types, sample.pseudo_count, most, tolerance))
        return climb(sample, start, most, tolerance)

    def quickly(sample: Sample, types: int, before: Any, random: np.random.Generator) -> Fitted:
        return climb(sample, sample.start(types, random), 30)

    monkeypatch.setattr(module, "search", quickly)
    monkeypatch.setattr(module, "renew", lambda sample, best, random: (best, []))
    monkeypatch.setattr(module, "shake", lambda sample, small, best, random: best)
    monkeypatch.setattr(module, "least_fraction", lambda splits, types: 0.5)
    monkeypatch.setattr(Sample, "climb", noted)
    cells, estimator = added_up(drawn(10, units=60))
    sizes = [
        len(split.sample.cells.members) for split in folds(cells, estimator, module._stream(0, 0))
    ]
    _, choice = choose(cells, estimator, 2, 0, quiet)
    counts = [count for _, _, count, _, _ in climbs]
    assert climbs[:6] == [(sizes[0], 2, count, 60, 1e-6) for count in counts[:6]]
    shrunk, *others = counts[6:10]
    assert climbs[6:10] == [(size, 2, shrunk, 40_000_000 // size, 1e-10) for size in sizes]
    assert climbs[10] == ("all", 2, 1.0, 90, 1e-6)
    assert climbs[11:17] == [("all", 2, count, 60, 1e-6) for count in counts[11:17]]
    assert choice.pseudo_count == counts[16] / 2, "the fraction of what was estimated"
    assert climbs[17] == ("all", 2, choice.pseudo_count, 600, 1e-6)
    assert climbs[18:] == [("all", 2, choice.pseudo_count, 1500, 1e-9)]
    assert others == [shrunk] * 3
    assert shrunk != 1


def test_climbs_where_scores_are_far_apart_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    climbs: list[tuple[int, int, float]] = []
    climb = Sample.climb

    def noted(sample: Sample, start: Mixture, most: int, tolerance: float = 1e-7) -> Fitted:
        climbs.append((start.types, most, tolerance))
        return climb(sample, start, 3)

    cells, estimator = added_up(drawn(10, units=600))
    splits = list(folds(cells, estimator, np.random.default_rng(0)))[:1]
    for types in (1, 2):
        splits[0].best[types] = search(splits[0].sample, types, None, np.random.default_rng(0))
    scores = {types: module.score_of(splits, types) for types in (1, 2)}
    assert gain(scores[2], scores[1]) > 6
    monkeypatch.setattr(Sample, "climb", noted)
    module.rescore(splits, scores)
    most = 40_000_000 // len(splits[0].sample.cells.members)
    assert climbs[6:] == [(1, 60, 1e-6), (2, most, 1e-10)]


def test_fractions_of_the_pseudo_count_are_tried_on_every_fold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The smallest is taken that predicts within a nat of the best, in all folds together."""
    cells, estimator = added_up(drawn(10, units=60))
    splits = list(folds(cells, estimator, np.random.default_rng(0)))
    tried: list[tuple[float, int, float]] = []
    for split in splits:
        start = split.sample.start(2, np.random.default_rng(0))
        split.best[2] = Fitted(start, 0.0)
        split.sample = replace(split.sample, pseudo_count=8.0)

    def noted(sample: Sample, start: Mixture, most: int, tolerance: float = 1e-7) -> Fitted:
        tried.append((sample.pseudo_count, most, tolerance))
        return Fitted(Mixture(np.full(2, sample.pseudo_count), start.parameters, start.common), 0.0)

    def made_up(sample: Sample, mixture: Mixture) -> Any:
        values = totals[float(mixture.log_shares[0])]
        return np.full(len(sample.weights), values / 4 / sample.size)

    monkeypatch.setattr(Sample, "climb", noted)
    monkeypatch.setattr(Sample, "likelihoods", made_up)
    for below, wanted in (((0.9, 0.5), 0.25), ((1.1, 0.9), 0.5), ((1.1, 1.2), 1.0)):
        totals = {2.0: -50 - below[0], 4.0: -50 - below[1], 8.0: -50.0}
        tried.clear()
        assert least_fraction(splits, 2) == wanted
        assert tried == [(count, 600, 1e-7) for count in (2.0, 4.0, 8.0) for _ in range(4)]


def test_folds_hold_out_every_unit_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cells, estimator = added_up(drawn(10, "gaussian", units=50), "gaussian")  # a group per unit
    four = list(folds(cells, estimator, np.random.default_rng(0)))
    assert [split.held.size for split in four] == [13, 13, 12, 12]
    assert [split.sample.size for split in four] == [37, 37, 38, 38]
    first = four[0]
    first.best[2] = Fitted(first.sample.start(2, np.random.default_rng(0)), 0.0)
    total = first.sample.likelihoods(first.best[2].mixture).sum()
    assert first.training(2) == pytest.approx(total * 13 / 37), "as of so many as are held out"
    held = np.concatenate([split.held.cells.sums[:, 0] for split in four])
    assert sorted(held.tolist()) == sorted(cells.sums[:, 0].tolist())
    learnt = np.concatenate([split.sample.cells.sums[:, 0] for split in four])
    assert sorted(learnt.tolist()) == sorted(3 * cells.sums[:, 0].tolist())
    # 100 cells: a single split if that is more than a few, of fewer units if it is very many.
    monkeypatch.setattr(module, "FEW", 99)
    (one,) = folds(cells, estimator, np.random.default_rng(0))
    assert (one.sample.size, one.held.size) == (37, 13)
    monkeypatch.setattr(module, "_MANY", 100)
    (one,) = folds(cells, estimator, np.random.default_rng(0))
    assert one.sample.size + one.held.size == 50
    monkeypatch.setattr(module, "_MANY", 80)
    (one,) = folds(cells, estimator, np.random.default_rng(0))
    assert one.sample.size + one.held.size == pytest.approx(40, abs=1)


@pytest.mark.parametrize(("units", "numbers"), [(4, [1, 2]), (5, [1, 2]), (3, [1])])
def test_there_are_two_units_for_each_type_that_is_tried(units: int, numbers: list[int]) -> None:
    cells, estimator = added_up(drawn(3, units=units, shown=3))
    assert list(choose(cells, estimator, None, 0, quiet)[1].held_out) == numbers


def test_the_pseudo_count_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half over the mean divergence, with the noise of 1/2(n + κ) in each of them."""
    monkeypatch.setattr(module, "ROUNDS", 1)
    cells, estimator = added_up(drawn(2, units=40))
    sample = Sample(cells, cells.weights(), estimator, 3.0)
    mixture, _ = sample.climb(sample.start(2, np.random.default_rng(0)), 60)
    m, pooled = estimator.means(mixture.parameters, mixture.common), sample.pooled
    divergence = pooled * np.log(pooled / m) + (1 - pooled) * np.log((1 - pooled) / (1 - m))
    plays = sample.expect(mixture)[1]
    wanted = 0.5 / (divergence + 0.5 / (plays + 3.0)).mean()
    found, _ = estimate_pseudo_count(sample, mixture)
    assert found.pseudo_count == pytest.approx(wanted, rel=1e-9)


def test_the_pseudo_count_has_bounds() -> None:
    far = drawn(2, "gaussian", units=200, means=[[0, 99], [99, 0]])
    cells, estimator = added_up(far, "gaussian")
    sample = Sample(cells, cells.weights(), estimator, 1.0)
    mixture, _ = search(sample, 2, None, np.random.default_rng(0))
    assert estimate_pseudo_count(sample, mixture)[0].pseudo_count == 0.1
    cells, estimator = added_up(drawn(2, units=200, means=[[0.5, 0.5, 0.5]], shares=(1.0,)))
    sample = Sample(cells, cells.weights(), estimator, 1.0)
    one, _ = sample.climb(sample.start(1, np.random.default_rng(0)), 60)
    # Without a divergence the noise alone is left: κ grows by 1600/3 rewards in each round.
    found = estimate_pseudo_count(sample, one)[0].pseudo_count
    assert 6 * 400 < found < 6 * 700
    for _ in range(4):
        sample, one = estimate_pseudo_count(sample, one)
    assert sample.pseudo_count == 1e4
