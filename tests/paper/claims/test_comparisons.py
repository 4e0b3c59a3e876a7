"""What claims measure, number by number, on runs that follow a formula.

The texts are in ``measured.json``: whoever changes what a claim measures changes them too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fpbandits.paper.claims import CLAIMS
from fpbandits.paper.claims.comparisons import (
    check_flat,
    check_order_optimal,
    check_rivals_grow,
    compare_plays,
    within_theorem_1,
)
from fpbandits.paper.material import Material

Give = Callable[..., Material]

MEASURED = json.loads(Path(__file__).with_name("measured.json").read_text())


@pytest.mark.parametrize("name", CLAIMS)
def test_what_a_claim_measures(name: str, made_up: Material) -> None:
    claim = CLAIMS[name](made_up)
    found = {"verdict": claim.verdict, "measured": claim.measured, "horizon": claim.horizon}
    assert found == MEASURED.get(name)


def test_nothing_else_is_measured() -> None:
    assert set(MEASURED) == set(CLAIMS)


@pytest.mark.parametrize(
    ("growth", "flat"),
    [
        ([], True),
        ([0.5], True),  # in at most 4.5 % of all runs, by the binomial limit
        ([0.5, 0.5], False),  # in at most 5.4 %
        ([40], True),  # t = 3.13: by 0.2 + 3.13 · 0.2 < 1 on average, which is 1 % of 100
        ([60], False),  # by 0.3 + 3.13 · 0.3
    ],
)
def test_regret_stands_still_if_few_runs_grow_and_little(
    growth: list[float], flat: bool, give: Give
) -> None:
    late = [100 + more for more in growth] + [100.0] * (200 - len(growth))
    regrets = {10**6: [100.0] * 200, 10**15: late}
    given = give(regrets=lambda setting, policy, time: regrets[time])
    found, text = check_flat(given, "two-1")
    assert found == flat
    assert f"; it grew in {len(growth)} of 200 runs" in text


def test_growth_is_within_theorem_1_up_to_its_coefficient(made_up: Material) -> None:
    most = made_up.case("two-2").theorem1.corrected.log_coefficient
    assert within_theorem_1(made_up, "two-2", 0, most)[0]
    assert not within_theorem_1(made_up, "two-2", 0, most * 1.001)[0]


def test_both_rivals_must_grow(give: Give) -> None:
    """Their lower limits decide, not their means, and a little is enough."""
    little, maybe = [0.5] * 8, [-0.8, 1.2] * 4
    for ucb1, thompson, grow in (
        (little, little, True),
        (maybe, little, False),
        (little, maybe, False),
        (maybe, maybe, False),
    ):
        slopes = {("ucb1", 10**6, 10**12): ucb1, ("thompson", 10**6, 10**12): thompson}
        given = give(slopes=lambda setting, *asked, slopes=slopes: slopes[asked])
        assert check_rivals_grow(given, ["two-1", "grid-6"], separator=":")[0] == grow


def test_order_optimal_means_flat_where_the_lower_bound_is_0(give: Give, made_up: Material) -> None:
    """And within Theorem 1 from T = 1e6 to 1e12 where it is not."""
    most = made_up.case("two-2").theorem1.corrected.log_coefficient
    for regret, slope, holds in ((0, 1, True), (1, 1, False), (0, 1.01, False)):
        regrets = {10**6: [100.0] * 200, 10**15: [100.0 + regret] * 200}
        given: Any = give(
            regrets=lambda setting, policy, time, regrets=regrets: regrets[time],
            slopes=lambda *asked, slope=slope: {
                ("two-2", "fp-ucb", 10**6, 10**12): [slope * most] * 8
            }[asked],
        )
        found, text = check_order_optimal(given, ["two-1", "two-2"])
        assert found == holds
        assert text.startswith("B(θ°) is empty exactly where the lower bound is 0 in 2 of 2 cases")


def test_bounds_on_plays_are_refuted_confirmed_or_neither(made_up: Material) -> None:
    """The plays made up vary from run to run: limits are on both sides of their mean."""
    mean = made_up.plays("grid-4", "arm2", 10**5).mean()
    for bound, refuted, confirmed in (
        (0.5 * mean, True, False),
        (mean, False, False),
        (2 * mean, False, True),
    ):
        ((low, high, text),) = compare_plays(made_up, "grid-4", {"arm2": bound}, 10**5)
        assert (low, high) == (refuted, confirmed)
        assert text.startswith("arm2: ")
