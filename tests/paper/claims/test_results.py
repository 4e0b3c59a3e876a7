"""Section 3: every verdict, and on doctored material the other one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
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
    frozen,
    growing,
    no_counterexample,
    number,
    of,
    same_set,
)

from fpbandits.paper.claims import CLAIMS, FAILS, HOLDS, Claim
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
    "remark-2": FAILS,
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
    ("remark-2", both(no_counterexample("certain"), no_counterexample("laws")), HOLDS),
]


def test_verdicts(claims: list[Claim]) -> None:
    check_section("results", VERDICTS, DOCTORED, claims)


@pytest.mark.parametrize(("name", "doctor", "expected"), DOCTORED)
def test_each_verdict_can_come_out_the_other_way(
    name: str, doctor: Doctor, expected: str, material: Material
) -> None:
    check_other_way(name, VERDICTS, doctor, expected, material)


@pytest.mark.parametrize("removed", ["certain", "laws"])
def test_either_counterexample_refutes_remark_2(removed: str, material: Material) -> None:
    assert CLAIMS["remark-2"](no_counterexample(removed)(material)).verdict == FAILS


def test_a_policy_is_bounded_where_fp_ucb_grows(material: Material) -> None:
    """Play arm 2 until it pays 0: .2/.7 is lost on average, and no more; optimist does as well.

    Four standard errors: a false alarm in 16,000.
    """
    lost = material.regret("certain", "optimist", 10**15)
    assert np.array_equal(lost, material.regret("certain", "optimist", 10**6, "far"))
    plays = 1 / 0.7, math.sqrt(0.3) / 0.7 / math.sqrt(len(lost))
    assert lost.mean() / 0.2 == pytest.approx(plays[0], abs=4 * plays[1])
    # FP-UCB keeps θ² while 3 ln k/β² plays of arm 2 are not yet made: 3Δ/β² per unit of ln t.
    slope = material.slope("certain", "fp-ucb", 10**6, 10**15)
    assert slope.mean() == pytest.approx(3 * 0.2 / 0.7**2, rel=0.05)
