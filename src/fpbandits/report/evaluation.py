"""What policies would have earned on a log, as a table in plain text."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from fpbandits.checks import amount, visible
from fpbandits.errors import counted
from fpbandits.report.text import laid_out

if TYPE_CHECKING:
    from fpbandits.evaluation.estimates import Estimate
    from fpbandits.evaluation.result import Evaluation

_WIDTH = 80


def evaluation_table(evaluation: Evaluation) -> str:
    """Return a row for the log and one per policy, and what to think of them."""
    log = evaluation.log
    lines: list[Sequence[str]] = [
        ("", "per decision", "95 % interval", "above log", "95 % interval", "decisions"),
        ("the log", amount(log.value), _interval(log), "", "", f"{evaluation.events:,}"),
    ]
    for name, earned in evaluation.policies.items():
        estimates = earned.mean, earned.difference
        cells = [text for each in estimates for text in (amount(each.value), _interval(each))]
        lines.append((visible(name), *cells, f"{earned.decisions:,}"))
    title = (
        f"{visible(evaluation.problem)}: reward per decision of {counted(evaluation.units, 'unit')}"
    )
    return "\n".join([laid_out(title, lines, words=1), "", *_remarks(evaluation)])


def _interval(estimate: Estimate) -> str:
    return f"{amount(estimate.low)} … {amount(estimate.high)}"


def _remarks(evaluation: Evaluation) -> list[str]:
    """Say what was measured, and what to mind."""
    usable, events = evaluation.usable, evaluation.events
    young = max(earned.decisions / earned.units for earned in evaluation.policies.values())
    remarks = [
        f"{usable:,} of {counted(events, 'row')} usable. Each unit has an agent of its own, which "
        f"made about {amount(young)} decisions: a policy that learns earns more later.",
        *(f"Note: {visible(warning)}" for warning in evaluation.warnings),
    ]
    return [line for remark in remarks for line in wrap(remark, _WIDTH)]
