"""A problem as a table in a notebook: its means, the best of each model and context in bold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fpbandits.core.markup import Strong, and_more, html_table

if TYPE_CHECKING:
    from fpbandits.problem.problem import Problem

_MOST_ROWS = 12
"""The most models shown; the rest is counted."""

_MOST_COLUMNS = 10
"""The most arms, or pairs of a context and an arm, shown; the rest is counted."""


def problem_html(problem: Problem) -> str:
    """Return the table."""
    pairs, means = problem.pair_names[:_MOST_COLUMNS], problem.rewards.means[:_MOST_ROWS]
    arms = len(problem.arms)
    rows = []
    for name, row in zip(problem.models, means, strict=False):
        starts = range(0, problem.pairs, arms)
        best = {start + int(row[start : start + arms].argmax()) for start in starts}
        numbers = [
            Strong(f"{mean:.4g}") if pair in best else f"{mean:.4g}"
            for pair, mean in enumerate(row[:_MOST_COLUMNS])
        ]
        rows.append([name + (" (the truth)" if name == problem.truth else ""), *numbers])
    columns = ("columns", "in .pair_names") if problem.contexts else ("arms", "in .arms")
    return html_table(
        problem.name,
        ["mean reward", *pairs],
        rows,
        above=[repr(problem).removeprefix(f"Problem({problem.name!r}: ").removesuffix(")")],
        below=[
            *and_more(len(problem.models), len(rows), "models", "in .models"),
            *and_more(problem.pairs, len(pairs), *columns),
        ],
    )
