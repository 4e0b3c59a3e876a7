"""Every statement is judged, section by section, and put into words."""

from __future__ import annotations

from dataclasses import replace

from fpbandits.paper.claims import (
    CLAIMS,
    FAILS,
    HOLDS,
    PAPERS_SECTIONS,
    SECTIONS,
    Claim,
    judge_one,
    verdict_counts,
)
from fpbandits.paper.claims.statement import Finding, beyond
from fpbandits.paper.material import Material


def test_every_statement_is_here(claims: list[Claim]) -> None:
    assert {claim.id for claim in claims} == set(CLAIMS)
    assert len(claims) == 59
    # In the paper's order.
    assert list(dict.fromkeys(claim.section for claim in claims)) == list(SECTIONS.values())


def test_only_the_papers_own_statements_are_counted(claims: list[Claim]) -> None:
    own = [claim for claim in claims if claim.section in PAPERS_SECTIONS]
    assert verdict_counts(claims) == verdict_counts(own)
    assert sum(verdict_counts(claims).values()) == len(own) < len(claims)
    late = replace(own[0], verdict=beyond(35_000))
    assert late.verdict == "holds beyond T=3.5e4"
    assert verdict_counts([late, replace(late, verdict=FAILS)]) == {"beyond": 1, "fails": 1}


def test_a_reason_is_given_only_where_a_statement_does_not_simply_hold(
    material: Material,
) -> None:
    texts = {"paper": "wet", "evidence": "{exact}; {flat}", "reason": "no rain", "horizon": 1e6}
    for verdict, said, reason in (
        (True, HOLDS, ""),
        (False, FAILS, "no rain"),
        (beyond(10), "holds beyond T=10", "no rain"),
    ):

        def water_is(material: Material, verdict: bool | str = verdict) -> Finding:
            """Water is
            wet.
            """
            return verdict, "it is"

        claim = judge_one(material, water_is, "water-is", "Weather", texts)
        assert (claim.claim, claim.section) == ("Water is wet", "Weather")
        assert (claim.verdict, claim.measured, claim.reason) == (said, "it is", reason)
        assert claim.horizon == 10**6
        assert claim.evidence.startswith("computed from the models: no chance involved; holds if")
        assert claim.evidence.endswith("(one-sided Student limit, level 0.1%)")
