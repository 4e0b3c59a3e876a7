"""The corrected statements: every verdict, and on doctored material the other one."""

from __future__ import annotations

import pytest
from doctoring import (
    LATE_GROWTH,
    Doctor,
    Doctored,
    cases,
    check_other_way,
    check_section,
    confused_with,
    linear,
    more,
)

from fpbandits.paper.claims import FAILS, HOLDS, Claim
from fpbandits.paper.material import Material

VERDICTS = {
    "corrected-propositions": HOLDS,
    "corrected-theorem-1": HOLDS,
    "corrected-remark-2": HOLDS,
}

DOCTORED: Doctored = [
    ("corrected-propositions", more("minimum-fp-ucb-far", plays=10**10), FAILS),
    ("corrected-theorem-1", more("two-1-fp-ucb-far", plays=10**4, since=1e15), FAILS),
    ("corrected-remark-2", cases("paper:permutations", confused_with("x")), FAILS),
    ("corrected-remark-2", linear("two-2-fp-ucb-far"), FAILS),
    ("corrected-remark-2", LATE_GROWTH, FAILS),
]


def test_verdicts(claims: list[Claim]) -> None:
    check_section("corrections", VERDICTS, DOCTORED, claims)


@pytest.mark.parametrize(("name", "doctor", "expected"), DOCTORED)
def test_each_verdict_can_come_out_the_other_way(
    name: str, doctor: Doctor, expected: str, material: Material
) -> None:
    check_other_way(name, VERDICTS, doctor, expected, material)
