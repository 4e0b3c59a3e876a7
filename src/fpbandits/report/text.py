"""Regret as a table: in plain text, for any terminal or log, and for notebooks.

A result may come from someone else's file, so its names are made `visible`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fpbandits.checks import visible
from fpbandits.markup import html_table
from fpbandits.statistics import summary

if TYPE_CHECKING:
    from fpbandits.simulation.result import Result


HEAD = ("policy", "mean regret", "95 % interval", "std", "median", "95 % quantile")


def regret_table(result: Result) -> str:
    """Return the regret of every policy at T; a single run has no spread, and leaves it empty."""
    lines = [HEAD, *((visible(policy), *rest) for policy, *rest in regret_rows(result))]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    rule = "─" * max(map(len, rows))
    return "\n".join([f"{_title(result)}: {_setting(result)}", rows[0], rule, *rows[1:]])


def regret_html(result: Result) -> str:
    """Return the same table for a notebook."""
    return html_table(_title(result), HEAD, regret_rows(result), above=[_setting(result)])


def regret_rows(result: Result) -> Iterator[list[str]]:
    """Yield what the table says of each policy, below `HEAD`."""
    for policy in result.policies:
        mean, std, low, high, _, median, most = (
            values[-1] for values in summary(result.regret(policy)).values()
        )
        interval = "" if math.isnan(low) else f"{_number_text(low)} … {_number_text(high)}"
        yield [policy, _number_text(mean), interval, *map(_number_text, (std, median, most))]


def _title(result: Result) -> str:
    return visible(f"{result.problem.name}, truth {result.true}")


def _setting(result: Result) -> str:
    return f"regret at T = {result.horizon:.6g}, {result.runs:,} runs, seed {result.seed}"


def _number_text(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
