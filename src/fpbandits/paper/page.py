"""The report's page: what it says, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from fpbandits.paper.claims import FAILS, HOLDS, PAPERS_SECTIONS, SECTIONS, Claim
from fpbandits.paper.claims.statement import time_text
from fpbandits.paper.drawing import Chapter
from fpbandits.paper.evidence import LEVEL
from fpbandits.paper.experiments import RUNS
from fpbandits.report.html import element, figure, page, wrapped
from fpbandits.simulation.result import Result

_KINDS = {HOLDS: "hold", "beyond": "hold beyond some time", FAILS: "fail"}
"""The three kinds of verdicts, which are also classes of the page's style, and their plurals."""

_SIGNS = {HOLDS: "✓", "beyond": "◐", FAILS: "✗"}
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


def _kind(claim: Claim) -> str:
    return claim.verdict if claim.verdict in (HOLDS, FAILS) else "beyond"


def tally(claims: Sequence[Claim]) -> dict[str, int]:
    """Count the verdicts of each kind on the paper's own statements."""
    counts = Counter(_kind(claim) for claim in claims if claim.section in PAPERS_SECTIONS)
    return {text: counts[kind] for kind, text in _KINDS.items()}


def report_page(
    results: Mapping[str, Result],
    claims: Sequence[Claim],
    own: Sequence[Chapter],
    beyond: Sequence[Chapter],
    pictures: Mapping[str, bytes],
) -> str:
    """Return the page: the paper's own figures and those beyond, and every claim."""
    return page("Bounded regret, measured", _body(results, claims, own, beyond, pictures))


def _body(
    results: Mapping[str, Result],
    claims: Sequence[Claim],
    own: Sequence[Chapter],
    beyond: Sequence[Chapter],
    pictures: Mapping[str, bytes],
) -> Iterator[str]:
    first = next(iter(results.values()))
    yield element("h1", "Bounded regret for finitely parameterized bandits, measured")
    yield element(
        "p",
        "Panaganti and Kalathil propose FP-UCB for bandits whose unknown environment is one of a "
        "finite set of known models. Here every experiment of their paper is run again, every "
        "checkable statement is judged, and the experiments are carried on to horizons the paper "
        "could not show.",
    )
    yield wrapped(
        "nav",
        (
            wrapped("a", [title], href=f"#{place}")
            for place, title in (
                ("short", "In short"),
                ("figures", "The paper’s figures"),
                ("beyond", "Beyond the paper"),
                ("claims", "Every claim"),
                ("made", "How this was made"),
            )
        ),
    )
    yield element("h2", "In short", id="short")
    counts = tally(claims)
    yield element("p", f"Of {sum(counts.values())} statements of the paper:")
    yield wrapped(
        "p",
        (
            element("span", f"{_SIGNS[kind]} {counts[text]} {text}", kind=f"badge {kind}")
            for kind, text in _KINDS.items()
        ),
        kind="tally",
    )
    known = {claim.id: claim for claim in claims}
    yield _verdicts([known[name] for name in _IN_SHORT])

    yield element("h2", "The paper’s figures, in its order", id="figures")
    yield element(
        "p",
        "The paper does not state its horizons. Here each figure goes as far as it takes to see "
        "what it is about: first in the paper’s look, then with enough runs to be sure.",
    )
    for chapter in own:
        yield from _chapter(chapter, pictures)
    yield element("h2", "Beyond the paper", id="beyond")
    for chapter in beyond:
        yield from _chapter(chapter, pictures)

    yield element("h2", "Every claim", id="claims")
    yield element(
        "p",
        "The paper’s words are given in short. Not judged are matters of taste (that the algorithm "
        "is simple and easy to implement: it is), most of what the paper reports of the "
        "literature, and its plans. Wherever chance is involved, a verdict rests on limits that "
        f"are wrong in {LEVEL:.1%} of all cases; figures in brackets are such limits. “Holds "
        "beyond T” names the first recorded time from which on a statement holds at every later "
        "one, as far as was simulated.",
    )
    if first.runs < RUNS:
        yield element(
            "p",
            f"With {first.runs:,} runs limits are wide: “fails” can mean that {RUNS:,} runs are "
            "needed to show what is claimed.",
        )
    for section in SECTIONS:
        chosen = [claim for claim in claims if claim.section == section]
        yield element("h3", section)
        for claim in chosen:
            yield _card(claim)

    yield element("h2", "How this was made", id="made")
    yield element(
        "p",
        f"{len(results)} experiments, all with seed {first.seed}; the same seed gives the same "
        "figures and verdicts, bit for bit. FP-UCB and UCB1 leap over stretches in which no reward "
        "could change a decision, Thompson sampling to the next of its draws that could. The law "
        "of a run is that of a step-by-step one to within "
        f"{max(_variation(result) for result in results.values()):.0e} in total variation.",
    )
    yield wrapped(
        "table",
        [
            wrapped("tr", (element("th", name) for name in ("experiment", "T", "runs"))),
            *(
                wrapped("tr", (element("td", cell) for cell in _row(name, result)))
                for name, result in results.items()
            ),
        ],
    )
    made_with = ", ".join(f"{name} {version}" for name, version in first.versions.items())
    yield element("p", f"Made with {made_with}.")
    yield wrapped(
        "p",
        [
            "The raw results are in <code>results/</code>, every figure is in ",
            "<code>figures/</code> as PNG and SVG, the claims are in <code>claims.json</code>. ",
            "<code>fpbandits reproduce --from DIR</code> draws it all again without running.",
        ],
    )


