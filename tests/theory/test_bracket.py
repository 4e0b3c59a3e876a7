"""Bounds never fall as plays are added, and do not depend on how far the pass goes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.theory import bracket, recursions
from fpbandits.theory.beliefs import Beliefs
from fpbandits.theory.bracket import Lower, Upper, follow, stages
from fpbandits.theory.floor import floor, floor_curve

FAMILIES = {
    "bernoulli": lambda m: fpb.Problem.bernoulli(m, prior={"theta1": 2}),
    "values": lambda m: fpb.Problem.bernoulli(m, value=[9, 12, 15]),
    "gaussian": lambda m: fpb.Problem.gaussian(m, deviation=0.7),
    "beta": lambda m: fpb.Problem.beta(m, concentration=4),
}


@pytest.mark.parametrize("models", [2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_floors_of_separate_calls_never_fall(
    family: str, models: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several grids in few plays, each coarser than the one before."""
    monkeypatch.setattr(bracket, "STAGES", (10, 30, 100, 1_000))
    monkeypatch.setattr("fpbandits.theory.floor._MOST_STATES", 20_000)
    monkeypatch.setattr("fpbandits.theory.floor.BUDGET", 5e6)
    monkeypatch.setattr("fpbandits.theory.pairs._BUDGET", 2e8)
    random = np.random.default_rng([models, *family.encode()])
    problem = FAMILIES[family](random.uniform(0.1, 0.9, (models, 3)))
    times = [3, 10, 11, 31, 100, 101, 300]
    found = [floor(problem, time) for time in times]
    assert floor_curve(problem, times) == tuple(found)
    for shorter, longer in pairwise(found):
        assert longer.value >= shorter.value * (1 - 1e-12)
        assert longer.upper is None or longer.upper >= (shorter.upper or 0)


