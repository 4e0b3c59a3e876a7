"""Results as text: JSON for machines, tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from rich.console import Console, RenderableType


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
    """Print a text, or a table at least ``least_width`` wide, so that no cell is cut off."""
    if isinstance(table, str):
        sys.stdout.write(f"{table}\n")
        return
    console = new_console()
    console.width = max(console.width, least_width)
    console.print(table)
