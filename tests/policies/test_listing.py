"""The list of policies, and the page of one."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console, RenderableType

from fpbandits.policies.listing import policy_page, policy_table


def lines(table: RenderableType, width: int = 80) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width).print(table)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def row(name: str, knows: str, **more: Any) -> dict[str, Any]:
    plain = {"default": False, "guarantee": f"what {name} [keeps]", "leaps": True, "options": {}}
    return {"name": name, "knows": knows, **plain, **more}


ROWS = [
    row("first", "Θ: all of it", options={"slack": 0.0, "c": 1}),
    row("second", "Θ: all of it; optionally a prior", default=True),
    row("third", "the number of arms", leaps=False),
]


def test_those_that_know_the_same_stand_together() -> None:
    assert lines(policy_table(ROWS)) == [
        "Knows Θ: all of it",
        "first               what first [keeps]",
        "second (default)    what second [keeps]",
        "Knows the number of arms",
        "third               what third [keeps]",
        "All about one, its options too: policies NAME",
    ]


def test_a_page_tells_all() -> None:
    text = "A sentence that is\nbroken.\n\n    x = 1\n\n* one\n* two\n"
    assert lines(policy_page(ROWS[0], text)) == [
        "first",
        "knows    Θ: all of it",
        "proven   what first [keeps]",
        "options  --policy first:slack=0.0:c=1",
        "plays    in leaps",
        "",
        "A sentence that is broken.",
        "",
        "    x = 1",
        "",
        "* one",
        "* two",
    ]
    page = lines(policy_page(ROWS[2], ""))
    assert page[3:5] == ["options  none", "plays    step by step"]
    assert lines(policy_page(ROWS[1], ""))[1] == "knows    Θ: all of it; optionally a prior"
