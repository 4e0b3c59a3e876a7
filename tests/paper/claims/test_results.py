"""Section 3: every verdict, and on doctored material the other one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from doctoring import (
    LATE_GROWTH,
    NO_COUNTEREXAMPLE,
    Doctor,
    Doctored,
    both,
    cases,
    check_other_way,
    check_section,
    confused_with,
    frozen,
    growing,
    linear,
    number,
    of,
    same_set,
)

from fpbandits.paper.claims import FAILS, HOLDS, Claim
from fpbandits.paper.claims.results import SECTION
from fpbandits.paper.material import Material

VERDICTS = {
    "lemma-1": HOLDS,
    "theorem-1": HOLDS,
    "theorem-1-constant": FAILS,
    "theorem-1-coefficient": HOLDS,
    "theorem-1-d2": FAILS,
    "remark-1-ucb": HOLDS,
    "remark-1-thompson": HOLDS,
    "remark-1-ratio": HOLDS,
    "remark-1": FAILS,
    "theorem-2": HOLDS,
    "theorem-2-arms": FAILS,
    "theorem-2-laws": FAILS,
    "remark-2": HOLDS,
}

DOCTORED: Doctored = [
    ("lemma-1", number("lemma 1: least β − Δ", 0.0), FAILS),
    ("lemma-1", of("two-2", lambda case: replace(case, betas=case.gaps)), FAILS),
    ("theorem-1", LATE_GROWTH, FAILS),
    ("theorem-1-constant", NO_COUNTEREXAMPLE, HOLDS),
    ("theorem-1-coefficient", growing("tied-fp-ucb-far", 200), FAILS),
    (
        "theorem-1-d2",
        of("two-2", lambda case: replace(case, confusing_arms=())),
        HOLDS,
    ),
    ("remark-1-ucb", growing("two-1-ucb1-far", 100), FAILS),
    ("remark-1-ucb", frozen("two-1-ucb1-far", since=1e6), FAILS),
    ("remark-1-thompson", growing("two-1-thompson-far", 10), FAILS),
    ("remark-1-ratio", cases("constants", lambda case: replace(case, betas=case.gaps)), FAILS),
    (
        "remark-1",
        both(
            growing("constants-ucb1-far", 100),
            of(
                "constants",
                lambda case: replace(case, ucb1=replace(case.ucb1, log_coefficient=99.0)),
            ),
        ),
        HOLDS,
    ),
    ("theorem-2", frozen("two-2-fp-ucb-far"), FAILS),
    (
        "theorem-2-arms",
        cases(
            "informative",
            lambda case: replace(case, theorem2=replace(case.theorem2, coefficient=0.0)),
        ),
        HOLDS,
    ),
    ("theorem-2-laws", cases("laws", same_set), HOLDS),
    ("remark-2", cases("paper:permutations", confused_with("x")), FAILS),
    ("remark-2", linear("two-2-fp-ucb-far"), FAILS),
    ("remark-2", LATE_GROWTH, FAILS),
]


def test_verdicts(claims: list[Claim]) -> None:
    check_section(SECTION, VERDICTS, DOCTORED, claims)


@pytest.mark.parametrize(("name", "doctor", "expected"), DOCTORED)
def test_each_verdict_can_come_out_the_other_way(
    name: str, doctor: Doctor, expected: str, material: Material
) -> None:
    check_other_way(name, VERDICTS, doctor, expected, material)
