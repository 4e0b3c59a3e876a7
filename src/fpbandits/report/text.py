"""Tables in plain text, for any terminal or log."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len


def laid_out(title: str, lines: Sequence[Sequence[str]], words: int) -> str:
    """Put the cells of lines below each other, the first ``words`` to the left."""
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    widths[words:] = [-width for width in widths[words:]]
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
