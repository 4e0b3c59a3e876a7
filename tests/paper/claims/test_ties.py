"""Tied best arms: every verdict, and on doctored material the other one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from doctoring import (
    Doctor,
    Doctored,
    cases,
    check_other_way,
    check_section,
    frozen,
    same_set,
)

from fpbandits.paper.claims import FAILS, HOLDS, Claim
from fpbandits.paper.material import Material

VERDICTS = {
    "ties-lemma-1": FAILS,
    "ties-theorem-2": FAILS,
    "ties-remark-2": FAILS,
}

DOCTORED: Doctored = [
    ("ties-lemma-1", cases("paper:grid", lambda case: replace(case, betas={})), HOLDS),
    ("ties-theorem-2", cases("paper:grid", same_set), HOLDS),
    ("ties-remark-2", frozen("tied-fp-ucb-far"), HOLDS),
]


def test_verdicts(claims: list[Claim]) -> None:
    check_section("ties", VERDICTS, DOCTORED, claims)


@pytest.mark.parametrize(("name", "doctor", "expected"), DOCTORED)
def test_each_verdict_can_come_out_the_other_way(
    name: str, doctor: Doctor, expected: str, material: Material
) -> None:
    check_other_way(name, VERDICTS, doctor, expected, material)
