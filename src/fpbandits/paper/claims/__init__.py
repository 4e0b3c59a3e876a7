"""The paper's checkable statements, section by section, and the verdict on each.

A module per section holds the checks, one function per claim. ``claims.toml`` holds what the report
says of each claim. A check depends on the `Material` and on nothing else, and returns one of three
verdicts: "holds", "fails", or "holds beyond T=…" for a comparison that needs time.

Wherever chance is involved, confidence limits decide, each wrong with probability `ERROR_CHANCE`.
The burden of proof lies with the statement: that a policy does well holds only if the limits show
it, so "fails" can mean that the runs are too few. A bound that the paper prints is presumed right:
it fails only if the limits refute it.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from importlib.resources import files
from inspect import cleandoc
from typing import Any

from fpbandits.paper.claims import corrections, introduction, proofs, results, simulations, ties
from fpbandits.paper.claims.statement import FAILS as FAILS
from fpbandits.paper.claims.statement import HOLDS as HOLDS
from fpbandits.paper.claims.statement import Claim as Claim
from fpbandits.paper.claims.statement import Finding
from fpbandits.paper.limits import ERROR_CHANCE
from fpbandits.paper.material import Material

_MODULES = (introduction, results, proofs, simulations, ties, corrections)
_TEXTS = tomllib.loads(files(__name__).joinpath("claims.toml").read_text(encoding="utf-8"))

SECTIONS: dict[str, str] = _TEXTS["titles"]
"""The titles of all sections in the report's order, by the names of their modules."""

PAPERS_SECTIONS = [title for name, title in SECTIONS.items() if name not in ("ties", "corrections")]
"""The titles of the sections that hold the paper's own statements."""


def judge_one(
    material: Material,
    check: Callable[[Material], Finding],
    name: str,
    section: str,
    texts: dict[str, Any],
) -> Claim:
    """Judge a statement by its check, whose docstring is the statement.

    ``texts`` are those of claims.toml.
    """
    verdict, measured = check(material)
    if isinstance(verdict, bool):
        verdict = HOLDS if verdict else FAILS
    return Claim(
        id=name,
        claim=" ".join(cleandoc(check.__doc__ or name).split()).removesuffix("."),
        paper=texts["paper"],
        measured=measured,
        verdict=verdict,
        evidence=_fill_in(texts["evidence"]),
        reason=texts.get("reason", "") if verdict != HOLDS else "",
        horizon=int(texts["horizon"]) if "horizon" in texts else None,
        section=section,
    )


def _fill_in(text: str) -> str:
    """Replace names of criteria in braces by their texts, which may have braces, too."""
    while "{" in text:
        text = text.format_map({**_TEXTS["criteria"], "error_chance": ERROR_CHANCE})
    return text


CLAIMS: dict[str, Callable[[Material], Claim]] = {
    name: partial(
        judge_one,
        check=getattr(module, name.replace("-", "_")),
        name=name,
        section=title,
        texts=texts,
    )
    for module, (section, title) in zip(_MODULES, SECTIONS.items(), strict=True)
    for name, texts in _TEXTS[section].items()
}
"""How each claim is judged, by its id, in the report's order."""


def judge(material: Material) -> list[Claim]:
    """Judge every statement."""
    return [judge_claim(material) for judge_claim in CLAIMS.values()]


def verdict_counts(claims: Iterable[Claim]) -> Counter[str]:
    """Count the verdicts of each kind on the paper's own statements."""
    return Counter(claim.kind for claim in claims if claim.section in PAPERS_SECTIONS)
