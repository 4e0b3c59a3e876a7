"""Options of every type: read from words, checked, and written so that they are read again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from fpbandits import FPUCB, InputError, PlainPolicy
from fpbandits.engine.options import check_numbers, expected, option_text, options, read_option
from fpbandits.engine.plain import Seen


@dataclass(frozen=True)
class Many(PlainPolicy):
    rate: float = 0.5
    steps: int = 3
    label: str = "a"
    bold: bool = False
    weights: Any = None
    name = "many"

    def choose(self, seen: Seen, random: Any) -> int:
        return 0


@pytest.mark.parametrize(
    ("name", "word", "text", "value"),
    [
        ("rate", "NUMBER", "1e-3", 1e-3),
        ("steps", "WHOLE NUMBER", "12", 12),
        ("label", "TEXT", "x%3Ay", "x:y"),
        ("bold", "true|false", "True", True),
        ("weights", "NUMBER", "2", 2.0),
    ],
)
def test_an_option_is_of_the_type_of_its_default(
    name: str, word: str, text: str, value: object
) -> None:
    assert expected(Many, name) == word
    read = read_option(Many, name, text)
    assert read == value
    assert type(read) is type(value)
    assert read_option(Many, name, option_text(value)) == value


def test_yes_and_no_are_read_in_any_case() -> None:
    assert [read_option(Many, "bold", text) for text in ("true", "False")] == [True, False]


def test_options_stand_in_the_order_of_fields() -> None:
    assert list(options(Many)) == list(options(Many())) == [*Many.__annotations__][:5]


def test_only_numbers_are_checked_as_numbers() -> None:
    assert Many(label="x", weights={}) == Many(label="x", weights={})
    with pytest.raises(InputError, match="many: steps must be a number, not 'x'"):
        check_numbers(Many(steps="x"))  # type: ignore[arg-type]  # the mistake that is tested
    with pytest.raises(InputError, match="fp-ucb: slack is -1: it must be 0 or more"):
        FPUCB(slack=-1)
    assert type(FPUCB(slack=1).slack) is float
    assert [FPUCB(slack=slack).slack for slack in (0, 1e100)] == [0, 1e100]
    with pytest.raises(InputError, match="it must be 0 or more"):
        FPUCB(slack=1.1e100)
