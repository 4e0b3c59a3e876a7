"""Tables in plain text."""

from __future__ import annotations

from fpbandits.report.text import text_table


def test_texts_are_to_the_left_and_numbers_to_the_right() -> None:
    lines = [["arm", "unit", "plays"], ["a", "EUR", "12"], ["広告", "USD", "5"]]
    assert text_table("Plays", lines, 2) == (
        "Plays\narm   unit  plays\n─────────────────\na     EUR      12\n広告  USD       5"
    )
    assert text_table("Plays", lines, 3).splitlines()[3:] == ["a     EUR   12", "広告  USD   5"]
