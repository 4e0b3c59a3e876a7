"""Section 4 and the appendix: every verdict, and on doctored material the other one."""

from __future__ import annotations

import math
from collections.abc import Callable

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


@pytest.mark.parametrize(
    ("name", "claim", "most"),
    [
        ("Σ 2 k⁻⁵", "inconsistent-episodes", 4.0),
        ("lemma 2: largest share of the bound", "lemma-2", 1.0),
        ("lemma 2: step (b)", "lemma-2-step-b", 2.0),
    ],
)
def test_numbers_may_reach_what_the_paper_says(
    name: str, claim: str, most: float, made_up: Material
) -> None:
    assert CLAIMS[claim](number(name, most)(made_up)).verdict == HOLDS
    assert CLAIMS[claim](number(name, most * 1.001)(made_up)).verdict == FAILS


def test_step_a_must_exceed_1(made_up: Material) -> None:
    for value, verdict in ((1.0, FAILS), (1.001, HOLDS)):
        assert (
            CLAIMS["lemma-2-step-a"](number("lemma 2: step (a)", value)(made_up)).verdict == verdict
        )


@pytest.mark.parametrize(
    ("truth", "other", "verdict"),
    [
        (-0.5, 0.5, FAILS),
        (-0.5, 0.0, FAILS),
        (0.0, 0.5, HOLDS),
        (0.5, 0.9, HOLDS),
        (-0.5, -0.1, HOLDS),
    ],
)
def test_a_stand_in_refutes_that_only_the_truth_brings_the_best_arm(
    truth: float, other: float, verdict: str, made_up: Material
) -> None:
    """If the truth is inconsistent, its margin below 0, and the other model is not."""
    doctor = both(number("margin of θ°", truth), number("margin of a stand-in", other))
    assert CLAIMS["one-in-a-k"](doctor(made_up)).verdict == verdict


@pytest.mark.parametrize(
    ("part", "verdict"), [(1.0, HOLDS), (1 + 1e-10, HOLDS), (1 + 1e-8, FAILS), (1.5, FAILS)]
)
def test_a_sum_may_exceed_its_limit_by_rounding_alone(
    part: float, verdict: str, made_up: Material
) -> None:
    doctor = both(number("K at α = .2", 1000.0), number("K at α = .2, to 1e5", 1000.0 * part))
    assert CLAIMS["k-is-free-of-t"](doctor(made_up)).verdict == verdict


def test_one_run_is_enough_to_refute_proposition_1(give: Callable[..., Material]) -> None:
    """That its regret at T = 1e12 is not what it was at 1e9."""
    for grew in (0, 1):
        regrets = {10**9: [7.0] * 50, 10**12: [7.25] * grew + [7.0] * (50 - grew)}
        given = give(regrets=lambda setting, policy, time, regrets=regrets: regrets[time])
        assert CLAIMS["proposition-1"](given).verdict == (FAILS if grew else HOLDS)


def test_proposition_2_by_hand(made_up: Material) -> None:
    """2 + 4|A| + 12 ln T/β² at T = 1e5: on "forgotten" β = |.49 − .9|, and both arms are in A."""
    bound = 2 + 4 * 2 + 12 * math.log(10**5) / 0.41**2
    assert f" of {bound:.4g}\n" in CLAIMS["proposition-2"](made_up).measured
