"""Cells hold all that rows say, and what is the same is kept once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from logs import Truth, added_up, drawn, read

from fpbandits.fitting import cells as module
from fpbandits.fitting.cells import Cells


def by_unit(cells: Cells) -> list[list[tuple[Any, ...]]]:
    """What each unit's cells are: pair, plays and sums."""
    found = []
    for group in cells.group_of:
        own = cells.members[cells.starts[group] : cells.starts[group + 1]]
        found.append([(cells.pair[i], cells.plays[i], *cells.sums[i].round(9)) for i in own])
    return found


@pytest.mark.parametrize("family", ["bernoulli", "gaussian", "discrete"])
@pytest.mark.parametrize("at_once", [7, 2**18])
def test_cells_are_what_rows_add_up_to(
    family: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", at_once)
    truth = drawn(3, family, units=40, repeats=3)
    cells, estimator = added_up(truth, family)
    log = read(truth)
    statistics = estimator.statistics_of(log.reward)
    wanted: list[dict[int, Any]] = [{} for _ in log.units]
    for unit, pair, row in zip(log.unit.tolist(), log.pair.tolist(), statistics, strict=True):
        plays, sums = wanted[unit].get(pair, (0, 0 * row))
        wanted[unit][pair] = plays + 1, sums + row
    rows = [
        [(pair, plays, *sums.round(9)) for pair, (plays, sums) in sorted(own.items())]
        for own in wanted
    ]
    assert by_unit(cells) == rows


def test_units_that_are_alike_are_one_group() -> None:
    truth = drawn(5, units=500, repeats=2)
    cells, _ = added_up(truth)
    kinds = Counter(tuple(own) for own in by_unit(cells))
    assert cells.groups == len(kinds) < 100
    assert sorted(cells.weights()) == sorted(kinds.values())
    assert len(cells.pair) == len({cell for own in by_unit(cells) for cell in own})


def test_a_part_of_the_units() -> None:
    truth = drawn(6, units=60)
    cells, _ = added_up(truth)
    some = np.arange(0, 60, 7)
    weights = cells.weights(some)
    assert weights.sum() == len(some)
    part = cells.subset(weights)
    plays, sums = part.totals(weights[weights > 0])
    log = read(truth)
    chosen = np.isin(log.unit, some)
    np.testing.assert_allclose(plays, np.bincount(log.pair[chosen], minlength=3))
    wanted = np.bincount(log.pair[chosen], log.reward[chosen], 3)
    np.testing.assert_allclose(sums[:, 0], wanted)


def test_the_spread_within_cells() -> None:
    truth = drawn(7, "gaussian", units=400, repeats=5)
    cells, estimator = added_up(truth, "gaussian")
    assert cells.within is not None
    scale = vars(estimator)["scale"]
    # 3,200 degrees of freedom: the deviation is known to 1.3 %, and 5 % is four times that.
    assert np.sqrt(cells.within[0] / cells.within[1]) * scale == pytest.approx(0.3, rel=0.05)
    alone, _ = added_up(drawn(7, "gaussian", units=40, repeats=1), "gaussian")
    assert alone.within is None


def test_squares_within_cells_are_around_the_mean_of_each() -> None:
    """Of three rewards of u and a: (1 + 0 + 1)/scale²; or of two, with one degree of freedom."""
    for rewards, squares, freedom in (([3.0, 4, 5, 9, 1], 2, 2), ([3.0, 5, 8, 9], 2, 1)):
        same = len(rewards) - 2
        log = {"user": [0] * same + [0, 1], "arm": [0] * same + [1, 0], "reward": rewards}
        cells, estimator = added_up(
            Truth(np.zeros(0), np.zeros(0), np.zeros(0, int), log), "gaussian"
        )
        assert cells.within is not None
        squared = squares / vars(estimator)["scale"] ** 2
        assert cells.within.tolist() == pytest.approx([squared, freedom])
    assert added_up(drawn(7, units=40))[0].within is None, "rewards of one statistic"
