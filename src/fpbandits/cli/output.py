"""Results as text: JSON for machines, tables for people."""

from __future__ import annotations

import json
import sys

from rich.console import Console, RenderableType


def print_json(content: object) -> None:
    """Print on one line."""
    sys.stdout.write(json.dumps(content, allow_nan=False) + "\n")


def new_console(*, stderr: bool = False) -> Console:
    """Return a console; COLUMNS=0, as some surroundings have it, is not a width to print in."""
    console = Console(stderr=stderr)
    if console.width < 1:
        console.width = 80
    return console


def print_table(table: RenderableType, least_width: int = 40) -> None:
    """Print a table; narrower than ``least_width``, it would be cut off."""
    console = new_console()
    console.width = max(console.width, least_width)
    console.print(table)
