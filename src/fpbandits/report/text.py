"""Regret as a table in plain text, for any terminal, log or notebook.

A result may come from someone else's file, so its names are made `visible`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fpbandits.checks import amount, visible
from fpbandits.statistics import summary

if TYPE_CHECKING:
    from fpbandits.simulation.result import Result


def regret_table(result: Result) -> str:
    """Return the regret of every policy at T; a single run has no spread, and leaves it empty."""
    lines = [["policy", "mean regret", "95 % interval", "std", "median", "95 % quantile"]]
    for policy in result.policies:
        mean, std, low, high, _, median, most = (
            values[-1] for values in summary(result.regret(policy)).values()
        )
        interval = "" if math.isnan(low) else f"{amount(low)} … {amount(high)}"
        lines.append([visible(policy), amount(mean), interval, *map(amount, (std, median, most))])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    title = visible(
        f"{result.problem.name}, truth {result.true}: regret at T = {result.horizon:.6g}, "
        f"{result.runs:,} runs, seed {result.seed}"
    )
    rows = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    rule = "─" * max(map(len, rows))
    return "\n".join([title, rows[0], rule, *rows[1:]])
