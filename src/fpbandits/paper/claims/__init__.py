"""The paper's checkable statements, section by section, and the verdict on each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from fpbandits.paper.claims import corrections, introduction, proofs, results, simulations, ties
from fpbandits.paper.claims.statement import CLAIMS as CLAIMS
from fpbandits.paper.claims.statement import FAILS as FAILS
from fpbandits.paper.claims.statement import HOLDS as HOLDS
from fpbandits.paper.claims.statement import Claim as Claim
from fpbandits.paper.material import Material

PAPERS_SECTIONS = [module.SECTION for module in (introduction, results, proofs, simulations)]
SECTIONS = [*PAPERS_SECTIONS, ties.SECTION, corrections.SECTION]
"""Where the paper makes its statements; and all of them, with what goes beyond it."""


def judge(material: Material) -> list[Claim]:
    """Judge every statement, in the paper's order."""
    claims = [judged(material) for judged in CLAIMS.values()]
    return sorted(claims, key=lambda claim: SECTIONS.index(claim.section))


def verdict_counts(claims: Iterable[Claim]) -> Counter[str]:
    """Count the verdicts of each kind on the paper's own statements."""
    return Counter(claim.kind for claim in claims if claim.section in PAPERS_SECTIONS)
