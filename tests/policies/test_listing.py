"""The list of policies, and the page of one."""

from __future__ import annotations

import io
import re
from ast import literal_eval
from typing import Any

import pytest
from rich.console import Console, RenderableType

from fpbandits import Policy
from fpbandits.engine.options import options
from fpbandits.policies import POLICIES
from fpbandits.policies.listing import policy_page, policy_row, policy_table


def lines(table: RenderableType, width: int = 80) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=width).print(table)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def row(name: str, knows: str, **more: Any) -> dict[str, Any]:
    plain = {"default": False, "guarantee": f"what {name} [keeps]", "leaps": True, "options": {}}
    told = {"description": f"About {name}.", "reference": "A book [1].", "meaning": {}}
    return {"name": name, "knows": knows, **plain, **told, **more}


ROWS = [
    row("first", "Θ: all of it", options={"slack": 0.0, "c": 1}, meaning={"slack": "How [much]."}),
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
        "About first.",
        "knows    Θ: all of it",
        "proven   what first [keeps]",
        "source   A book [1].",
        "written  --policy first:OPTION=VALUE:…",
        "plays    in leaps",
        "",
        "option  default  meaning",
        "slack   0.0      How [much].",
        "c       1",
        "",
        "A sentence that is broken.",
        "",
        "    x = 1",
        "",
        "* one",
        "* two",
    ]
    page = lines(policy_page(ROWS[2], ""))
    assert page[5:7] == ["written  --policy third", "plays    step by step"]
    assert lines(policy_page(ROWS[1], ""))[2] == "knows    Θ: all of it; optionally a prior"


@pytest.mark.parametrize("kind", POLICIES.values(), ids=POLICIES)
def test_every_option_is_documented_and_nothing_else_is(kind: type[Policy]) -> None:
    """With its default, as numpydoc has it: ``name : type, default value``, and what it means."""
    row = policy_row(kind, default=False)
    headers = dict(re.findall(r"^    (\w+) : .*, default (.+)$", kind.__doc__ or "", re.M))
    assert {name: literal_eval(text) for name, text in headers.items()} == row["options"]
    assert row["meaning"].keys() == options(kind).keys()
    assert all(len(text) > 40 and text.endswith(".") for text in row["meaning"].values())
    assert row["description"].endswith(".")
    assert "\n" not in row["description"]
    assert len(row["reference"]) > 40
