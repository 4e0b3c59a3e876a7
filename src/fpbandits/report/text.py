"""Tables in plain text, for any terminal or log."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

LOOK_ALIKE = (
    "For fit, two types look the same on an arm if their means there differ by less than two "
    "standard errors; analyze takes the means as exact."
)
"""When two models that were fitted to a log count as the same on an arm."""


def text_table(title: str, lines: Sequence[Sequence[str]], text_columns: int) -> str:
    """Return a table under a title; the first line is its head.

    The first ``text_columns`` columns are aligned to the left, the others to the right.
    """
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    widths[text_columns:] = [-width for width in widths[text_columns:]]
    rows = [aligned(line, widths) for line in lines]
    rule = "─" * max(map(cell_len, rows))
    return "\n".join([title, rows[0], rule, *rows[1:]])


def aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Return cells side by side; a negative width aligns a cell to the right.

    >>> aligned(["a", "1", "b"], [3, -4, 2])
    'a       1  b'
    """
    padded = []
    for cell, width in zip(cells, widths, strict=True):
        space = " " * (abs(width) - cell_len(cell))
        padded.append(space + cell if width < 0 else cell + space)
    return "  ".join(padded).rstrip()
