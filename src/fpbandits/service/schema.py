"""Bodies of requests: one declaration of their fields serves to check and to document them.

A request is a named tuple whose fields are annotated with rules. `Body` checks JSON by these rules,
and makes a JSON Schema of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar, get_type_hints

from fpbandits.errors import InputError, quote, said, unknown
from fpbandits.service.statuses import UnreadableError

Schema = dict[str, Any]
"""JSON Schema."""

_REQUIRED = object()
"""In place of a default, for fields that have none."""

_T = TypeVar("_T", bound=NamedTuple)


@dataclass(frozen=True, eq=False)
class Rule:
    """What a field may hold.

    Attributes
    ----------
    check
        Takes a field's name and its value; returns the value as the service uses it, or raises an
        `InputError`.
    schema
        The JSON Schema of such a value, for OpenAPI.
    """

    check: Callable[[str, Any], Any]
    schema: Schema


class Body(Generic[_T]):
    """The body of a request: an object with the fields of a named tuple.

    Parameters
    ----------
    kind
        The named tuple that `read` returns, with each field annotated with a `Rule`. Fields that
        have a default may be left out; those whose default is None may be null.
    largest
        Most bytes of a body.
    most_items
        Most objects in a list; 0 if a body must be a single object.
    """

    def __init__(self, kind: type[_T], *, largest: int, most_items: int = 0) -> None:
        self._kind, self.largest, self.most_items = kind, largest, most_items
        self.description, self._defaults = kind.__doc__ or "", kind._field_defaults
        hints = get_type_hints(kind, include_extras=True)
        self._rules: dict[str, Rule] = {name: hint.__metadata__[0] for name, hint in hints.items()}
        self._fields = [
            (name, rule.check, self._defaults.get(name, _REQUIRED))
            for name, rule in self._rules.items()
        ]

    def fields(self) -> dict[str, Schema]:
        """Return the schema of each field."""
        null: Schema = {"type": "null"}
        return {
            name: {"anyOf": [rule.schema, null]}
            if self._defaults.get(name, ...) is None
            else rule.schema
            for name, rule in self._rules.items()
        }

    def schema(self) -> Schema:
        """Return the schema of the whole body."""
        single = object_schema(**self.fields())
        single["required"] = [name for name in self._rules if name not in self._defaults]
        single["additionalProperties"] = False
        if not self.most_items:
            return single
        return {"anyOf": [single, {"type": "array", "items": single, "maxItems": self.most_items}]}

    def read(self, item: object) -> _T:
        """Return one object as a named tuple, or say which field is wrong."""
        if not isinstance(item, dict):
            or_list = ", or a list of them" if self.most_items else ""
            raise InputError(
                f"expected an object with {', '.join(self._rules)}{or_list}, not {quote(item)}"
            )
        values = []
        for field, check, default in self._fields:
            value = item.get(field, default)
            if value is _REQUIRED:
                raise InputError(f"the field {quote(field)} is missing", about=(field,))
            values.append(value if value is default else check(field, value))
        if not item.keys() <= self._rules.keys():
            field = next(field for field in item if field not in self._rules)
            raise unknown("field", field, self._rules)
        return self._kind._make(values)


def object_schema(**fields: Schema) -> Schema:
    """Return the schema of an object that has all of these fields."""
    return {"type": "object", "required": list(fields), "properties": fields}


def parse_json(body: bytes) -> Any:
    """Read JSON as the standard has it: UTF-8, without NaN and Infinity."""
    try:
        return _decode(body.decode().removeprefix("\ufeff"))  # a byte order mark
    except RecursionError:
        raise UnreadableError("the body is nested too deeply") from None
    except ValueError as error:  # also if it is not UTF-8, or a number has thousands of digits
        raise UnreadableError(f"the body is not JSON: {said(error)}") from None


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number in JSON")


_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode  # made once: that is slow
