"""Results as text: JSON for machines, tables for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType


def print_json(content: object) -> None:
    """Print on one line."""
    from json import dumps

    sys.stdout.write(dumps(content, allow_nan=False) + "\n")


def print_table(table: RenderableType, least_width: int = 0) -> None:
    """Print a table; narrower than ``least_width``, its figures would be cut off."""
    from rich.console import Console

    console = Console()
    console.width = max(console.width, least_width)
    console.print(table)
