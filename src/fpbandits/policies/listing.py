"""What there is to choose from, on one screen; and all about one policy, on a page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

_WIDTH = 68
"""Letters beside the heads of a page that is 80 wide."""

_SIMULATED = ("A cycle", "The cycle", "How long", "Leaps", "With 0/1", "The leader", "The index ")
"""How paragraphs begin that are about leaps, which are of no use to who chooses a policy."""


def policy_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Show what there is to choose from, on one screen: by what each must know."""
    parts: list[RenderableType] = []
    table, knows = Table(), ""
    for row in rows:
        # What is optional comes after a semicolon, and is told of each on its own page.
        if row["knows"].split(";")[0] != knows:
            knows = row["knows"].split(";")[0]
            table = Table.grid(Column(width=18), Column(overflow="fold"), padding=(0, 2, 0, 0))
            parts += [Text(f"Knows {knows}", style="italic"), table]
        table.add_row(_policy_name(row), Text(row["guarantee"]))
    return Group(*parts, Text("All about one, its options too: policies NAME"))


def policy_page(row: Mapping[str, Any], definition: str) -> RenderableType:
    """Show all about one policy."""
    table = Table.grid(Column(no_wrap=True), Column(overflow="fold"), padding=(0, 2, 0, 0))
    lines = {
        "knows": row["knows"],
        "proven": row["guarantee"],
        "options": _options(row["name"], row["options"]),
        "plays": "in leaps" if row["leaps"] else "step by step",
    }
    for head, line in lines.items():
        table.add_row(Text(head), Text(line))
    return Group(_policy_name(row), table, "", Text(_reflowed(_rule(definition.strip()))))


def _options(name: str, options: Mapping[str, Any]) -> str:
    """Return how all options are written; where that takes several lines, none is cut."""
    if not options:
        return "none"
    lines = [f"--policy {name}"]
    for option, value in options.items():
        written = f":{option}={value}"
        if len(lines[-1]) + len(written) > _WIDTH:
            lines.append("")
        lines[-1] += written
    return "\n".join(lines)


def _rule(definition: str) -> str:
    """Return what the rule is, without how it is simulated, and without marks of emphasis."""
    told = []
    for paragraph in definition.split("\n\n"):
        if paragraph.startswith(_SIMULATED):
            break
        told.append(paragraph)
    return re.sub(r"\*\*|``|`|(?<=\s)\*(?=\w)|(?<=\w)\*(?=\s)", "", "\n\n".join(told))


def _reflowed(text: str) -> str:
    """Return a text whose paragraphs are a line each; formulas, lists and tables stay."""
    paragraphs = [
        part if re.search(r"^[ *=\d]", part, re.MULTILINE) else part.replace("\n", " ")
        for part in text.split("\n\n")
    ]
    return "\n\n".join(paragraphs)


def _policy_name(row: Mapping[str, Any]) -> Text:
    return Text(row["name"] + (" (default)" if row["default"] else ""), style="bold")
