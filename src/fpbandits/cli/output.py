"""Results as text: JSON for machines, tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator

from rich.console import Console, Group, RenderableType
from rich.table import Table


def print_json(content: object) -> None:
    """Print JSON on one line."""
    sys.stdout.write(json.dumps(content, allow_nan=False) + "\n")


def print_result(
    json: bool,
    as_dict: Callable[[], object],
    as_table: Callable[[], RenderableType],
    least_width: int = 40,
) -> None:
    """Print a result as JSON, or as a table for people."""
    if json:
        print_json(as_dict())
    else:
        print_table(as_table(), least_width)


def new_console(*, stderr: bool = False) -> Console:
    """Return a console; where COLUMNS is 0, as in some CI systems, it is 80 wide."""
    console = Console(stderr=stderr)
    if console.width < 1:
        console.width = 80
    return console


def print_table(table: RenderableType, least_width: int = 40) -> None:
    """Print a text, or a table at least ``least_width`` wide, so that no cell is cut off.

    Tables whose cells are never wrapped get the width that they need.
    """
    if isinstance(table, str):
        sys.stdout.write(f"{table}\n")
        return
    console = new_console()
    console.width = max(console.width, least_width, *_widths(table))
    console.print(table)


def _widths(table: RenderableType) -> Iterator[int]:
    """Yield the widths of tables, or of those in a group, whose cells are never wrapped."""
    unlimited = Console(width=100_000)
    for part in table.renderables if isinstance(table, Group) else [table]:
        if isinstance(part, Table) and all(column.no_wrap for column in part.columns):
            yield unlimited.measure(part).maximum
