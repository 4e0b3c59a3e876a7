"""What a claim is, and what a check of the paper's statements returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fpbandits.core.arrays import Floats
from fpbandits.paper.experiments import SETTINGS
from fpbandits.paper.limits import limits
from fpbandits.report.times import time_text

HOLDS = "holds"
FAILS = "fails"

Finding = tuple[bool | str, str]
"""A verdict and, as text, the numbers behind it. The verdict is whether the statement holds, or the
words of a verdict: those that `beyond` returns, or `HOLDS`."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper and the verdict on it: an entry of claims.json.

    Attributes
    ----------
    id, claim, section
        Its name, the statement and the title of its section in the report.
    paper, evidence, reason, horizon
        As claims.toml explains them; the reason is empty if the verdict is "holds".
    measured, verdict
        The numbers behind the verdict, and "holds", "fails" or "holds beyond T=…".
    """

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


def beyond(start: int | None) -> str:
    """Return the verdict on a statement that holds from a time on; it fails if that is None."""
    return FAILS if start is None else f"{HOLDS} beyond T={time_text(start)}"


def number_text(value: float) -> str:
    """Return a number to four digits: with commas from 1,000 to 1e15, else as "%.4g".

    >>> number_text(0.84021), number_text(-369_836.2)
    ('0.8402', '-369,800')
    """
    short = f"{value:.4g}"
    return f"{float(short):,.0f}" if 1e3 <= abs(float(short)) < 1e15 else short


def mean_text(sample: Floats) -> str:
    """Return a mean with its limits in brackets, or alone if the sample does not vary."""
    low, high = limits(sample)
    mean = number_text(float(sample.mean()))
    return mean if low == high else f"{mean} ({number_text(low)} … {number_text(high)})"


def titled(setting: str, text: str) -> str:
    """Return the title of a setting, a colon and a text."""
    return f"{SETTINGS[setting].title}: {text}"


def check_each(
    settings: Iterable[str], check: Callable[[str], tuple[bool, str]], heading: str = ""
) -> tuple[bool, str]:
    """Return whether a check holds in every setting, and its numbers, a line per setting.

    ``check`` takes a setting. ``heading`` comes before the first line, with its own line break.
    """
    checked = {setting: check(setting) for setting in settings}
    lines = [titled(setting, text) for setting, (_, text) in checked.items()]
    return all(holds for holds, _ in checked.values()), heading + "\n".join(lines)
