"""The corrected statements: every verdict, and on doctored material the other one."""

from __future__ import annotations

import pytest
from doctoring import (
    Doctor,
    Doctored,
    check_other_way,
    check_section,
    more,
)

from fpbandits.paper.claims import FAILS, HOLDS, Claim
from fpbandits.paper.claims.corrections import SECTION
from fpbandits.paper.material import Material

VERDICTS = {
    "corrected-propositions": HOLDS,
    "corrected-theorem-1": HOLDS,
}

DOCTORED: Doctored = [
    ("corrected-propositions", more("minimum-fp-ucb-far", plays=10**10), FAILS),
    ("corrected-theorem-1", more("two-1-fp-ucb-far", plays=10**4, since=1e15), FAILS),
]


def test_verdicts(claims: list[Claim]) -> None:
    check_section(SECTION, VERDICTS, DOCTORED, claims)


@pytest.mark.parametrize(("name", "doctor", "expected"), DOCTORED)
def test_each_verdict_can_come_out_the_other_way(
    name: str, doctor: Doctor, expected: str, material: Material
) -> None:
    check_other_way(name, VERDICTS, doctor, expected, material)
