"""The report's page: what it says is in its template, and comes from here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import TYPE_CHECKING

from fpbandits import __version__
from fpbandits.core.statistics import half_width
from fpbandits.paper.report.chapters import Chapter
from fpbandits.report.html import fill
from fpbandits.report.times import as_written, time_text

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
_TWICE = "permutations-fp-ucb"
"""Simulated to 10⁶ and again to 10¹⁵: the example of a number that two experiments give."""


def report_page(
    results: Mapping[str, Result],
    claims: Sequence[Claim],
    own: Sequence[Chapter],
    beyond: Sequence[Chapter],
    pictures: Mapping[str, bytes],
    *,
    counts: Mapping[str, int],
    error_chance: float,
    enough: int,
    day: date,
) -> str:
    """Return the page: the paper's own figures and those beyond, and every claim.

    ``pictures`` are the figures as SVG, ``counts`` those of each kind of verdict on the paper's
    statements, ``error_chance`` is how often a limit is wrong; ``enough`` runs make limits narrow;
    ``day`` is when the page is made.
    """
    by_id = {claim.id: claim for claim in claims}
    first = next(iter(results.values()))
    variation = max(
        result.total_variation(policy) for result in results.values() for policy in result.policies
    )
    return fill(
        "paper.html.j2",
        results=results,
        first=first,
        sections={key: list(group) for key, group in groupby(claims, lambda each: each.section)},
        in_short=[by_id[name] for name in _IN_SHORT],
        listed=Counter(claim.kind for claim in claims),
        chapters={"own": own, "beyond": beyond},
        pictures=pictures,
        words={"plurals": PLURALS, "signs": _SIGNS, "time": time_text, "written": as_written},
        counts=counts,
        error_chance=f"{error_chance:.1%}",
        enough=enough,
        variation=as_written(f"{variation:.0e}"),
        twice=[_measured(results[f"{_TWICE}-{distance}"]) for distance in ("near", "far")],
        version=__version__,
        day=f"{day.day} {day:%B %Y}",
    )


def _measured(result: Result) -> str:
    """Return the mean regret at T = 10⁶ with its 95 % interval."""
    sample = result.regret(result.policy)[:, result.times == 10**6]
    mean, half = float(sample.mean()), float(half_width(sample)[0])
    return f"{mean:.4g} ({mean - half:.4g} … {mean + half:.4g})"
