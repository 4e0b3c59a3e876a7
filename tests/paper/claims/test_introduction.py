"""Abstract, introduction and conclusion: every verdict, and on doctored material the other one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

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

from fpbandits.paper.claims import CLAIMS, FAILS, HOLDS, Claim
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


Give = Callable[..., Material]


def upper(material: Material, setting: str) -> float:
    return material.case(setting).theorem1.corrected.log_coefficient


@pytest.mark.parametrize(("share", "verdict"), [(0.999, HOLDS), (1.001, FAILS)])
def test_growth_is_compared_with_theorem_1_to_the_end(
    share: float, verdict: str, give: Give, made_up: Material
) -> None:
    """Each run grows by this share of the coefficient from T = 1e6 to 1e15."""

    def slopes(setting: str, policy: str, start: int, end: int) -> list[float]:
        assert (policy, start, end) == ("fp-ucb", 10**6, 10**15)
        return [share * upper(made_up, setting)] * 8

    assert CLAIMS["logarithmic"](give(slopes=slopes)).verdict == verdict
    still = {10**6: [100.0] * 200, 10**15: [100.0] * 200}
    given = give(regrets=lambda setting, policy, time: still[time], slopes=slopes)
    assert CLAIMS["oblivious"](given).verdict == verdict


@pytest.mark.parametrize(
    ("late", "slope", "verdict"),
    [(100, [0.5] * 8, HOLDS), (100, [-0.8, 1.2] * 4, FAILS), (110, [0.5] * 8, FAILS)],
)
def test_oblivious_is_flat_here_and_growing_there(
    late: float, slope: list[float], verdict: str, give: Give
) -> None:
    """Growth counts only if its lower limit is above 0, and then a little is enough."""
    regrets = {10**6: [100.0] * 200, 10**15: [late] * 200}
    given = give(regrets=lambda setting, policy, time: regrets[time], slopes=lambda *asked: slope)
    assert CLAIMS["oblivious"](given).verdict == verdict


@pytest.mark.parametrize(
    ("difference", "verdict"), [([-0.5] * 8, HOLDS), ([0.5] * 8, FAILS), ([-1.5, 0.5] * 4, FAILS)]
)
def test_differences_must_be_shown(difference: list[float], verdict: str, give: Give) -> None:
    """Regret at T = 1e5, and growth from T = 1e6 to 1e12, run by run: the upper limit decides."""

    def sample(policy: str) -> list[float]:
        return [10.0] * 8 if policy == "ucb1" else [10.0 + each for each in difference]

    regrets: Any = lambda setting, policy, time: {10**5: sample(policy)}[time]  # noqa: E731
    assert CLAIMS["thompson-beats-ucb"](give(regrets=regrets)).verdict == verdict
    slopes: Any = lambda setting, policy, *times: {(10**6, 10**12): sample(policy)}[times]  # noqa: E731
    assert CLAIMS["smaller-constant"](give(slopes=slopes)).verdict == verdict


@pytest.mark.parametrize(("share", "verdict"), [(1.09, HOLDS), (1.11, FAILS)])
def test_the_lower_bound_is_matched_within_a_tenth(
    share: float, verdict: str, give: Give, made_up: Material
) -> None:
    least = made_up.case("two-2").theorem2.coefficient
    slopes = {("two-2", "fp-ucb", 10**6, 10**15): [share * least] * 8}
    claim = CLAIMS["matches-lower-bound"](give(slopes=lambda *asked: slopes[asked]))
    assert claim.verdict == verdict
    assert f", {share:.3g} times Theorem 2's {least:.4g};" in claim.measured


@pytest.mark.parametrize(
    ("constant", "coefficient", "log"),
    [(100.0, 0.5, "7.2e86"), (0.0, 2.0, "1"), (20.0, 2.0, "2.2e4"), (100.0, 0.0, None)],
)
def test_guarantees_cross_where_the_bounds_are_equal(
    constant: float, coefficient: float, log: str | None, made_up: Material
) -> None:
    """By ``coefficient`` UCB1's bound grows faster, and it is ``constant`` below at T = 1.

    They meet at ln T = constant/coefficient: log10 T is 200/2.3026 = 86.86 or 10/2.3026 = 4.34.
    """
    material = made_up
    for setting in ("two-1", "two-2", "permutations", "grid-6", "grid-4"):

        def change(case: Any, setting: str = setting) -> Any:
            ours = case.theorem1.corrected
            ucb1 = replace(
                case.ucb1,
                log_coefficient=ours.log_coefficient + coefficient,
                constant=ours.constant - constant,
            )
            return replace(case, ucb1=ucb1)

        material = of(setting, change)(material)
    claim = CLAIMS["guarantees-superior"](material)
    assert claim.verdict == (FAILS if log is None else f"holds beyond T={log}")
    assert claim.measured.count("never" if log is None else f": beyond T={log}") == 5
