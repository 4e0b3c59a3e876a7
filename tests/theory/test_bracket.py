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
    random = np.random.default_rng([models, *family.encode()])
    problem = FAMILIES[family](random.uniform(0.1, 0.9, (models, 3)))
    times = [3, 10, 11, 31, 100, 101, 300]
    found = [floor(problem, time) for time in times]
    assert floor_curve(problem, times) == tuple(found)
    for shorter, longer in pairwise(found):
        assert longer.value >= shorter.value * (1 - 1e-12)
        assert longer.upper is None or longer.upper >= (shorter.upper or 0)


def test_the_shop_of_the_readme() -> None:
    """Its floor once fell from 11.15 at a thousand plays to 10.2 at a hundred thousand."""
    shop = fpb.Problem.bernoulli(
        [[0.9, 0.8, 0.7], [0.6, 0.5, 0.3], [0.5, 0.2, 0.05]], value=[9, 12, 15]
    )
    values = [floor(shop, time).value for time in (10, 100, 1_000, 10_000, 100_000)]
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


@pytest.mark.parametrize("kind", [Lower, Upper])
def test_a_pass_tells_how_far_it_is_and_ends_when_told_to(kind: type[Lower]) -> None:
    grids = stages(fpb.load_problem("paper:two"), 2_000, budget=1e7)
    assert [last for last, _ in grids] == [100, 1_000, 10_000]
    shares: list[float] = []
    bounds = [each.plays for each in follow(kind, grids, [50, 2_000], shares.append)]
    assert bounds == [50, 100, 1_000, 2_000]
    assert shares == sorted(shares)
    assert shares[-1] == 1

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(follow(kind, grids, [50, 2_000], stop))
