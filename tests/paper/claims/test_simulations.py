"""Section 5: every verdict, and on doctored material the other one."""

from __future__ import annotations

import pytest
from doctoring import (
    BEYOND,
    LATE_GROWTH,
    OTHER,
    Doctor,
    Doctored,
    best,
    both,
    cases,
    check_other_way,
    check_section,
    confused_with,
    fewer_models,
    frozen,
    growing,
    linear,
    more,
    number,
    of,
    with_term,
)

from fpbandits.paper.claims import FAILS, HOLDS, Claim
from fpbandits.paper.material import Material

VERDICTS = {
    "two-best-arms": HOLDS,
    "two-1-empty": HOLDS,
    "two-1-flat": HOLDS,
    "two-2-confused": HOLDS,
    "two-2-log": HOLDS,
    "two-2-over-log": HOLDS,
    "permutations-count": HOLDS,
    "permutations-empty": HOLDS,
    "permutations-contrast": HOLDS,
    "permutations-ucb": BEYOND,
    "permutations-other": HOLDS,
    "k-2326": FAILS,
    "k-is-3": FAILS,
    "grid-count": HOLDS,
    "grid-tie-rule": HOLDS,
    "grid-6-empty": HOLDS,
    "grid-6-contrast": HOLDS,
    "grid-4-confused": HOLDS,
    "grid-4-log": HOLDS,
    "grid-4-increasing": BEYOND,
    "grid-4-ucb": BEYOND,
}

DOCTORED: Doctored = [
    ("two-best-arms", of("two-2", best("arm1")), FAILS),
    ("two-1-empty", of("two-1", confused_with("theta2")), FAILS),
    ("two-1-flat", more("two-1-fp-ucb-far", plays=10, since=1e14), FAILS),
    ("two-2-confused", of("two-2", confused_with()), FAILS),
    ("two-2-log", frozen("two-2-fp-ucb-far", since=1e9), FAILS),
    ("two-2-log", linear("two-2-fp-ucb-far"), FAILS),
    ("two-2-over-log", more("two-2-fp-ucb-far", plays=100, since=1e12), FAILS),
    ("permutations-count", fewer_models("paper:permutations"), FAILS),
    ("permutations-empty", of("permutations", confused_with("x")), FAILS),
    ("permutations-contrast", LATE_GROWTH, FAILS),
    ("permutations-contrast", frozen("permutations-ucb1-far", since=1e6), FAILS),
    ("permutations-contrast", frozen("permutations-thompson-far", since=1e6), FAILS),
    ("permutations-ucb", more("permutations-fp-ucb-far", plays=10**5, since=1e9), FAILS),
    ("permutations-other", with_term("permutations", OTHER, alpha=0.3), FAILS),
    ("k-2326", with_term("permutations", OTHER, k=2326), HOLDS),
    ("k-is-3", both(number("2√(3/e)", 0.9), number("k just above 2√(3/e)", 3)), HOLDS),
    ("grid-count", fewer_models("paper:grid"), FAILS),
    ("grid-tie-rule", cases("paper:grid", best("arm4")), FAILS),
    ("grid-6-empty", of("grid-6", confused_with("x")), FAILS),
    ("grid-6-contrast", more("grid-6-fp-ucb-far", plays=100, since=1e14), FAILS),
    ("grid-4-confused", of("grid-4", confused_with("x")), FAILS),
    ("grid-4-log", linear("grid-4-fp-ucb-far"), FAILS),
    ("grid-4-increasing", growing("grid-4-fp-ucb-far", 100), HOLDS),
    ("grid-4-increasing", frozen("grid-4-fp-ucb-far"), FAILS),
    ("grid-4-ucb", more("grid-4-fp-ucb-far", plays=10**5, since=1e9), FAILS),
]


def test_verdicts(claims: list[Claim]) -> None:
    check_section("simulations", VERDICTS, DOCTORED, claims)


@pytest.mark.parametrize(("name", "doctor", "expected"), DOCTORED)
def test_each_verdict_can_come_out_the_other_way(
    name: str, doctor: Doctor, expected: str, material: Material
) -> None:
    check_other_way(name, VERDICTS, doctor, expected, material)
