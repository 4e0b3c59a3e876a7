"""Results as text: JSON for machines, tables for people."""

from __future__ import annotations

import json
import sys

from rich.console import Console, RenderableType


def print_json(content: object) -> None:
    """Print on one line."""
    sys.stdout.write(json.dumps(content, allow_nan=False) + "\n")


def print_table(table: RenderableType, least_width: int = 0) -> None:
    """Print a table; narrower than ``least_width``, its numbers would be cut off."""
    console = Console()
    console.width = max(console.width, least_width)
    console.print(table)
