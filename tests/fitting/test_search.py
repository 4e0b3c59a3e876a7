"""The search for mixtures."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from logs import added_up, drawn

from fpbandits.fitting import search as searching
from fpbandits.fitting.em import Fitted, Mixture, Sample
from fpbandits.fitting.search import renew, restrict, search, shake, shrink, subsample

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
    stuck = Fitted(equal, sample.step(equal)[1])
    best, ends = renew(sample, stuck, np.random.default_rng(0))
    assert best[1] > stuck[1] + 10
    assert best in ends
    assert ends[0] == stuck
    assert len(ends) >= (14 if few > 800 else 2), "all that were tried, or those that did better"
    for end, value in ends:
        assert sample.step(end)[1] == pytest.approx(value, abs=1e-6)


Climb = tuple[bool, int, int, float]
"""Whether it was on all units, of how many types, and its most steps and tolerance."""


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> Sample:
    """A sample of which starts are tried on a part."""
    monkeypatch.setattr(searching, "SMALL", 40)
    cells, estimator = added_up(drawn(8, "gaussian", units=60), "gaussian")
    return Sample(cells, cells.weights(), estimator, 1.0)


@pytest.fixture
def climbs(monkeypatch: pytest.MonkeyPatch, whole: Sample) -> list[Climb]:
    """All climbs from here on, in order."""
    made, climb = [], Sample.climb

    def noted(sample: Sample, start: Mixture, most: int, tolerance: float = 1e-7) -> Fitted:
        made.append((len(sample.weights) == 60, start.types, most, tolerance))
        return climb(sample, start, most, tolerance)

    monkeypatch.setattr(Sample, "climb", noted)
    return made


SHAKEN = [(False, 5, 30, 1e-5), *[(False, 5, 20, 1e-4)] * 12, *[(False, 5, 60, 1e-5)] * 6]
"""A round of moves: six types taken out and six pairs merged, and another type put in."""


def test_which_climbs_a_search_makes(whole: Sample, climbs: list[Climb]) -> None:
    """What a fit finds depends on them, and fits are compared over years."""
    before = whole.start(4, np.random.default_rng(1))
    search(whole, 5, before, np.random.default_rng(0))
    wanted = [*[(False, 5, 20, 1e-4)] * 16, *[(False, 5, 100, 1e-5)] * 6]
    wanted += [(True, 5, 600, 1e-6)] * 2
    assert climbs[:24] == wanted
    rounds = 0
    rest = climbs[24:]
    while rest[: len(SHAKEN)] == SHAKEN:
        rest = rest[len(SHAKEN) :]
        rounds += 1
        if rest[0] == (True, 5, 600, 1e-6):
            rest = rest[1:]
    assert rest == [(True, 5, 600, 1e-7)]
    assert 1 <= rounds <= 6
    climbs.clear()
    search(whole, 1, None, np.random.default_rng(0))
    assert climbs == [(True, 1, 60, 1e-7)]


def test_which_climbs_a_type_less_takes(whole: Sample, climbs: list[Climb]) -> None:
    """Each type is taken out and thirty pairs are merged; two that do better climb on."""
    more = whole.start(9, np.random.default_rng(1))
    worst = Fitted(whole.start(8, np.random.default_rng(2)), -1e9)
    shrink(whole, worst, more, np.random.default_rng(0))
    assert climbs[: 1 + 9 + 30] == [(False, 8, 20, 1e-4)] * 40
    assert climbs[40:] == [(True, 8, 600, 1e-6)] * len(climbs[40:])
    assert len(climbs) <= 42


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Climb]]:
    """Let climbs stay where they are, with values of a script: some units' own, all units' own."""

    def script(part: list[float], whole: list[float]) -> list[Climb]:
        made: list[Climb] = []

        def climb(sample: Sample, start: Mixture, most: int, tolerance: float = 1e-7) -> Fitted:
            on_all = len(sample.weights) == 60
            made.append((on_all, start.types, most, tolerance))
            return Fitted(start, (whole if on_all else part).pop(0))

        monkeypatch.setattr(Sample, "climb", climb)
        return made

    return script


def test_a_search_ends_after_twelve_restarts_without_a_gain(
    whole: Sample, scripted: Callable[..., list[Climb]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gains of 0.1 nats or less are none, nor is what is no gain on all units."""
    monkeypatch.setattr(searching, "FEW", 40)
    start = Fitted(whole.start(3, np.random.default_rng(1)), -50.0)
    part, on_all = [10.0, *[10.05] * 3, 10.2], [-40.0, -45.0]
    part += [*[10.25] * 4, 11.0, *[11.05] * 7]  # twelve since the gain
    made = scripted(part, on_all)
    best, ends = renew(whole, start, np.random.default_rng(0))
    assert part == on_all == []
    assert best.value == -40
    assert [end.value for end in ends] == [-50, -40, -45]
    assert {climb[1:] for climb in made} == {(3, 600, 1e-7)}


@pytest.mark.parametrize(
    ("found", "reached"),
    [
        ([9.0], []),  # no better on some units
        ([10.0], []),
        ([11.0], [-51.0]),  # on some units, and not on all
        ([11.0], [-50.0]),
        ([11.0, 11.0, 9.0], [-49.0, -48.0]),
        ([11.0] * 6, [-49.0, -48.0, -47.0, -46.0, -45.0, -44.0]),  # no more than six rounds
    ],
)
def test_types_are_moved_as_long_as_it_helps(
    whole: Sample,
    scripted: Callable[..., list[Climb]],
    found: list[float],
    reached: list[float],
) -> None:
    """``found`` is the best of a round on some units, and ``reached`` that on all units."""
    part: list[float] = []
    for each in found:
        part += [10.0, *[0.0] * 12, each, *[0.0] * 5]
    on_all = [*reached, 77.0]
    made = scripted(part, on_all)
    start = Fitted(whole.start(5, np.random.default_rng(1)), -50.0)
    small = subsample(whole, 40, np.random.default_rng(0))
    best = shake(whole, small, start, np.random.default_rng(0))
    assert part == on_all == []
    assert best.value == 77, "the last climb is to convergence"
    wanted: list[Climb] = []
    for place in range(len(found)):
        wanted += [*SHAKEN, *[(True, 5, 600, 1e-6)] * (place < len(reached))]
    assert made == [*wanted, (True, 5, 600, 1e-7)]


def test_the_likeliest_come_first_and_nan_last() -> None:
    cells, estimator = added_up(drawn(8, units=20))
    start = Sample(cells, cells.weights(), estimator, 1.0).start(2, np.random.default_rng(0))
    values = [math.nan, -3.0, math.inf, 5.0, -math.inf, 1.0]
    rivals = [Fitted(start, value) for value in values]
    assert [rival.value for rival in searching._best(rivals, 3)] == [5, 1, -3]


def test_pairs_are_drawn_once_each() -> None:
    random = np.random.default_rng(0)
    pairs = searching._draw_pairs(4, 10, random)
    assert sorted(pairs) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert len(searching._draw_pairs(4, 5, random)) == 5


def test_some_units() -> None:
    truth = drawn(9, "gaussian", units=200)
    cells, estimator = added_up(truth, "gaussian")
    sample = Sample(cells, cells.weights(), estimator, 1.0)
    assert subsample(sample, 10**6, np.random.default_rng(0)) is sample
    some = subsample(sample, 100, np.random.default_rng(0))
    assert 40 <= some.size <= 50, "two cells per unit"
    half = cells.weights(np.arange(100))
    assert restrict(cells, half, estimator).size == 100
