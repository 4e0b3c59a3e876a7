"""Abstract, introduction and conclusion: every verdict, and on doctored material the other one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from doctoring import (
    BEYOND,
    LATE_GROWTH,
    Doctor,
    Doctored,
    check_other_way,
    check_section,
    frozen,
    linear,
    more,
    of,
)

from fpbandits.paper.claims import FAILS, HOLDS, Claim
from fpbandits.paper.material import Material

VERDICTS = {
    "bounded": HOLDS,
    "standard-grows": HOLDS,
    "logarithmic": HOLDS,
    "oblivious": HOLDS,
    "superior-ucb": BEYOND,
    "superior-thompson": FAILS,
    "thompson-beats-ucb": HOLDS,
    "smaller-constant": HOLDS,
    "matches-lower-bound": FAILS,
    "guarantees-superior": BEYOND,
}

DOCTORED: Doctored = [
    ("bounded", LATE_GROWTH, FAILS),
    ("standard-grows", frozen("permutations-ucb1-far", since=1e6), FAILS),
    ("standard-grows", frozen("two-1-thompson-far", since=1e6), FAILS),
    ("logarithmic", more("two-2-fp-ucb-far", plays=10**6, since=1e14), FAILS),
    ("oblivious", frozen("two-2-fp-ucb-far"), FAILS),
    ("oblivious", linear("two-2-fp-ucb-far"), FAILS),
    ("oblivious", more("two-1-fp-ucb-far", plays=10, since=1e14), FAILS),
    ("superior-ucb", more("two-1-fp-ucb-far", plays=10**4, since=1e9), FAILS),
    (
        "superior-thompson",
        more(
            *(
                f"{name}-thompson-{distance}"
                for name in ("two-1", "two-2", "permutations", "grid-4")
                for distance in ("near", "far")
            ),
            plays=10**6,
        ),
        BEYOND,
    ),
    ("thompson-beats-ucb", more("grid-4-thompson-near", plays=10**6), FAILS),
    ("smaller-constant", frozen("two-2-ucb1-far"), FAILS),
    ("matches-lower-bound", frozen("two-2-fp-ucb-far"), HOLDS),
    (
        "guarantees-superior",
        of("grid-4", lambda case: replace(case, ucb1=replace(case.ucb1, log_coefficient=1.0))),
        FAILS,
    ),
]


def test_verdicts(claims: list[Claim]) -> None:
    check_section("introduction", VERDICTS, DOCTORED, claims)


@pytest.mark.parametrize(("name", "doctor", "expected"), DOCTORED)
def test_each_verdict_can_come_out_the_other_way(
    name: str, doctor: Doctor, expected: str, material: Material
) -> None:
    check_other_way(name, VERDICTS, doctor, expected, material)
