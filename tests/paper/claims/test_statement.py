"""Every statement is judged, section by section, and put into words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fpbandits.paper.claims import (
    CLAIMS,
    FAILS,
    HOLDS,
    PAPERS_SECTIONS,
    SECTIONS,
    Claim,
    statement,
    verdict_counts,
)
from fpbandits.paper.claims.statement import Finding, beyond, in_each, states
from fpbandits.paper.material import Material


def test_every_statement_is_here(claims: list[Claim]) -> None:
    assert {claim.id for claim in claims} == set(CLAIMS)
    assert len(claims) == 59
    # In the paper's order.
    assert list(dict.fromkeys(claim.section for claim in claims)) == SECTIONS


def test_only_the_papers_own_statements_are_counted(claims: list[Claim]) -> None:
    own = [claim for claim in claims if claim.section in PAPERS_SECTIONS]
    assert verdict_counts(claims) == verdict_counts(own)
    assert sum(verdict_counts(claims).values()) == len(own) < len(claims)
    late = replace(own[0], verdict=beyond(35_000))
    assert late.verdict == "holds beyond T=3.5e4"
    assert verdict_counts([late, replace(late, verdict=FAILS)]) == {"beyond": 1, "fails": 1}


def test_a_reason_is_given_only_where_a_statement_does_not_simply_hold(
    material: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statement, "CLAIMS", {})
    for verdict, reason in ((HOLDS, ""), (FAILS, "no rain"), (beyond(10), "no rain")):

        @states("Weather", "wet")
        def water_is(material: Material, verdict: str = verdict) -> Finding:
            """Water is
            wet.
            """
            return Finding(verdict, "it is", "by touch", reason="no rain")

        claim = statement.CLAIMS["water-is"](material)
        assert (claim.claim, claim.section, claim.reason) == ("Water is wet", "Weather", reason)


def test_one_setting_is_enough_to_fail() -> None:
    def check(setting: str) -> tuple[bool, str]:
        return setting == "two-1", setting

    found = in_each(["two-1", "two-2"], check, heading="seen:\n", evidence="", horizon=1)
    assert found.verdict is False
    assert found.measured == "seen:\ntwo models, truth θ¹: two-1\ntwo models, truth θ²: two-2"
    assert in_each(["two-1"], check, heading="", evidence="", horizon=1).verdict is True
