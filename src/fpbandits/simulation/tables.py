"""Regret as a table: in plain text, for any terminal or log, and for notebooks.

A result may come from someone else's file, so its names are made `printable`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from fpbandits.core.checks import amount, printable
from fpbandits.core.markup import html_table
from fpbandits.core.statistics import summary
from fpbandits.errors import counted
from fpbandits.report.text import text_table

if TYPE_CHECKING:
    from fpbandits.simulation.result import Result


HEAD = ("policy", "mean regret", "95 % interval", "std", "median", "95 % quantile")


def regret_table(result: Result) -> str:
    """Return the regret of every policy at T; a single run has no spread, and leaves it empty."""
    lines = [HEAD, *((printable(policy), *rest) for policy, *rest in regret_rows(result))]
    return text_table(f"{_title(result)}: {_setting(result)}", lines, text_columns=1)


def regret_html(result: Result) -> str:
    """Return the same table for a notebook."""
    return html_table(_title(result), HEAD, regret_rows(result), above=[_setting(result)])


def regret_rows(result: Result) -> Iterator[list[str]]:
    """Yield what the table says of each policy, below `HEAD`."""
    for policy in result.policies:
        mean, std, low, high, _, median, most = (
            values[-1] for values in summary(result.regret(policy)).values()
        )
        interval = "" if math.isnan(low) else f"{amount(low)} … {amount(high)}"
        yield [policy, amount(mean), interval, *map(amount, (std, median, most))]


def truths_table(results: Mapping[str, Result]) -> str:
    """Return the regret of every policy under every truth at T, a row for each."""
    lines = [("truth", "policy", "mean regret", "95 % interval", "95 % quantile")]
    for truth, result in results.items():
        for index, (policy, mean, interval, _, _, most) in enumerate(regret_rows(result)):
            own = printable(truth) if index == 0 else ""
            lines.append((own, printable(policy), mean, interval, most))
    first = next(iter(results.values()))
    title = printable(f"{first.problem.name}, each truth in turn")
    return text_table(f"{title}: {_setting(first)}", lines, text_columns=2)


def _title(result: Result) -> str:
    return printable(f"{result.problem.name}, truth {result.truth}")


def _setting(result: Result) -> str:
    return f"regret at T = {result.horizon:.6g}, {counted(result.runs, 'run')}, seed {result.seed}"
