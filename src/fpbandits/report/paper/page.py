"""The report's page: what it says is in its template, and comes from here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from fpbandits.report.html import fill
from fpbandits.report.paper.chapters import Chapter
from fpbandits.report.times import time_text

if TYPE_CHECKING:
    from fpbandits.paper.claims import Claim
    from fpbandits.simulation.result import Result

PLURALS = {"holds": "hold", "beyond": "hold beyond some time", "fails": "fail"}
"""The three kinds of verdicts, which are also classes of the page's style, and their plurals."""

_SIGNS = {"holds": "✓", "beyond": "◐", "fails": "✗"}
_IN_SHORT = (
    "bounded",
    "two-2-log",
    "superior-ucb",
    "superior-thompson",
    "grid-4-increasing",
    "proposition-1-constant",
    "proposition-2",
    "corrected-theorem-1",
)


def report_page(
    results: Mapping[str, Result],
    claims: Sequence[Claim],
    own: Sequence[Chapter],
    beyond: Sequence[Chapter],
    pictures: Mapping[str, bytes],
    *,
    tally: Mapping[str, int],
    level: float,
    enough: int,
) -> str:
    """Return the page.

    Parameters
    ----------
    results, claims
        What was simulated, and every claim, section by section.
    own, beyond, pictures
        The paper's own figures, those beyond it, and each as the content of an SVG file.
    tally
        How many of the paper's statements have a verdict of each kind.
    level, enough
        How often a limit is wrong, and how many runs make limits narrow.
    """
    known = {claim.id: claim for claim in claims}
    first = next(iter(results.values()))
    variation = max(
        result.total_variation(policy) for result in results.values() for policy in result.policies
    )
    return fill(
        "paper.html.j2",
        results=results,
        sections={key: list(group) for key, group in groupby(claims, lambda each: each.section)},
        in_short=[known[name] for name in _IN_SHORT],
        own=own,
        beyond=beyond,
        pictures=pictures,
        plurals=PLURALS,
        signs=_SIGNS,
        tally=tally,
        level=f"{level:.1%}",
        runs=first.runs,
        enough=enough,
        seed=first.seed,
        time_text=time_text,
        variation=f"{variation:.0e}",
        made_with=", ".join(f"{name} {version}" for name, version in first.versions.items()),
    )
