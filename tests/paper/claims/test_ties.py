"""Tied best arms: every verdict, and on doctored material the other one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from doctoring import (
    Doctor,
    Doctored,
    cases,
    check_other_way,
    check_section,
    frozen,
    of,
    same_set,
)

from fpbandits.paper.claims import CLAIMS, FAILS, HOLDS, Claim
from fpbandits.paper.material import Material
from fpbandits.theory.cases import Case

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


@pytest.mark.parametrize(
    ("slope", "least", "verdict"),
    [
        ([0.5] * 8, 0.0, FAILS),  # it grows, and need not
        ([0.5] * 8, 0.1, HOLDS),
        ([-0.8, 1.2] * 4, 0.0, HOLDS),  # that it grows is not shown
        ([-0.5] * 8, 0.0, HOLDS),
    ],
)
def test_growth_counts_where_the_lower_bound_is_0(
    slope: list[float],
    least: float,
    verdict: str,
    give: Callable[..., Material],
    made_up: Material,
) -> None:
    def change(case: Case) -> Case:
        bound = case.theorem2
        return replace(
            case, theorem2=replace(bound, all_arms=replace(bound.all_arms, coefficient=least))
        )

    slopes = {("tied", "fp-ucb", 10**6, 10**15): slope}
    given = give(of("tied", change)(made_up), slopes=lambda *asked: slopes[asked])
    assert CLAIMS["ties-remark-2"](given).verdict == verdict


def test_one_truth_that_forces_nothing_is_enough_to_refute_theorem_2(made_up: Material) -> None:
    """All others keep what they have in B(θ°)."""

    def change(case: Case) -> Case:
        return case if case.truth == "0.4,0.6,0.3,0.2" else same_set(case)

    assert not made_up.case("tied").theorem2.confusion_set
    claim = CLAIMS["ties-theorem-2"](cases("paper:grid", change)(made_up))
    assert claim.verdict == FAILS
    assert "; in 1 of " in claim.measured
