"""Objects as HTML tables, for notebooks: calm, and at home on a light page and on a dark one.

No colour is set but that of thin lines, a grey that shows on both; text and background are the
notebook's own. Names come from users, so they are put in as text, never as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from fpbandits.core.checks import visible

_LINE = "1px solid rgba(128, 128, 128, .45)"
_CELL = "padding:.2em .8em .2em 0;vertical-align:top;background:none"


class Strong(str):
    """A cell that is set in bold."""

    __slots__ = ()


def html_table(
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    words: int = 1,
    above: Iterable[str] = (),
    below: Iterable[str] = (),
) -> str:
    """Return a table under a title; its first ``words`` columns are text, the others numbers.

    ``above`` and ``below`` are lines of text before and after it.
    """
    return "\n".join(
        [
            f"<div><strong>{_text(title)}</strong>",
            *(f"<div>{_text(line)}</div>" for line in above),
            '<table style="border-collapse:collapse;border:none"><thead>' + _row(head, words, "th"),
            "</thead><tbody>",
            *(_row(row, words, "td") for row in rows),
            "</tbody></table>",
            *(f"<div>{_text(line)}</div>" for line in below),
            "</div>",
        ]
    )


def and_more(total: int, shown: int, what: str, where: str) -> list[str]:
    """Return a line that counts what was left out and says where it is, if anything was.

    >>> and_more(256, 10, "truths", "in .cases")
    ['… and 246 truths more, in .cases']
    """
    return [f"… and {total - shown:,} {what} more, {where}"] if total > shown else []


def _row(cells: Sequence[str], words: int, tag: str) -> str:
    filled = []
    for column, cell in enumerate(cells):
        style = f"{_CELL};text-align:{'left' if column < words else 'right'}"
        text = f"<strong>{_text(cell)}</strong>" if isinstance(cell, Strong) else _text(cell)
        filled.append(f'<{tag} style="{style}">{text}</{tag}>')
    return f'<tr style="border:none;border-bottom:{_LINE};background:none">{"".join(filled)}</tr>'


def _text(text: str) -> str:
    return escape(visible(text))
