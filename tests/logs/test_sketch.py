"""Whether two logs share units, from sketches of a constant size."""

from __future__ import annotations

import pytest

from fpbandits.logs.sketch import MOST, share_within, sketch


def names(start: int, stop: int) -> list[str]:
    return [f"user {number}" for number in range(start, stop)]


def test_small_sets_are_compared_exactly() -> None:
    assert share_within(names(90, 190), sketch(names(0, 100))) == 0.1
    assert share_within(names(100, 10_000), sketch(names(0, 100))) == 0
    assert share_within(names(0, 10), ()) == 0


def test_large_sets_are_compared_by_a_sample() -> None:
    kept = sketch(names(0, 20_000))
    assert len(kept) == MOST
    assert share_within(names(20_000, 40_000), kept) == 0
    assert share_within(names(0, 20_000), kept) == 1
    # Of 20 names none has so small a hash, whether they are in the set or not.
    assert share_within(names(0, 20), kept) is None
    assert share_within(names(20_000, 20_020), kept) is None
    # Of about 256 names 30 %: four deviations are 0.11, a false alarm once in 10,000.
    assert share_within(names(14_000, 34_000), kept) == pytest.approx(0.3, abs=0.11)
