"""Regret as a table: in plain text, for any terminal or log, and for notebooks.

A result may come from someone else's file, so its names are made `printable`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fpbandits.core.checks import amount, printable
from fpbandits.core.markup import html_table
from fpbandits.core.statistics import summary
from fpbandits.errors import counted
from fpbandits.report.text import text_table
from fpbandits.simulation.delays import delay_text

if TYPE_CHECKING:
    from fpbandits.simulation.result import Result


HEAD = ("policy", "mean regret", "95 % interval", "std", "median", "95 % quantile")
"""The columns of a table of regret."""

STOPS_HEAD = (
    "policy",
    "median plays",
    "95 % quantile",
    "with a verdict",
    "wrong",
    "mean regret",
    "95 % interval",
)
"""The columns of a table of verdicts."""


def regret_table(result: Result) -> str:
    """Return the regret of every policy at T; a single run has no spread, and leaves it empty."""
    head, rows = head_and_rows(result)
    lines = [head, *((printable(policy), *rest) for policy, *rest in rows)]
    return text_table(f"{_title(result)}: {_setting(result)}", lines, text_columns=1)


def regret_html(result: Result) -> str:
    """Return the same table for a notebook."""
    return html_table(_title(result), *head_and_rows(result), above=[_setting(result)])


def head_and_rows(result: Result) -> tuple[Sequence[str], list[list[str]]]:
    """Return the head and rows of the table: of verdicts if runs stop at one, else of regret."""
    if result.stops is None:
        return HEAD, list(regret_rows(result))
    return STOPS_HEAD, list(stops_rows(result))


def stops_rows(result: Result) -> Iterator[list[str]]:
    """Yield a row of the table for each policy, below `STOPS_HEAD`."""
    for policy, mean, interval, *_ in regret_rows(result):
        verdicts = result.verdicts(policy)
        quantiles = verdicts.median, verdicts.q95
        plays = ("beyond T" if value is None else f"{value:,}" for value in quantiles)
        shares = (f"{100 * share:.4g} %" for share in (verdicts.share, verdicts.wrong))
        yield [policy, *plays, *shares, mean, interval]


def regret_rows(result: Result) -> Iterator[list[str]]:
    """Yield a row of the table for each policy, below `HEAD`."""
    for policy in result.policies:
        mean, std, low, high, _, median, q95 = (
            values[-1] for values in summary(result.regret(policy)).values()
        )
        interval = "" if math.isnan(low) else f"{amount(low)} … {amount(high)}"
        yield [policy, amount(mean), interval, *map(amount, (std, median, q95))]


def truths_table(results: Mapping[str, Result]) -> str:
    """Return the regret of every policy under every truth at T, a row for each."""
    first = next(iter(results.values()))
    left_out = () if first.stops else HEAD[3:5]  # columns that there is no room for
    head = head_and_rows(first)[0]
    shown = [column for column, name in enumerate(head) if name not in left_out]
    lines = [("truth", *(head[column] for column in shown))]
    for truth, result in results.items():
        for index, (policy, *rest) in enumerate(head_and_rows(result)[1]):
            label, row = printable(truth) if index == 0 else "", [printable(policy), *rest]
            lines.append((label, *(row[column] for column in shown)))
    title = printable(f"{first.problem.name}, each truth in turn")
    return text_table(f"{title}: {_setting(first)}", lines, text_columns=2)


def _title(result: Result) -> str:
    moves = "" if result.problem.transitions is None else " at first, then moving"
    return printable(f"{result.problem.name}, truth {result.truth}{moves}")


def _setting(result: Result) -> str:
    """Return when the table is of, how many runs it is based on, and how they were played."""
    runs = f"{counted(result.runs, 'run')}, seed {result.seed}"
    if result.settings.get("shuffle"):
        runs += ", arms and models shuffled"
    runs += delay_text(result.settings.get("delay", 0))
    if result.stops is not None:
        error = result.settings["stop"]
        return f"until a verdict of error {error:g}, T = {result.horizon:.6g}, {runs}"
    return f"regret at T = {result.horizon:.6g}, {runs}"
