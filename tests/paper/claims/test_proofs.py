"""Section 4 and the appendix: every verdict, and on doctored material the other one."""

from __future__ import annotations

import math

import pytest
from doctoring import (
    NO_COUNTEREXAMPLE,
    Doctor,
    Doctored,
    both,
    check_other_way,
    check_section,
    more,
    number,
    without,
)

from fpbandits.paper.claims import CLAIMS, FAILS, HOLDS, Claim
from fpbandits.paper.material import Material

VERDICTS = {
    "proposition-1": HOLDS,
    "proposition-1-constant": FAILS,
    "proposition-2": FAILS,
    "inconsistent-episodes": HOLDS,
    "one-in-a-k": FAILS,
    "k-is-free-of-t": HOLDS,
    "lemma-2": HOLDS,
    "lemma-2-step-a": FAILS,
    "lemma-2-step-b": FAILS,
}

DOCTORED: Doctored = [
    ("proposition-1", more("minimum-fp-ucb-far", plays=1, since=1e12), FAILS),
    ("proposition-1", more("permutations-fp-ucb-far", plays=1, since=1e12, runs=1), FAILS),
    ("proposition-1-constant", NO_COUNTEREXAMPLE, HOLDS),
    ("proposition-2", both(without("forgotten-fp-ucb-far"), without("grid-4-fp-ucb-far")), HOLDS),
    ("inconsistent-episodes", number("Σ 2 k⁻⁵", 5.0), FAILS),
    ("one-in-a-k", number("margin of θ°", 0.1), HOLDS),
    ("k-is-free-of-t", number("K at α = .2", math.inf), FAILS),
    ("lemma-2", number("lemma 2: largest share of the bound", 1.5), FAILS),
    ("lemma-2-step-a", number("lemma 2: step (a)", 1.5), HOLDS),
    ("lemma-2-step-b", number("lemma 2: step (b)", 1.9), HOLDS),
]


def test_verdicts(claims: list[Claim]) -> None:
    check_section("proofs", VERDICTS, DOCTORED, claims)


@pytest.mark.parametrize(("name", "doctor", "expected"), DOCTORED)
def test_each_verdict_can_come_out_the_other_way(
    name: str, doctor: Doctor, expected: str, material: Material
) -> None:
    check_other_way(name, VERDICTS, doctor, expected, material)


@pytest.mark.parametrize("removed", ["forgotten", "grid-4"])
def test_proposition_2_fails_within_assumption_1_and_outside(
    removed: str, material: Material
) -> None:
    """Under (.5, .49) both arms are played in turn, 50,000 times each, and best arms are unique."""
    doctored = without(f"{removed}-fp-ucb-far")(material)
    claim = CLAIMS["proposition-2"](doctored)
    assert claim.verdict == FAILS
    if removed == "grid-4":
        assert material.analyses["forgotten"].ties == ()
        assert "arm2: 50,000 of 831.9" in claim.measured
