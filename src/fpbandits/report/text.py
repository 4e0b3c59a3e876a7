"""Regret as a table in plain text, for any terminal, log or notebook.

A result may come from someone else's file, so its names are made `visible`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from fpbandits.checks import amount, visible
from fpbandits.statistics import summary

if TYPE_CHECKING:
    from fpbandits.simulation.result import Result


def regret_table(result: Result) -> str:
    """Return the regret of every policy at T; a single run has no spread, and leaves it empty."""
    lines = [["policy", "mean regret", "95 % interval", "std", "median", "95 % quantile"]]
    for policy in result.policies:
        mean, interval, std, median, most = _final(result, policy)
        lines.append([visible(policy), mean, interval, std, median, most])
    return _laid_out(f"truth {result.true}", result, lines, words=1)


def truths_table(results: Mapping[str, Result]) -> str:
    """Return the regret of every policy under every truth at T, a row for each."""
    lines = [["truth", "policy", "mean regret", "95 % interval", "95 % quantile"]]
    for true, result in results.items():
        for place, policy in enumerate(result.policies):
            mean, interval, _, _, most = _final(result, policy)
            lines.append(
                [visible(true) if place == 0 else "", visible(policy), mean, interval, most]
            )
    return _laid_out("each truth in turn", next(iter(results.values())), lines, words=2)


def _final(result: Result, policy: str) -> tuple[str, str, str, str, str]:
    """Return the mean, its interval, the std, the median and the 95 % quantile at T, in words."""
    mean, std, low, high, _, median, most = (
        values[-1] for values in summary(result.regret(policy)).values()
    )
    interval = "" if math.isnan(low) else f"{amount(low)} … {amount(high)}"
    return amount(mean), interval, amount(std), amount(median), amount(most)


def _laid_out(truth: str, result: Result, lines: list[list[str]], words: int) -> str:
    """Put the cells of lines below each other, the first ``words`` to the left."""
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    widths[words:] = [-width for width in widths[words:]]
    title = visible(
        f"{result.problem.name}, {truth}: regret at T = {result.horizon:.6g}, "
        f"{result.runs:,} runs, seed {result.seed}"
    )
    rows = [aligned(line, widths) for line in lines]
    rule = "─" * max(map(cell_len, rows))
    return "\n".join([title, rows[0], rule, *rows[1:]])


def aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells side by side; to the right where a width is negative.

    >>> aligned(["a", "1", "b"], [3, -4, 2])
    'a       1  b'
    """
    padded = []
    for cell, width in zip(cells, widths, strict=True):
        space = " " * (abs(width) - cell_len(cell))
        padded.append(space + cell if width < 0 else cell + space)
    return "  ".join(padded).rstrip()
