"""The list of policies on one screen, and a page about each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from itertools import takewhile
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from fpbandits.engine.options import options
from fpbandits.engine.policy import Policy

Row = Mapping[str, Any]
"""A policy's description, as JSON has it; see `policy_row`."""

_SIMULATED = ("A cycle", "The cycle", "How long", "Leaps", "With 0/1", "The leader", "The index ")
"""How the first paragraph on leaps begins: from there on, a docstring is about simulation."""


def policy_row(kind: type[Policy], *, default: bool) -> dict[str, Any]:
    """Return a policy's description; ``meaning`` has what its docstring says of each option."""
    first, sections = _docstring(kind)
    documented = re.findall(r"^(\w+) : .*\n((?:    .*\n?)+)", sections.get("Parameters", ""), re.M)
    return {
        "name": kind.name,
        "default": default,
        "description": first,
        "knows": kind.knows,
        "guarantee": kind.guarantee,
        "reference": " ".join(sections.get("References", "").split()),
        "leaps": kind.leaps,
        "options": {
            name: None if option.default is MISSING else option.default
            for name, option in options(kind).items()
        },
        "meaning": {name: " ".join(text.split()) for name, text in documented},
    }


def _docstring(kind: type[Policy]) -> tuple[str, dict[str, str]]:
    """Return the first paragraph of a class's docstring, and its sections by their headings."""
    first, *rest = re.split(r"^(\w+)\n-+\n", inspect.cleandoc(kind.__doc__ or ""), flags=re.M)
    return first.split("\n\n")[0].strip(), dict(zip(rest[::2], rest[1::2], strict=True))


def policy_table(rows: Sequence[Row]) -> RenderableType:
    """Show the policies on one screen, grouped by what each must know."""
    parts: list[RenderableType] = []
    table, knows = Table(), ""
    for row in rows:
        # After a semicolon comes what is optional, which the policy's own page has.
        needed = row["knows"].split(";")[0]
        if needed != knows:
            knows = needed
            table = Table.grid(Column(width=18), Column(overflow="fold"), padding=(0, 2, 0, 0))
            parts += [Text(f"Knows {knows}", style="italic"), table]
        table.add_row(_policy_name(row), Text(row["guarantee"]))
    return Group(*parts, Text("All about one, its options too: policies NAME"))


def policy_page(row: Row, definition: str) -> RenderableType:
    """Show one policy; ``definition`` is the docstring of its module."""
    padding = (0, 2, 0, 0)
    table = Table.grid(Column(no_wrap=True), Column(overflow="fold"), padding=padding)
    lines = {
        "knows": row["knows"],
        "proven": row["guarantee"],
        "source": row["reference"],
        "written": f"--policy {row['name']}" + (":OPTION=VALUE:…" if row["options"] else ""),
        "plays": "in leaps" if row["leaps"] else "step by step",
    }
    for head, line in lines.items():
        table.add_row(Text(head), Text(line))
    meaning = Table("option", "default", "meaning", box=None, padding=padding, pad_edge=False)
    for name, default in row["options"].items():
        meaning.add_row(name, Text(str(default)), Text(row["meaning"].get(name, "")))
    middle = ["", meaning, ""] if row["options"] else [""]
    rule = Text(_reflow(rule_of(definition)))
    return Group(_policy_name(row), Text(row["description"]), table, *middle, rule)


def rule_of(definition: str) -> str:
    """Return the rule from a module's docstring, without markup and what is about simulation."""
    paragraphs = takewhile(
        lambda paragraph: not paragraph.startswith(_SIMULATED), definition.strip().split("\n\n")
    )
    return re.sub(r"\*\*|``|`|(?<=\s)\*(?=\w)|(?<=\w)\*(?=\s)", "", "\n\n".join(paragraphs))


def _reflow(text: str) -> str:
    """Join the lines of each paragraph; formulas, lists and tables stay as they are."""
    paragraphs = [
        part if re.search(r"^[ *=\d]", part, re.MULTILINE) else part.replace("\n", " ")
        for part in text.split("\n\n")
    ]
    return "\n\n".join(paragraphs)


def _policy_name(row: Row) -> Text:
    return Text(row["name"] + (" (default)" if row["default"] else ""), style="bold")
