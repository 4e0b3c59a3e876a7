"""Numbers as people write them, and what is said of those that are none."""

from __future__ import annotations

import pytest
from command import refusal
from typer.exceptions import TyperException

from fpbandits.cli.options import read_numbers, read_whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1000", 1000),
        ("1e12", 10**12),
        ("2.5e1", 25),
        ("-1", -1),
        ("+7", 7),
        (100, 100),
        ("9007199254740993", 2**53 + 1),
    ],
)
def test_whole_numbers(text: str | int, number: int) -> None:
    found = read_whole_number("--runs", text)
    assert found == number
    assert isinstance(found, int)


@pytest.mark.parametrize("text", ["1.5", "inf", "1e400", "nan"])
def test_other_numbers_are_not_whole(text: str) -> None:
    with pytest.raises(TyperException, match=r"^--runs is .*: it must be a whole number$"):
        read_whole_number("--runs", text)


@pytest.mark.parametrize("text", ["ten", "", "1,000", "²", "1" * 5000])
def test_what_is_no_number_is_named(text: str) -> None:
    with pytest.raises(
        TyperException, match=r"^--runs is '.*': expected a number such as 1000 or 1e12$"
    ):
        read_whole_number("--runs", text)


def test_lists_of_numbers() -> None:
    assert read_numbers("--times", "10, 1e2,.5") == [10, 100, 0.5]
    with pytest.raises(TyperException, match=r"^--times is 'x': expected a number"):
        read_numbers("--times", "10,x")


@pytest.mark.parametrize(
    "words",
    [
        ["simulate", "paper:two", "--workers", "two"],
        ["sweep", "study.toml", "--runs", "many"],
        ["reproduce", "--seed", "x"],
        ["leaderboard", "--horizon", "far"],
    ],
)
def test_every_command_names_the_option(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    *_, option, value = words
    expected = f"error: {option} is {value!r}: expected a number such as 1000 or 1e12\n"
    assert refusal(capsys, *words) == expected
