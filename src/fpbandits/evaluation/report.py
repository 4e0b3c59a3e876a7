"""What policies would have earned on a log, as a table in plain text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from fpbandits.core.checks import printable
from fpbandits.errors import counted
from fpbandits.report.text import text_table

if TYPE_CHECKING:
    from fpbandits.evaluation.estimates import Estimate
    from fpbandits.evaluation.result import Evaluation

_WIDTH = 80


def evaluation_table(evaluation: Evaluation) -> str:
    """Return a row for the log and one per policy, and what to think of them."""
    log = evaluation.log
    lines: list[Sequence[str]] = [
        ("", "per decision", "95 % interval", "above log", "95 % interval", "decisions"),
        ("the log", *_rounded(log), "", "", f"{evaluation.events:,}"),
    ]
    for name, earned in evaluation.policies.items():
        cells = *_rounded(earned.mean), *_rounded(earned.difference)
        lines.append((printable(name), *cells, f"{earned.decisions:,}"))
    source, models = map(printable, (evaluation.source, evaluation.problem))
    units = counted(evaluation.units, "unit")
    title = f"{source}: reward per decision of {units}, models of {models}"
    return "\n".join([text_table(title, lines, text_columns=1), "", *_remarks(evaluation)])


def _rounded(estimate: Estimate) -> tuple[str, str]:
    """Return an estimate and its interval, to two digits of the interval's half width."""
    half = estimate.high - estimate.value
    digits = 4 if half == 0 else max(0, 1 - math.floor(math.log10(half)))
    value, low, high = (
        f"{each:z,.{digits}f}" for each in (estimate.value, estimate.low, estimate.high)
    )
    return value, f"{low} … {high}"


def _remarks(evaluation: Evaluation) -> list[str]:
    """Say what was measured, and what to mind."""
    usable, events = evaluation.usable, evaluation.events
    young = max(earned.decisions / earned.units for earned in evaluation.policies.values())
    remarks = [
        f"{usable:,} of {counted(events, 'row')} usable. Each unit has an agent of its own, which "
        f"made about {young:,.1f} decisions: a policy that learns earns more later.",
        *(f"Note: {printable(warning)}" for warning in evaluation.warnings),
    ]
    return [line for remark in remarks for line in wrap(remark, _WIDTH)]
