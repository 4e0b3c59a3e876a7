"""The report's page: the values that fill its template and the texts of its chapters."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any

from fpbandits import __version__
from fpbandits.core.statistics import half_width
from fpbandits.paper.claims import verdict_counts
from fpbandits.paper.experiments import PAPER, RUNS
from fpbandits.paper.limits import ERROR_CHANCE
from fpbandits.paper.report.far import meeting_text
from fpbandits.report.html import fill
from fpbandits.report.times import as_written, time_text

if TYPE_CHECKING:
    from fpbandits.paper.claims import Claim
    from fpbandits.paper.material import Material
    from fpbandits.simulation.result import Result

PLURALS = {"holds": "hold", "beyond": "hold beyond some time", "fails": "fail"}
"""The kinds of verdicts, which are also CSS classes of the page, as verbs in the plural."""

_SIGNS = {"holds": "✓", "beyond": "◐", "fails": "✗"}
"""A sign for each kind of verdict."""
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
"""The claims of the summary at the top of the page."""
_TWICE = "permutations-fp-ucb"
"""The example of a number that the near and the far experiment give slightly differently."""


def report_page(
    material: Material, claims: Sequence[Claim], pictures: Mapping[str, bytes], day: date
) -> str:
    """Return the page: every figure, as SVG in ``pictures``, and every claim."""
    results = material.results
    by_id = {claim.id: claim for claim in claims}
    first = next(iter(results.values()))
    variation = max(
        result.total_variation(policy) for result in results.values() for policy in result.policies
    )
    return fill(
        "paper.html.j2",
        results=results,
        first=first,
        sections={key: list(group) for key, group in groupby(claims, lambda claim: claim.section)},
        in_short=[by_id[name] for name in _IN_SHORT],
        listed=Counter(claim.kind for claim in claims),
        chapters=chapters(material),
        pictures=pictures,
        words={"plurals": PLURALS, "signs": _SIGNS, "time": time_text, "written": as_written},
        counts=verdict_counts(claims),
        error_chance=f"{ERROR_CHANCE:.1%}",
        enough=RUNS,
        variation=as_written(f"{variation:.0e}"),
        twice=[_regret_at_1e6(results[f"{_TWICE}-{distance}"]) for distance in ("near", "far")],
        version=__version__,
        day=f"{day.day} {day:%B %Y}",
    )


def chapters(material: Material) -> dict[str, list[dict[str, Any]]]:
    """Return the chapters of chapters.toml, with the numbers in braces filled in."""
    grew = material.regret("grid-4", "fp-ucb", 10**6) - material.regret("grid-4", "fp-ucb", 10**4)
    late = material.growing_from("grid-4")
    numbers = {
        "permutations_crossing": _crossing_text(material, "permutations"),
        "grid_6_crossing": _crossing_text(material, "grid-6"),
        "grid_4_crossing": _crossing_text(material, "grid-4"),
        "thompson": material.regret("permutations", "thompson", 10**5).mean(),
        "fp_ucb": material.regret("permutations", "fp-ucb", 10**5).mean(),
        "confused": len(material.case("grid-4").confusion_set),
        "grid_4_growth": grew.mean(),
        "grows_again": f", before it grows again beyond T = {time_text(late)}" if late else "",
        "lai_robbins": material.lai_robbins("permutations"),
        "meeting": meeting_text(material),
        "frugal_range": _range_text(material, "frugal"),
        "fp_ucb_range": _range_text(material, "fp-ucb"),
        "passes": _passing_time(material),
    }
    text = files("fpbandits.paper.report").joinpath("chapters.toml").read_text(encoding="utf-8")
    return tomllib.loads(text.format_map(numbers))


def _crossing_text(material: Material, setting: str) -> str:
    """Return a sentence on where FP-UCB's mean regret falls below UCB1's."""
    crossing = material.crossing(setting, overtaking="fp-ucb", overtaken="ucb1")
    if crossing is None:
        return "Up to T = 10⁶ the mean regrets of FP-UCB and UCB1 do not cross."
    return (
        f"On average FP-UCB has lost more than UCB1 up to T ≈ {time_text(crossing)}, and less from "
        "there on."
    )


def _range_text(material: Material, policy: str) -> str:
    """Return the least and the largest mean regret on the five problems at T = 10¹²."""
    means = [material.regret(setting.name, policy, 10**12).mean() for setting in PAPER]
    return f"{min(means):.2g} and {max(means):.3g}"


def _passing_time(material: Material) -> str:
    """Return the time at which the counterexample's mean regret passes the printed bound."""
    result = material.result("minimum", "fp-ucb", "far")
    above = result.mean_regret("fp-ucb") > material.constant("minimum", "printed")
    return time_text(result.times[above.argmax()]) if above.any() else "∞"


def _regret_at_1e6(result: Result) -> str:
    """Return the mean regret at T = 10⁶ with its 95 % interval."""
    sample = result.regret(result.policy)[:, result.times == 10**6]
    mean, half = float(sample.mean()), float(half_width(sample)[0])
    return f"{mean:.4g} ({mean - half:.4g} … {mean + half:.4g})"
