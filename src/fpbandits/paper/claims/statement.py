"""What a statement is, what its check finds, and how findings are put into words.

A check is a function of the evidence and of nothing else, so that other evidence can bring another
verdict: "holds", "fails", or "holds beyond T=…" for a comparison that needs time. Wherever chance
is involved, limits of level `LEVEL` decide: a statement on how policies do holds if they show it,
for which runs can be too few; a bound that the paper prints fails if they refute it.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from fpbandits.arrays import Floats
from fpbandits.paper.evidence import LEVEL, Evidence, limits

HOLDS, FAILS = "holds", "fails"

EXACT = "computed from the models: no chance involved"
LIMIT = f"one-sided Student limit, level {LEVEL:.1%}"


@dataclass(frozen=True)
class Finding:
    """What was found: a verdict, figures, and how the verdict follows from them.

    ``measured`` has a line for each problem; ``horizon`` is the time up to which it speaks, None
    where no time is involved; ``reason`` says why the statement does not simply hold, if it does
    not.
    """

    verdict: str
    measured: str
    evidence: str
    horizon: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement with its verdict: an entry of claims.json."""

    id: str
    claim: str
    paper: str
    measured: str
    verdict: str
    evidence: str
    reason: str
    horizon: int | None
    section: str

    def as_dict(self) -> dict[str, Any]:
        """Return it ready for JSON."""
        return asdict(self)


Check = Callable[[Evidence], Finding]


@dataclass(frozen=True)
class Statement:
    """A statement, where the paper makes it, and its check."""

    id: str
    section: str
    claim: str
    paper: str
    check: Check

    def judge(self, evidence: Evidence) -> Claim:
        """Return the statement with its verdict."""
        finding = self.check(evidence)
        return Claim(
            id=self.id,
            claim=self.claim,
            paper=self.paper,
            measured=finding.measured,
            verdict=finding.verdict,
            evidence=finding.evidence,
            reason="" if finding.verdict == HOLDS else finding.reason,
            horizon=finding.horizon,
            section=self.section,
        )


STATEMENTS: dict[str, Statement] = {}
"""All statements, in the paper's order."""


def states(section: str, paper: str) -> Callable[[Check], Check]:
    """Register a check: its name is the statement's id, and its docstring the statement."""

    def register(check: Check) -> Check:
        name = check.__name__.replace("_", "-")
        claim = " ".join((inspect.getdoc(check) or name).split()).removesuffix(".")
        STATEMENTS[name] = Statement(name, section, claim, paper, check)
        return check

    return register


def decide(holds: bool) -> str:
    """Return the verdict on a plain statement."""
    return HOLDS if holds else FAILS


def beyond(start: int | None) -> str:
    """Return the verdict on a comparison that is won from some time on, or not at all."""
    return FAILS if start is None else f"{HOLDS} beyond T={time_text(start)}"


def time_text(time: float) -> str:
    """Return a time to two digits, as people type it.

    >>> time_text(42), time_text(35_000), time_text(1e6)
    ('42', '3.5e4', '1e6')
    """
    return power_text(math.log10(time))


def power_text(log: float) -> str:
    """Return 10^log, which may be too large for a number, to two digits.

    >>> power_text(193.61), power_text(6)
    ('4.1e193', '1e6')
    """
    if log < 3:
        return f"{10**log:.0f}"
    digits, carried = f"{10 ** (log % 1):.1e}".split("e")
    return f"{digits.removesuffix('.0')}e{math.floor(log) + int(carried)}"


def mean_text(sample: Floats) -> str:
    """Return a mean with its limits, where they differ from it."""
    low, high = limits(sample)
    mean = float(sample.mean())
    return f"{mean:.4g}" if low == high else f"{mean:.4g} ({low:.4g} … {high:.4g})"
