"""Section 5: every verdict, and on doctored material the other one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from doctoring import (
    BEYOND,
    LATE_GROWTH,
    OTHER,
    Doctor,
    Doctored,
    best,
    both,
    cases,
    check_other_way,
    check_section,
    confused_with,
    fewer_models,
    frozen,
    growing,
    linear,
    more,
    number,
    of,
    with_term,
)

from fpbandits.paper.claims import CLAIMS, FAILS, HOLDS, Claim
from fpbandits.paper.material import Material

VERDICTS = {
    "two-best-arms": HOLDS,
    "two-1-empty": HOLDS,
    "two-1-flat": HOLDS,
    "two-2-confused": HOLDS,
    "two-2-log": HOLDS,
    "two-2-over-log": HOLDS,
    "permutations-count": HOLDS,
    "permutations-empty": HOLDS,
    "permutations-contrast": HOLDS,
    "permutations-ucb": BEYOND,
    "permutations-other": HOLDS,
    "k-2326": FAILS,
    "k-is-3": FAILS,
    "grid-count": HOLDS,
    "grid-tie-rule": HOLDS,
    "grid-6-empty": HOLDS,
    "grid-6-contrast": HOLDS,
    "grid-4-confused": HOLDS,
    "grid-4-log": HOLDS,
    "grid-4-increasing": BEYOND,
    "grid-4-ucb": BEYOND,
}

DOCTORED: Doctored = [
    ("two-best-arms", of("two-2", best("arm1")), FAILS),
    ("two-1-empty", of("two-1", confused_with("theta2")), FAILS),
    ("two-1-flat", more("two-1-fp-ucb-far", plays=10, since=1e14), FAILS),
    ("two-2-confused", of("two-2", confused_with()), FAILS),
    ("two-2-log", frozen("two-2-fp-ucb-far", since=1e9), FAILS),
    ("two-2-log", linear("two-2-fp-ucb-far"), FAILS),
    ("two-2-over-log", more("two-2-fp-ucb-far", plays=100, since=1e12), FAILS),
    ("permutations-count", fewer_models("paper:permutations"), FAILS),
    ("permutations-empty", of("permutations", confused_with("x")), FAILS),
    ("permutations-contrast", LATE_GROWTH, FAILS),
    ("permutations-contrast", frozen("permutations-ucb1-far", since=1e6), FAILS),
    ("permutations-contrast", frozen("permutations-thompson-far", since=1e6), FAILS),
    ("permutations-ucb", more("permutations-fp-ucb-far", plays=10**5, since=1e9), FAILS),
    ("permutations-other", with_term("permutations", OTHER, alpha=0.3), FAILS),
    ("k-2326", with_term("permutations", OTHER, k=2326), HOLDS),
    ("k-is-3", both(number("2√(3/e)", 0.9), number("k just above 2√(3/e)", 3)), HOLDS),
    ("grid-count", fewer_models("paper:grid"), FAILS),
    ("grid-tie-rule", cases("paper:grid", best("arm4")), FAILS),
    ("grid-6-empty", of("grid-6", confused_with("x")), FAILS),
    ("grid-6-contrast", more("grid-6-fp-ucb-far", plays=100, since=1e14), FAILS),
    ("grid-4-confused", of("grid-4", confused_with("x")), FAILS),
    ("grid-4-log", linear("grid-4-fp-ucb-far"), FAILS),
    ("grid-4-increasing", growing("grid-4-fp-ucb-far", 100), HOLDS),
    ("grid-4-increasing", frozen("grid-4-fp-ucb-far"), FAILS),
    ("grid-4-ucb", more("grid-4-fp-ucb-far", plays=10**5, since=1e9), FAILS),
]


def test_verdicts(claims: list[Claim]) -> None:
    check_section("simulations", VERDICTS, DOCTORED, claims)


@pytest.mark.parametrize(("name", "doctor", "expected"), DOCTORED)
def test_each_verdict_can_come_out_the_other_way(
    name: str, doctor: Doctor, expected: str, material: Material
) -> None:
    check_other_way(name, VERDICTS, doctor, expected, material)


Give = Callable[..., Material]


@pytest.mark.parametrize(
    ("early", "late", "verdict"),
    [
        ([10.0] * 8, [10.9] * 8, HOLDS),
        ([10.0] * 8, [11.1] * 8, FAILS),
        ([10.0] * 8, [9.1] * 8, HOLDS),
        ([10.0] * 8, [8.9] * 8, FAILS),
        ([0.5] * 8, [0.5] * 8, HOLDS),
        ([-1.0, 1.0] * 4, [-1.0, 1.0] * 4, FAILS),  # whether it grows is not shown
    ],
)
def test_regret_grows_as_log_t_if_as_fast_late_as_early(
    early: list[float], late: list[float], verdict: str, give: Give
) -> None:
    """From T = 1e9 to 1e12 as from 1e6 to 1e9, within a tenth."""
    slopes = {(10**6, 10**9): early, (10**9, 10**12): late}
    given = give(slopes=lambda setting, policy, *times: slopes[times])
    assert CLAIMS["two-2-log"](given).verdict == verdict


@pytest.mark.parametrize(
    ("middle", "end", "verdict"),
    [
        ([1.0] * 8, [1.04] * 8, HOLDS),
        ([1.0] * 8, [1.06] * 8, FAILS),
        ([1.0] * 8, [0.96] * 8, HOLDS),
        ([1.0] * 8, [0.94] * 8, FAILS),
        ([10.0] * 8, [10.4] * 8, HOLDS),
        ([0.02] * 8, [0.02] * 8, HOLDS),
        ([-1.0, 3.0] * 4, [-1.0, 3.0] * 4, FAILS),  # whether it is above 0 is not shown
    ],
)
def test_regret_over_log_t_converges_if_it_stands_still_from_1e9_to_1e15(
    middle: list[float], end: list[float], verdict: str, give: Give
) -> None:
    """Within a twentieth."""
    scaled = {3: [9.0] * 8, 6: [5.0] * 8, 9: middle, 12: [2.0] * 8, 15: end}

    def regrets(setting: str, policy: str, time: int) -> list[float]:
        power = round(np.log10(time))
        assert time == 10**power
        return [value * np.log(time) for value in scaled[power]]

    claim = CLAIMS["two-2-over-log"](give(regrets=regrets))
    assert claim.verdict == verdict
    means = [np.mean(scaled[power]) for power in scaled]
    words = [f"{mean:.4g} at T=1e{power}" for mean, power in zip(means, scaled, strict=True)]
    assert claim.measured == f"regret over ln T: {', '.join(words)}; 3Δ/β² is 1.837"


def test_when_the_last_run_changed(made_up: Material) -> None:
    """One run loses more at T = 1e8 and never after; or no run ever does."""
    result = made_up.results["two-1-fp-ucb-far"]
    pulls = np.zeros_like(result.pulls["fp-ucb"])
    for since, last in ((10**8, "1e8"), (10**16, "1")):
        pulls[3, result.times >= since, 1] = 1
        changed = replace(result, pulls={"fp-ucb": pulls.copy()})
        material = replace(made_up, results={**made_up.results, "two-1-fp-ucb-far": changed})
        claim = CLAIMS["two-1-flat"](material)
        assert claim.measured.endswith(f"; no run changed after T={last}")
        pulls[:] = 0


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ((), "empty"),
        (("x",), "{x}"),
        (("a", "b", "c", "d"), "{a, b, c, d}"),
        (("a", "b", "c", "d", "e"), "5 models, such as [a]"),
    ],
)
def test_sets_of_more_than_four_are_counted(
    names: tuple[str, ...], said: str, made_up: Material
) -> None:
    claim = CLAIMS["grid-4-confused"](of("grid-4", confused_with(*names))(made_up))
    assert claim.measured == f"B is {said}"


@pytest.mark.parametrize(
    ("threshold", "k", "verdict"),
    [(0.999, 3, HOLDS), (1.0, 3, FAILS), (1.5, 3, FAILS), (0.9, 4, FAILS)],
)
def test_k_is_3_for_some_alpha_or_never(
    threshold: float, k: float, verdict: str, made_up: Material
) -> None:
    """α is below 1: a threshold of 1 or more is beyond all of them."""
    doctor = both(number("2√(3/e)", threshold), number("k just above 2√(3/e)", k))
    assert CLAIMS["k-is-3"](doctor(made_up)).verdict == verdict


def test_what_is_said_of_k_2326(made_up: Material) -> None:
    assert math.ceil(300 * math.log(2326)) == math.ceil(300 * math.log(2327)) == 2326
    claim = CLAIMS["k-2326"](made_up)
    assert claim.measured == "it is 2327: ⌈300 ln 2326⌉ = 2326, which 2326 does not exceed"
    assert CLAIMS["k-2326"](with_term("permutations", OTHER, k=2327)(made_up)).verdict == FAILS
    assert CLAIMS["k-2326"](with_term("permutations", OTHER, k=2326)(made_up)).verdict == HOLDS


def test_growth_is_within_theorem_1_in_every_decade(give: Give, made_up: Material) -> None:
    """From T = 1e4 to 1e15: one decade of too much growth is enough."""
    most = made_up.case("grid-4").theorem1.corrected.log_coefficient
    for fast in (None, 4, 9, 14):
        asked: list[int] = []

        def slopes(
            setting: str, policy: str, start: int, end: int, fast: int | None = fast
        ) -> list[float]:
            power = round(np.log10(start))
            assert (start, end) == (10**power, 10 ** (power + 1))
            asked.append(power)  # noqa: B023  # it is called in this turn alone
            return [most * 1.1 if power == fast else power / 100] * 8

        claim = CLAIMS["grid-4-log"](give(slopes=slopes))
        assert claim.verdict == (HOLDS if fast is None else FAILS)
        assert asked == list(range(4, 15))
        assert ("0.14, Theorem 1 allows" in claim.measured) == (fast != 14)
