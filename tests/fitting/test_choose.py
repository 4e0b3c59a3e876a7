"""How many types, and how far thin cells are pulled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from logs import added_up, drawn, log_likelihood, matched

from fpbandits.fitting import choose as module
from fpbandits.fitting.choose import choose, part_of, pulled, search, shrunk, some_of
from fpbandits.fitting.em import Mixture, Sample

FOUR = np.random.default_rng(12).uniform(0.05, 0.95, (4, 6))


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
    found = estimator.means(mixture.coordinates, mixture.common).T
    np.testing.assert_allclose(found[matched(found, FOUR)], FOUR, atol=0.12)


def test_bic_has_its_way_where_more_types_score_no_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = drawn(1, units=600)
    cells, estimator = added_up(truth)
    # Whatever difference there is among held-out units, let it pass for noise.
    monkeypatch.setattr(module, "_CLEARLY", 1e9)
    _, choice = choose(cells, estimator, None, 0, quiet)
    assert choice.types == 2
    # And where BIC alone asks for more, it has not.
    monkeypatch.setattr(module, "free_numbers", lambda mixture: -100 * mixture.types)
    _, choice = choose(cells, estimator, None, 0, quiet)
    assert min(choice.bic, key=choice.bic.__getitem__) == max(choice.bic) > 2
    assert choice.types == max(choice.held_out, key=choice.held_out.__getitem__)


def test_one_type_is_one_type() -> None:
    truth = drawn(2, units=600, means=[[0.9, 0.5, 0.1]], shares=(1.0,))
    cells, estimator = added_up(truth)
    _, choice = choose(cells, estimator, None, 0, quiet)
    assert choice.types == 1


def test_bic_is_what_it_says() -> None:
    truth = drawn(3, units=200)
    cells, estimator = added_up(truth)
    mixture, choice = choose(cells, estimator, 2, 0, quiet)
    means = estimator.means(mixture.coordinates, mixture.common).T
    likelihood = log_likelihood(truth, "bernoulli", means, np.exp(mixture.log_shares), 1.0)
    wanted = (2 * 3 + 1) * math.log(200) - 2 * likelihood
    # That of the choice is of the strength that all numbers of types are compared with.
    assert choice.bic == {2: pytest.approx(wanted, abs=2)}


def test_held_out_units_are_scored_per_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = drawn(4, units=4000, means=[[0.5, 0.5, 0.5]], shares=(1.0,))
    cells, estimator = added_up(truth)
    for few in (10**6, 0):  # in folds, or once
        monkeypatch.setattr(module, "_FEW", few)
        _, choice = choose(cells, estimator, 1, 0, quiet)
        # 8,000 rewards or more of a fair coin: ln 2 but for noise of .0001.
        assert choice.held_out[1] == pytest.approx(-math.log(2), abs=0.001)


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
    assert alike.strength > 10 * different.strength


def test_the_strength_is_that_of_the_law_which_types_are_drawn_from() -> None:
    # Means of 12 types drawn from Beta(κm, κ(1 − m)) with κ = 6: 240 of them know κ to 10 %, and
    # the divergence is quadratic only near the pooled law.
    random = np.random.default_rng(1)
    means = random.beta(6 * 0.4, 6 * 0.6, (12, 20))
    truth = drawn(6, units=3000, means=means, shares=(1 / 12,) * 12, shown=20, repeats=3)
    cells, estimator = added_up(truth)
    sample = Sample(cells, cells.weights(), estimator, 1.0)
    odds = np.log(means / (1 - means)).T[..., np.newaxis]
    mixture = Mixture(np.full(12, -np.log(12)), np.ascontiguousarray(odds), np.zeros(0))
    pulled_sample, _ = pulled(sample, mixture)
    assert 4 < pulled_sample.strength < 8


def test_a_search_reaches_what_a_start_at_the_truth_reaches() -> None:
    truth = drawn(7, units=3000, means=FOUR, shares=(0.25,) * 4, shown=2, repeats=3)
    cells, estimator = added_up(truth)
    sample = Sample(cells, cells.weights(), estimator, 1.0)
    odds = np.log(FOUR / (1 - FOUR)).T[..., np.newaxis]
    start = sample.start(4, np.random.default_rng(0))
    at_truth = type(start)(start.log_shares, np.ascontiguousarray(odds), start.common)
    _, wanted = sample.climb(at_truth, 1500, 1e-9)
    for seed in range(3):
        _, found = search(sample, 4, None, np.random.default_rng(seed))
        assert found >= wanted - 0.1


def test_a_type_too_many_is_taken_out() -> None:
    truth = drawn(8, units=1000)
    cells, estimator = added_up(truth)
    sample = Sample(cells, cells.weights(), estimator, 1.0)
    random = np.random.default_rng(0)
    three, _ = search(sample, 3, None, random)
    _, found = shrunk(sample, three, random)
    _, wanted = search(sample, 2, None, random)
    assert found == pytest.approx(wanted, abs=0.01)


def test_some_units() -> None:
    truth = drawn(9, "gaussian", units=200)
    cells, estimator = added_up(truth, "gaussian")
    sample = Sample(cells, cells.weights(), estimator, 1.0)
    assert some_of(sample, 10**6, np.random.default_rng(0)) is sample
    some = some_of(sample, 100, np.random.default_rng(0))
    assert 40 <= some.size <= 50, "two cells per unit"
    half = cells.weights(np.arange(100))
    assert part_of(cells, half, estimator).size == 100


def test_what_is_under_way_is_told() -> None:
    told: list[Any] = []
    cells, estimator = added_up(drawn(10, units=100))
    choose(cells, estimator, 2, 0, lambda name, *shares: told.append(name))
    assert told == ["fitting 2 types", "fitting 2 types to all units"]
