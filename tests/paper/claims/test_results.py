"""Section 3: every verdict, and on doctored material the other one."""

from __future__ import annotations

import math
from collections.abc import Callable
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
from fpbandits.theory.cases import Case

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


Give = Callable[..., Material]


def at_share_of(
    name: str, number_of: Callable[[str], float], times: tuple[int, int], share: float, give: Give
) -> str:
    """Return the verdict if growth between two times is this share of a setting's number."""

    def slopes(setting: str, policy: str, *asked: int) -> list[float]:
        assert asked == times
        return [share * number_of(setting)] * 8

    return CLAIMS[name](give(slopes=slopes)).verdict


@pytest.mark.parametrize(("share", "within"), [(0.999, True), (1.001, False)])
def test_growth_is_compared_with_the_bounds(
    share: float, within: bool, give: Give, made_up: Material
) -> None:
    def upper(setting: str) -> float:
        return made_up.case(setting).theorem1.corrected.log_coefficient

    def ucb1(setting: str) -> float:
        return made_up.case(setting).ucb1.log_coefficient

    def in_the_long_run(setting: str) -> float:
        return 1.2 * made_up.lai_robbins(setting)

    def least(setting: str) -> float:
        return made_up.case(setting).theorem2.coefficient

    verdict = HOLDS if within else FAILS
    times = 10**9, 10**12
    assert at_share_of("theorem-1-coefficient", upper, times, share, give) == verdict
    assert at_share_of("remark-1-ucb", ucb1, (10**6, 10**12), share, give) == verdict
    times = 10**6, 10**15
    assert at_share_of("remark-1-thompson", in_the_long_run, times, share, give) == verdict
    times = 10**14, 10**15
    assert at_share_of("theorem-2", least, times, share, give) == (FAILS if within else HOLDS)


@pytest.mark.parametrize(("slope", "verdict"), [([0.5] * 8, HOLDS), ([-0.8, 1.2] * 4, FAILS)])
def test_ucb1_must_grow(slope: list[float], verdict: str, give: Give) -> None:
    """A little is enough, if its lower limit is above 0."""
    assert CLAIMS["remark-1-ucb"](give(slopes=lambda *asked: slope)).verdict == verdict


@pytest.mark.parametrize(
    ("difference", "ucb1_bound", "verdict"),
    [
        ([-0.5] * 8, 1e6, HOLDS),
        ([0.5] * 8, 1e6, FAILS),
        ([-1.5, 0.5] * 4, 1e6, FAILS),
        ([-0.5] * 8, 0.0, FAILS),
    ],
)
def test_remark_1_is_about_growth_and_bounds(
    difference: list[float], ucb1_bound: float, verdict: str, give: Give, made_up: Material
) -> None:
    def bounded(case: Case) -> Case:
        return replace(case, ucb1=replace(case.ucb1, log_coefficient=ucb1_bound))

    samples = {"ucb1": [10.0] * 8, "fp-ucb": [10.0 + each for each in difference]}
    slopes = {("constants", policy, 10**6, 10**12): runs for policy, runs in samples.items()}
    given = give(of("constants", bounded)(made_up), slopes=lambda *asked: slopes[asked])
    assert CLAIMS["remark-1"](given).verdict == verdict


def test_a_printed_constant_is_refuted_by_the_lower_limit(give: Give, made_up: Material) -> None:
    """Regret at T = 1e12 half above the constant and half below does not refute it."""
    for more, verdict in ((0.0, HOLDS), (3.0, FAILS)):

        def regrets(setting: str, policy: str, time: int, more: float = more) -> list[float]:
            assert (policy, time) == ("fp-ucb", 10**12)
            constant = made_up.constant(setting, "printed")
            return [constant + more - 1, constant + more + 1] * 40

        assert CLAIMS["theorem-1-constant"](give(regrets=regrets)).verdict == verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(0.99, HOLDS), (1.01, FAILS)])
def test_gaps_must_be_below_betas(ratio: float, verdict: str, made_up: Material) -> None:
    """In Remark 1 and in Lemma 1, where (Δ/β)² is what is shown."""

    def change(case: Case) -> Case:
        return replace(case, betas={arm: case.gaps[arm] / ratio for arm in case.betas})

    material = both(cases("constants", change), cases("paper:two", change))(made_up)
    claim = CLAIMS["remark-1-ratio"](material)
    assert claim.verdict == verdict
    assert f"(Δ/β)² is at most {ratio**2:.3g} in 2 cases" in claim.measured
    assert CLAIMS["lemma-1"](material).verdict == verdict


@pytest.mark.parametrize(
    ("least", "verdict"), [(0.5, HOLDS), (1e-9, HOLDS), (1e-15, FAILS), (-0.1, FAILS)]
)
def test_lemma_1_holds_if_the_least_is_more_than_rounding(
    least: float, verdict: str, made_up: Material
) -> None:
    assert CLAIMS["lemma-1"](number("lemma 1: least β − Δ", least)(made_up)).verdict == verdict

    def change(case: Case) -> Case:
        return replace(case, betas={arm: case.gaps[arm] + least for arm in case.betas})

    assert CLAIMS["lemma-1"](of("two-2", change)(made_up)).verdict == verdict


def test_lemma_1_is_shown_with_the_pair_where_it_is_closest(made_up: Material) -> None:
    def change(case: Case) -> Case:
        return replace(case, betas={"arm1": case.gaps["arm1"] + 0.25, "arm2": 0.9})

    claim = CLAIMS["lemma-1"](of("two-2", change)(made_up))
    assert claim.measured.startswith(
        "least β − Δ is 0.25 (paper:two, truth theta2, arm1) in 2 cases of the paper's sets"
    )


@pytest.mark.parametrize(
    ("share", "verdict"), [(1.0, HOLDS), (1 - 1e-12, HOLDS), (1 - 1e-6, FAILS), (0.5, FAILS)]
)
def test_arms_that_inform_may_not_lower_the_bound(
    share: float, verdict: str, made_up: Material
) -> None:
    """But for rounding: the two come from different programs."""

    def change(case: Case) -> Case:
        bound = case.theorem2
        return replace(
            case, theorem2=replace(bound, coefficient=bound.all_arms.coefficient / share)
        )

    assert CLAIMS["theorem-2-arms"](cases("informative", change)(made_up)).verdict == verdict
