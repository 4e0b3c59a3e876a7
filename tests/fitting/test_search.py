"""The search for mixtures."""

from __future__ import annotations

import numpy as np
import pytest
from logs import added_up, drawn

from fpbandits.fitting import search as searching
from fpbandits.fitting.em import Mixture, Sample
from fpbandits.fitting.search import renew, restrict, search, shrink, subsample

FOUR = np.random.default_rng(12).uniform(0.05, 0.95, (4, 6))

RARE = [[0.8, 0.4, 0.6, 0.5, 0.7, 0.3], [0.1, 0.4, 0.2, 0.5, 0.3, 0.2], [0.1, 0.9] * 3]


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
    best = search(sample, 2, None, random)
    one = sample.climb(sample.start(1, random), 60)[0]
    stuck = Mixture(np.log([0.5, 0.5]), np.repeat(one.parameters, 2, axis=1), one.common)
    _, found = shrink(sample, sample.climb(stuck, 60), three, random)
    assert found == pytest.approx(best[1], abs=0.01)
    assert shrink(sample, best, three, random)[1] >= best[1], "what is better is kept"


def test_a_rare_type_is_begun_anew() -> None:
    # Two of eight arms per unit, 2 % of a rare type. Its chances of half of the arms are turned
    # round: no step leads back, but new starts do, with each of the first eight seeds.
    means = np.random.default_rng(3).uniform(0.05, 0.95, (5, 8))
    shares = (0.245,) * 4 + (0.02,)
    truth = drawn(11, units=20_000, means=means, shares=shares, shown=2, repeats=5)
    cells, estimator = added_up(truth)
    sample = Sample(cells, cells.weights(), estimator, 1.0)
    odds = np.ascontiguousarray(np.log(means / (1 - means)).T[..., np.newaxis])
    _, wanted = sample.climb(Mixture(np.log(shares), odds, np.zeros(0)), 1500, 1e-9)
    odds[:4, 4] *= -1
    stuck = sample.climb(Mixture(np.log(shares), odds, np.zeros(0)), 1500, 1e-9)
    assert stuck[1] < wanted - 10
    for seed in range(3):
        (_, found), _ = renew(sample, stuck, np.random.default_rng(seed))
        assert found >= wanted - 0.2


@pytest.mark.parametrize("few", [10**6, 200])
def test_ends_are_those_of_climbs_on_all_units(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # From two equal types on, the first that is begun anew does better, on some units and on all.
    monkeypatch.setattr(searching, "FEW", few)
    cells, estimator = added_up(drawn(8, "gaussian", units=400), "gaussian")
    sample = Sample(cells, cells.weights(), estimator, 1.0)
    one = sample.climb(sample.start(1, np.random.default_rng(0)), 60)[0]
    equal = Mixture(np.log([0.5, 0.5]), np.repeat(one.parameters, 2, axis=1), one.common)
    stuck = equal, sample.step(equal)[1]
    best, ends = renew(sample, stuck, np.random.default_rng(0))
    assert best[1] > stuck[1] + 10
    assert best in ends
    assert ends[0] == stuck
    assert len(ends) >= (14 if few > 800 else 2), "all that were tried, or those that did better"
    for end, value in ends:
        assert sample.step(end)[1] == pytest.approx(value, abs=1e-6)


def test_some_units() -> None:
    truth = drawn(9, "gaussian", units=200)
    cells, estimator = added_up(truth, "gaussian")
    sample = Sample(cells, cells.weights(), estimator, 1.0)
    assert subsample(sample, 10**6, np.random.default_rng(0)) is sample
    some = subsample(sample, 100, np.random.default_rng(0))
    assert 40 <= some.size <= 50, "two cells per unit"
    half = cells.weights(np.arange(100))
    assert restrict(cells, half, estimator).size == 100