def _row(name: str, result: Result) -> tuple[str, str, str]:
    return name, time_text(result.horizon), f"{result.runs:,}"


def _variation(result: Result) -> float:
    return max(result.total_variation(policy) for policy in result.policies)


def _chapter(chapter: Chapter, pictures: Mapping[str, bytes]) -> Iterator[str]:
    yield element("h3", chapter.title)
    yield element("p", chapter.text)
    yield wrapped(
        "div",
        (
            figure(pictures[each.name], f"{chapter.title}. {each.caption}", each.caption)
            for each in chapter.drawings
        ),
        kind="figures",
    )


def _badge(claim: Claim) -> str:
    kind = _kind(claim)
    return element("span", f"{_SIGNS[kind]} {claim.verdict}", kind=f"badge {kind}")


def _verdicts(claims: Sequence[Claim]) -> str:
    rows = (
        wrapped(
            "li",
            [
                wrapped("span", [_badge(claim)]),
                wrapped("span", [element("a", claim.claim, href=f"#{claim.id}"), "."]),
            ],
        )
        for claim in claims
    )
    return wrapped("ul", rows, kind="verdicts")


def _line(text: str) -> str:
    """Return a line of a list; one that ends in a colon introduces the next ones."""
    return element("li", text, **({"kind": "lead"} if text.endswith(":") else {}))


def _card(claim: Claim) -> str:
    lines = claim.measured.split("\n")
    if len(lines) > 1:
        measured = wrapped("ul", (_line(line) for line in lines))
    else:
        measured = element("span", claim.measured)
    rows = [("The paper", element("span", claim.paper)), ("Measured", measured)]
    if claim.reason:
        rows.append(("Why", element("span", f"{claim.reason}.")))
    rows.append(("Judged by", element("span", claim.evidence)))
    if claim.horizon is not None:
        rows.append(("Speaks to", element("span", f"T = {time_text(claim.horizon)}")))
    return wrapped(
        "article",
        [
            _badge(claim),
            element("span", claim.id, kind="id"),
            element("h4", f"{claim.claim}."),
            wrapped("dl", (element("dt", name) + wrapped("dd", [value]) for name, value in rows)),
        ],
        id=claim.id,
    )
