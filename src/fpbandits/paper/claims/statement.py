"""What a claim is, and how checks of the paper's statements become claims.

A check is a function of the `Material` and of nothing else. It finds one of three verdicts:
"holds", "fails", or "holds beyond T=…" for a comparison that needs time. Wherever chance is
involved, limits decide that are wrong with chance `ERROR_CHANCE`, and the burden of proof lies with
the statement: that a policy does well holds only if the limits show it, and "fails" can mean that
the runs are too few.
A bound that the paper prints is presumed right: it fails only if the limits refute it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from fpbandits.core.arrays import Floats
from fpbandits.paper.experiments import SETTINGS
from fpbandits.paper.limits import ERROR_CHANCE, limits
from fpbandits.paper.material import Material
from fpbandits.report.times import time_text

HOLDS, FAILS = "holds", "fails"

EXACT = "computed from the models: no chance involved"
LIMIT = f"one-sided Student limit, level {ERROR_CHANCE:.1%}"


@dataclass(frozen=True)
class Finding:
    """What a check found: a verdict, what was measured, and how the one follows from the other.

    ``verdict`` is whether the statement holds, or the words for from when on; ``measured`` has a
    line per problem; ``evidence`` says what decides; ``horizon`` is the time up to which it speaks,
    None where no time is involved; ``reason`` says why the statement does not simply hold, if it
    does not.
    """

    verdict: bool | str
    measured: str
    evidence: str
    horizon: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and what was found: an entry of claims.json."""

    id: str
    claim: str
    paper: str
    measured: str
    verdict: str
    evidence: str
    reason: str
    horizon: int | None
    section: str

    @property
    def kind(self) -> str:
        """The verdict without its time: "holds", "beyond" or "fails"."""
        return self.verdict if self.verdict in (HOLDS, FAILS) else "beyond"


CLAIMS: dict[str, Callable[[Material], Claim]] = {}
"""How each claim is judged, by its id."""

_Check = Callable[[Material], Finding]


def states(section: str, paper: str) -> Callable[[_Check], _Check]:
    """Register a check: its name is the claim's id, and its docstring the statement."""

    def register(check: _Check) -> _Check:
        name = check.__name__.replace("_", "-")
        claim = " ".join((inspect.getdoc(check) or name).split()).removesuffix(".")

        def judge(material: Material) -> Claim:
            found = asdict(check(material))
            if not isinstance(found["verdict"], str):
                found["verdict"] = HOLDS if found["verdict"] else FAILS
            if found["verdict"] == HOLDS:
                found["reason"] = ""
            return Claim(id=name, claim=claim, paper=paper, section=section, **found)

        CLAIMS[name] = judge
        return check

    return register


def beyond(start: int | None) -> str:
    """Return the verdict on a comparison that is won from some time on, or not at all."""
    return FAILS if start is None else f"{HOLDS} beyond T={time_text(start)}"


def number_text(value: float) -> str:
    """Return a number to four digits, as people write it.

    >>> number_text(0.84021), number_text(-369_836.2)
    ('0.8402', '-369,800')
    """
    short = f"{value:.4g}"
    return f"{float(short):,.0f}" if 1e3 <= abs(value) < 1e15 else short


def mean_text(sample: Floats) -> str:
    """Return a mean with its limits, where they differ from it."""
    low, high = limits(sample)
    mean = number_text(float(sample.mean()))
    return mean if low == high else f"{mean} ({number_text(low)} … {number_text(high)})"


def titled(setting: str, text: str) -> str:
    """Return what was found in a setting, as a line."""
    return f"{SETTINGS[setting].title}: {text}"


def lines_of(settings: Iterable[str], check: Callable[[str], tuple[bool, str]]) -> tuple[bool, str]:
    """Tell whether something is so in every setting, and what was found, a line per setting."""
    found = {setting: check(setting) for setting in settings}
    lines = (titled(setting, text) for setting, (_, text) in found.items())
    return all(fine for fine, _ in found.values()), "\n".join(lines)


def in_each(
    settings: Iterable[str],
    check: Callable[[str], tuple[bool, str]],
    *,
    heading: str,
    evidence: str,
    horizon: int,
    reason: str = "",
) -> Finding:
    """Return a finding that holds if something is so in every setting."""
    holds, lines = lines_of(settings, check)
    return Finding(holds, heading + lines, evidence, horizon, reason)
