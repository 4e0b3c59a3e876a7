"""A policy's options, the fields of its class: read from text, checked, written as text."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as escaped
from urllib.parse import unquote

from fpbandits.core.checks import is_real
from fpbandits.errors import wrong_type, wrong_value

if TYPE_CHECKING:
    from fpbandits.engine.policy import Policy

Option = Field[Any]  # whose default may be of any type


def options(policy: Policy | type[Policy]) -> dict[str, Option]:
    """Return the options of a policy, by name."""
    return {option.name: option for option in fields(policy)}


def expected(kind: type[Policy], name: str) -> str:
    """Return what an option's value must be, in words: its default is of that type."""
    kinds = {str: "TEXT", bool: "true|false", int: "WHOLE NUMBER"}
    return kinds.get(type(options(kind)[name].default), "NUMBER")


def read_option(kind: type[Policy], name: str, text: str) -> object:
    """Return an option's value, read from text: of the type of its default, else a float."""
    match expected(kind, name):
        case "TEXT":
            return unquote(text)
        case "true|false":
            return {"true": True, "false": False}[text.lower()]
        case "WHOLE NUMBER":
            return int(text)
        case _:
            return float(text)


def option_text(value: object) -> str:
    """Return an option's value as `read_option` reads it."""
    return escaped(value) if isinstance(value, str) else repr(value)


def check_numbers(policy: Policy) -> None:
    """Check the options whose defaults are numbers, and convert them to floats."""
    for name, option in options(policy).items():
        if isinstance(option.default, str | None):
            continue  # the policy itself checks it
        value = getattr(policy, name)
        if not is_real(value):
            raise wrong_type(name, value, "a number").at(policy.name)
        if not 0 <= value <= 1e100:
            raise wrong_value(name, value, "be 0 or more").at(policy.name)
        object.__setattr__(policy, name, float(value))
