"""HTML tables for notebooks and the lab, readable on a light and on a dark background.

Text and background keep the colours of the page; only the thin grey lines have a colour of their
own. Names come from users, so they are escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fpbandits.core.checks import printable

_LINE = "1px solid rgba(128, 128, 128, .45)"
_CELL = "padding:.2em .8em .2em 0;vertical-align:top;background:none"


class Strong(str):
    """The text of a cell in bold."""

    __slots__ = ()


def html_table(
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    text_columns: int = 1,
    above: Iterable[str] = (),
    below: Iterable[str] = (),
) -> str:
    """Return a table under a title.

    The first ``text_columns`` columns are aligned to the left, the others to the right. ``above``
    and ``below`` are lines of text before and after the table.
    """
    return "\n".join(
        [
            f"<div><strong>{_text(title)}</strong>",
            *(f"<div>{_text(line)}</div>" for line in above),
            '<table style="border-collapse:collapse;border:none"><thead>'
            + _row(head, text_columns, "th"),
            "</thead><tbody>",
            *(_row(row, text_columns, "td") for row in rows),
            "</tbody></table>",
            *(f"<div>{_text(line)}</div>" for line in below),
            "</div>",
        ]
    )


def and_more(total: int, shown: int, what: str, where: str) -> list[str]:
    """Return a line on the rows that a table leaves out, or none if it shows all.

    >>> and_more(256, 10, "truths", "in .cases")
    ['… and 246 truths more, in .cases']
    """
    return [f"… and {total - shown:,} {what} more, {where}"] if total > shown else []


def _row(cells: Sequence[str], text_columns: int, tag: str) -> str:
    """Return a row of HTML cells with the tag ``th`` or ``td``."""
    html = []
    for column, cell in enumerate(cells):
        style = f"{_CELL};text-align:{'left' if column < text_columns else 'right'}"
        text = f"<strong>{_text(cell)}</strong>" if isinstance(cell, Strong) else _text(cell)
        html.append(f'<{tag} style="{style}">{text}</{tag}>')
    return f'<tr style="border:none;border-bottom:{_LINE};background:none">{"".join(html)}</tr>'


def _text(text: str) -> str:
    return escape(printable(text))
