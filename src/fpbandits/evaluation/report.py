"""What policies would have earned on a log, as a table in plain text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from fpbandits.core.checks import printable
from fpbandits.errors import counted
from fpbandits.evaluation.result import THE_LOG
from fpbandits.report.text import text_table

if TYPE_CHECKING:
    from fpbandits.evaluation.estimates import Estimate
    from fpbandits.evaluation.result import Evaluation

_WIDTH = 80
"""Characters of a line of remarks."""

_NO_BASELINE = THE_LOG, "above log"
"""Without a baseline, policies are compared with the log: its name, and the column's."""


def evaluation_table(evaluation: Evaluation) -> str:
    """Return a row for the log, each baseline and each policy, and remarks below."""
    other, above = next(((name, "above best arm") for name in evaluation.baselines), _NO_BASELINE)
    lines: list[Sequence[str]] = [
        ("", "mean", "95 % interval", above, "95 % interval", "decisions"),
    ]
    for name, earned in evaluation.rows.items():
        more = ("", "") if name == other else _round(evaluation.difference(name, other))
        cells = *_round(earned.mean), *more, f"{earned.decisions:,}"
        lines.append((printable(name), *cells))
    source, models = map(printable, (evaluation.source, evaluation.problem))
    units = counted(evaluation.units, "unit")
    title = f"{source}: reward per decision of {units}, models of {models}"
    return "\n".join([text_table(title, lines, text_columns=1), "", *_remarks(evaluation)])


def _round(estimate: Estimate) -> tuple[str, str]:
    """Return an estimate and its interval, to two digits of the interval's half width."""
    half = estimate.high - estimate.value
    digits = 4 if half == 0 else max(0, 1 - math.floor(math.log10(half)))
    numbers = estimate.value, estimate.low, estimate.high
    value, low, high = (f"{number:z,.{digits}f}" for number in numbers)
    return value, f"{low} … {high}"


def _remarks(evaluation: Evaluation) -> list[str]:
    """Return lines that say what was measured, with all warnings."""
    usable, events = evaluation.usable, evaluation.events
    by_unit = max(earned.decisions / earned.units for earned in evaluation.policies.values())
    first, *others = evaluation.policies
    compared = [
        f"above {printable(other)} by {value} ({interval})"
        for other in others
        for value, interval in [_round(evaluation.difference(first, other))]
    ]
    remarks = [
        *([f"Paired by units, {printable(first)} is {', '.join(compared)}."] if compared else []),
        f"{usable:,} of {counted(events, 'row')} usable. Each unit has an agent of its own, which "
        f"made about {by_unit:,.1f} decisions: a policy that learns earns more later.",
        *(f"Note: {printable(warning)}" for warning in evaluation.warnings),
    ]
    return [line for remark in remarks for line in wrap(remark, _WIDTH)]
