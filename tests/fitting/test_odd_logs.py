"""Hopeless or odd logs: words that a person can act on, and no more types than there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from logs import drawn

import fpbandits as fpb
from fpbandits.errors import InputError

ROLES: Any = {"unit": "user", "arm": "arm", "reward": "reward"}
LOG = drawn(1, units=400).log
ROWS = len(LOG["user"])
RANDOM = np.random.default_rng(0)


def more_of(unit: int, rows: int) -> dict[str, Any]:
    """The log, and so many rows of one unit, who likes all arms the same."""
    extra = np.full(rows, unit), RANDOM.integers(3, size=rows), RANDOM.integers(2, size=rows)
    return {name: np.append(LOG[name], own) for name, own in zip(LOG, extra, strict=True)}


def no_signal() -> dict[str, Any]:
    return {**LOG, "reward": RANDOM.integers(2, size=ROWS)}


def rare_type() -> dict[str, Any]:
    return drawn(3, units=2000, shares=(0.99, 0.01), shown=3).log


def swapped_units_and_arms() -> dict[str, Any]:
    return {**LOG, "user": LOG["arm"], "arm": LOG["user"]}


def a_unit_per_row() -> dict[str, Any]:
    return {**LOG, "user": np.arange(ROWS)}


def one_arm_per_unit() -> dict[str, Any]:
    return {**LOG, "arm": LOG["user"] % 3, "reward": RANDOM.integers(2, size=ROWS)}


@pytest.mark.parametrize(
    ("make", "most", "words"),
    [
        (no_signal, 1, ""),
        (lambda: more_of(9999, 20_000), 2, "BIC would take 3 types"),
        (rare_type, 2, ""),
        (swapped_units_and_arms, 1, "400 arms for 3 units: are the columns of units and arms sw"),
        (a_unit_per_row, 1, "units have 1 rewards on average: types cannot be told apart"),
        (one_arm_per_unit, 1, "3 of 3 arms were never shown to 40% of units or more"),
    ],
    ids=["no signal", "a giant unit", "1 % type", "swapped", "a unit per row", "an arm per unit"],
)
def test_odd(make: Callable[[], dict[str, Any]], most: int, words: str) -> None:
    found = fpb.fit(make(), **ROLES)
    assert found.types <= most
    assert words in " ".join(found.warnings)


def test_one_reward_per_unit_does_not_hint_at_more_types() -> None:
    random = np.random.default_rng(1)
    columns = {"arm": random.integers(2, size=60), "reward": random.integers(2, size=60)}
    found = fpb.fit({"user": np.arange(60), **columns}, **ROLES)
    assert found.types == 1
    assert "there may be" not in " ".join(found.warnings)


DATES = np.array([f"2026-11-18 {number:06d}" for number in range(100_000)])


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ({name: np.repeat(column, 2) for name, column in LOG.items()}, "every row is there 2 time"),
        (
            {"user": np.arange(100_000) % 99, "arm": DATES, "reward": np.arange(100_000) % 2},
            "100,000 arms in 100,000 rows: most were played once, .* Is it the right column",
        ),
        ({**LOG, "arm": LOG["reward"], "reward": LOG["arm"]}, "--family discrete"),
        ({**LOG, "reward": np.zeros(ROWS)}, "all rewards are 0: there is nothing to learn"),
        (
            {**LOG, "reward": np.where(np.arange(ROWS) == 17, 1e9, LOG["reward"])},
            "row 17, .* is neither 0 nor 1, as are 1 of 3,200 rewards: correct it, or use",
        ),
        (
            {**LOG, "reward": LOG["reward"] * RANDOM.gamma(2, 10, ROWS)},
            r"use --family revenue \(0 or an amount that varies\)",
        ),
        ({**LOG, "reward": RANDOM.integers(10**6, size=ROWS)}, "use --family beta .* or gaussian"),
    ],
    ids=["doubled", "dates", "swapped", "no reward", "one odd reward", "revenue", "identifiers"],
)
def test_hopeless(log: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        fpb.fit(log, **ROLES)
    assert len(str(caught.value).splitlines()) == 1
