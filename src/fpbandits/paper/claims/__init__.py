"""The paper's checkable statements, section by section, and what the evidence says of each."""

from __future__ import annotations

from fpbandits.paper.claims import corrections, introduction, proofs, results, simulations, ties
from fpbandits.paper.claims.statement import FAILS, HOLDS, STATEMENTS, Claim
from fpbandits.paper.evidence import Evidence

__all__ = ["FAILS", "HOLDS", "PAPERS_SECTIONS", "SECTIONS", "STATEMENTS", "Claim", "judge"]

PAPERS_SECTIONS = [module.SECTION for module in (introduction, results, proofs, simulations)]
SECTIONS = [*PAPERS_SECTIONS, ties.SECTION, corrections.SECTION]
"""Where the paper makes its statements; and all of them, with what goes beyond it."""


def judge(evidence: Evidence) -> list[Claim]:
    """Judge every statement, in the paper's order."""
    ordered = sorted(STATEMENTS.values(), key=lambda each: SECTIONS.index(each.section))
    return [statement.judge(evidence) for statement in ordered]
