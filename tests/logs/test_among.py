"""Eligible arms as a cell of a log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fpbandits.logs.among import arms_to_text, text_to_arms

NAMES = st.text(st.sampled_from("ab|\\ \n"), min_size=1).filter(lambda name: name == name.strip())


@given(st.lists(NAMES, min_size=1))
def test_names_are_read_as_they_were_written(arms: list[str]) -> None:
    assert text_to_arms(arms_to_text(arms)) == arms


@pytest.mark.parametrize(
    ("text", "arms"),
    [
        ("9 EUR|12 EUR", ["9 EUR", "12 EUR"]),
        (" 9 | 12 ", ["9", "12"]),
        (r"red\|blue|red", ["red|blue", "red"]),
        (r"a\b|c", [r"a\b", "c"]),
        ("a\\", ["a\\"]),
        ("a||b", ["a", "", "b"]),
    ],
)
def test_cells(text: str, arms: list[str]) -> None:
    assert text_to_arms(text) == arms
