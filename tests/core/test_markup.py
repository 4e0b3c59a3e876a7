"""Tables for notebooks: names stay names, and colours are the notebook's own."""

from __future__ import annotations

import re

import pytest
from cells import Cells

from fpbandits.core.markup import Strong, and_more, html_table


def test_every_cell_is_in_its_place() -> None:
    found = Cells(html_table("t", ["a", "b"], [["x", Strong("1")], ["y", "2"]], below=["more"]))
    assert found.rows == [["a", "b"], ["x", "1"], ["y", "2"]]
    assert found.strong == ["1"]


def test_the_first_columns_are_to_the_left() -> None:
    one, two = html_table("t", "abc", ["xyz"]), html_table("t", "abc", ["xyz"], text_columns=2)
    for text, expected in ((one, ["left", "right", "right"]), (two, ["left", "left", "right"])):
        assert re.findall("text-align:(left|right)", text) == 2 * expected


@pytest.mark.parametrize("name", ["<b>", "a & b", '"><script>', "'"])
def test_names_are_no_markup(name: str) -> None:
    text = html_table(name, [name], [[name], [Strong(name)]], above=[name], below=[name])
    assert Cells(text).rows == [[name]] * 3
    assert "<script" not in text


def test_what_turns_writing_around_is_spelled_out() -> None:
    assert Cells(html_table("t", ["\u202e\0"], [])).rows == [["\\u202e\\x00"]]


def test_colours_are_left_to_the_notebook() -> None:
    """A fixed text or background colour would be unreadable on a dark page or on a light one."""
    text = html_table("t", ["a"], [["x"]])
    assert "color:" not in text.replace(" ", "")
    assert text.count("background:") == text.count("background:none")


def test_what_is_left_out_is_counted() -> None:
    assert and_more(3, 3, "arms", "there") == []
    assert and_more(5_000, 10, "arms", "there") == ["… and 4,990 arms more, there"]
