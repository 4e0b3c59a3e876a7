"""Bodies: one declaration reads them and documents them."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import pytest

from fpbandits.errors import InputError, UnknownError
from fpbandits.service.schema import Body, Rule, parse_json
from fpbandits.service.statuses import UnreadableError


def _even(field: str, value: object) -> int:
    if not isinstance(value, int) or value % 2:
        raise InputError("expected an even number", place=(field,))
    return value


EVEN = Rule(_even, {"type": "integer", "multipleOf": 2})


class Example(NamedTuple):
    """An example."""

    needed: Annotated[int, EVEN]
    null: Annotated[int | None, EVEN] = None
    other: Annotated[int, EVEN] = 4


ONE, MANY = Body(Example, largest=100), Body(Example, largest=100, most_items=3)


def test_what_is_left_out_has_its_default() -> None:
    assert ONE.read({"needed": 2}) == Example(2)
    assert ONE.read({"other": 6, "null": 8, "needed": 2}) == Example(2, 8, 6)
    assert ONE.read({"needed": 2, "null": None}) == Example(2)


WRONG: list[tuple[Any, str]] = [
    ({}, "the field 'needed' is missing"),
    ({"needed": None}, "needed: expected an even number"),
    ({"needed": 2, "other": None}, "other: expected an even number"),
    ({"needed": 2, "null": 3}, "null: expected an even number"),
    ({"needed": 2, "othr": 3}, "unknown field 'othr': did you mean 'other'"),
    ([], "expected an object with needed, null, other, not []"),
]


@pytest.mark.parametrize(("item", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named(item: object, words: str) -> None:
    with pytest.raises(InputError) as error:
        ONE.read(item)
    assert str(error.value).startswith(words)


def test_where_a_list_is_taken_a_refusal_says_so() -> None:
    with pytest.raises(InputError, match="needed, null, other, or a list of them, not 7"):
        MANY.read(7)
    with pytest.raises(UnknownError):
        MANY.read({"needed": 2, "x": 2})


def test_the_schema_says_what_is_checked() -> None:
    one = {
        "type": "object",
        "required": ["needed"],
        "properties": {
            "needed": EVEN.schema,
            "null": {"anyOf": [EVEN.schema, {"type": "null"}]},
            "other": EVEN.schema,
        },
        "additionalProperties": False,
    }
    assert ONE.schema() == one
    assert MANY.schema() == {"anyOf": [one, {"type": "array", "items": one, "maxItems": 3}]}
    assert ONE.description == "An example."


def test_json_is_utf_8_without_numbers_that_are_none() -> None:
    assert parse_json('\ufeff{"a": "é"}'.encode()) == {"a": "é"}
    for body in (b"", b"NaN", b"-Infinity", b'"\xff"', b"1" * 5000, b"[" * 10**5, b'{"a": 1} x'):
        with pytest.raises(UnreadableError):
            parse_json(body)