def test_the_shop_of_the_readme(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its floor once fell from grid to grid: from 11.15 at a thousand plays to 10.2 later."""
    monkeypatch.setattr("fpbandits.theory.pairs._BUDGET", 1e9)
    shop = fpb.Problem.bernoulli(
        [[0.9, 0.8, 0.7], [0.6, 0.5, 0.3], [0.5, 0.2, 0.05]], value=[9, 12, 15]
    )
    values = [floor(shop, time).value for time in (10, 100, 1_000, 12_000)]
    assert values == sorted(values)


def test_arms_that_are_left_out_change_nothing() -> None:
    means = [[0.35, 0.3, 0.25, 0.33], [0.28, 0.31, 0.37, 0.3]]
    problem = fpb.Problem.bernoulli(means)
    grid = Beliefs.of(problem, 500, budget=1e7)
    at = np.linspace(-8, 8, 33)
    sparing, plain = Lower(grid), Lower(grid)
    sparing.advance(400)
    ranges = sparing._state[1]
    assert np.diff(ranges).sum() < 0.9 * len(ranges) * len(grid.log_odds), "some are left out"
    for play in range(1, 401):
        plain._state[1][:] = [0, len(grid.log_odds)]
        plain.advance(play)
    assert recursions.REVIEW < 400
    assert sparing.at(at) == pytest.approx(plain.at(at), rel=1e-12)


def test_grids_are_for_powers_of_ten_up_to_the_horizon() -> None:
    two = fpb.load_problem("paper:two")
    for horizon, last in ((1, 100), (100, 100), (101, 1_000), (10**6, 10**6)):
        found = stages(two, horizon, budget=1e4)
        assert [plays for plays, _ in found] == [10**n for n in range(2, len(str(last)))]
        for plays, grid in found:
            assert grid.step == Beliefs.of(two, plays, 1e4).step


def test_a_lower_bound_goes_on_along_chords() -> None:
    """On the next grid, between its points and beyond them; certainty loses nothing."""
    problem = fpb.Problem.bernoulli([[0.62, 0.5], [0.4, 0.57]])
    fine, coarse = Beliefs.of(problem, 20, most_points=300), Beliefs.of(problem, 5, most_points=120)
    before = Lower(fine)
    before.advance(20)
    inside = before._values
    odds = np.exp(fine.log_odds)

    def by_hand(log_odds: float) -> float:
        u = np.exp(log_odds)
        if u <= odds[0]:
            return float(inside[0] * u / odds[0])
        if u >= odds[-1]:
            return float(inside[-1])
        right = int((odds > u).argmax())
        share = (u - odds[right - 1]) / (odds[right] - odds[right - 1])
        return float((1 - share) * inside[right - 1] + share * inside[right])

    at = np.array([fine.log_odds[0] - 2, -3.3, 0.1, 2.2, fine.log_odds[-1] + 1])
    expected = [by_hand(x) / (1 + np.exp(x)) for x in at]
    assert before.at(at) == pytest.approx(expected, rel=1e-12)
    after = Lower(coarse, before)
    assert after.plays == 20
    assert after._values == pytest.approx([by_hand(x) for x in coarse.log_odds], rel=1e-12)


def test_a_policy_goes_on_from_the_better_of_two_old_beliefs() -> None:
    """It loses a under the first model and b under the second, from wherever it is put."""
    problem = fpb.Problem.bernoulli([[0.62, 0.5], [0.4, 0.57]], prior={"theta1": 2, "theta2": 1})
    narrow, wide = (
        Beliefs.of(problem, horizon, most_points=points)
        for horizon, points in ((10, 130), (10**4, 300))
    )
    before = Upper(narrow)
    before.advance(10)
    old_a, old_b = before._regret
    old = narrow.log_odds
    after = Upper(wide, before)
    assert (after.plays, after.bound) == (10, before.bound)
    outside = 0
    for x, a, b in zip(wide.log_odds, *after._regret, strict=True):
        beside = [int(np.flatnonzero(old < x)[-1])] if (old < x).any() else []
        beside += [int(np.flatnonzero(old >= x)[0])] if (old >= x).any() else []
        outside += len(beside) == 1
        moved = [(old_a[i], old_b[i] * np.exp(x - old[i])) for i in beside]
        assert (a, b) == pytest.approx(min(moved, key=sum), rel=1e-12)
    assert outside > 20, "the new grid is wider"
    after.advance(11)
    assert after.bound >= before.bound


def test_a_bound_from_above_is_the_most_that_its_policy_has_lost_so_far() -> None:
    """The value of a policy may fall as plays are added; what must be lost does not."""
    problem = fpb.Problem.bernoulli([[0.62, 0.5], [0.4, 0.57]])
    grid = Beliefs.of(problem, 40, most_points=150)
    bounds = []
    step_by_step, at_once = Upper(grid), Upper(grid)
    for plays in range(1, 41):
        step_by_step.advance(plays)
        bounds.append(step_by_step.bound)
    at_once.advance(40)
    assert bounds == sorted(bounds)
    assert at_once.bound == bounds[-1]


@pytest.mark.parametrize(("kind", "arms_weigh"), [(Lower, 1), (Upper, 4)])
def test_progress_is_told_after_so_many_multiplications(
    kind: type[Lower], arms_weigh: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of four rewards leads to one value of ℓ, between two ends of a chord."""
    problem = fpb.Problem.bernoulli([[0.9, 0.8], [0.1, 0.2]])
    grid = Beliefs.of(problem, 100, most_points=150)
    ends = 8 if kind is Lower else 4
    shares: list[float] = []
    monkeypatch.setattr(bracket, "_SLICE", 10.5 * arms_weigh * ends * len(grid.log_odds))
    list(follow(kind, [(100, grid)], [25, 40], shares.append))
    assert shares == [0.25, 0.5, 0.625, 0.875, 1.0]
    shares.clear()
    monkeypatch.setattr(bracket, "_SLICE", 1.0)
    list(follow(kind, [(100, grid)], [3], shares.append))
    assert shares == [1 / 3, 2 / 3, 1]
    # Where the first reward settles everything, there is nothing to multiply.
    shares.clear()
    monkeypatch.setattr(bracket, "_SLICE", 6.0)
    sure = Beliefs.of(fpb.Problem.bernoulli([[1.0, 0.0], [0.0, 1.0]]), 100)
    list(follow(kind, [(100, sure)], [9], shares.append))
    assert shares == [6 / 9, 1]


@pytest.mark.parametrize("kind", [Lower, Upper])
def test_a_pass_tells_how_far_it_is_and_ends_when_told_to(kind: type[Lower]) -> None:
    grids = stages(fpb.load_problem("paper:two"), 2_000, budget=1e7)
    assert [last for last, _ in grids] == [100, 1_000, 10_000]
    shares: list[float] = []
    bounds = [each.plays for each in follow(kind, grids, [50, 2_000], shares.append)]
    assert bounds == [50, 100, 1_000, 2_000]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert {0.025, 0.05, 0.5} <= set(shares)
    assert len(shares) < 100, "so small a problem has more than a play in a slice"

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(follow(kind, grids, [50, 2_000], stop))
