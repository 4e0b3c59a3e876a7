"""Names of earlier versions: refused in code, with the new name in the error, and read from files.

`errors.RENAMED` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from math import exp
from typing import Any, NoReturn, ParamSpec, TypeVar

from fpbandits.errors import RENAMED, InputError

_P = ParamSpec("_P")
_R = TypeVar("_R")


def refuses_old_keywords(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function: an old keyword is an error that gives the new one."""

    @wraps(function)
    def checked(*arguments: _P.args, **keywords: _P.kwargs) -> _R:
        refuse_old_keywords(function.__name__, keywords)
        return function(*arguments, **keywords)

    return checked


def refuse_old_keywords(name: str, keywords: dict[str, Any]) -> None:
    """Raise an error if one of a function's keywords is an old one."""
    for old in RENAMED.keys() & keywords.keys():
        raise InputError(f"{old}= is now {RENAMED[old]}=", place=(name,), about=(old,))


def refuses_old_attributes(cls: type[_R]) -> type[_R]:
    """Decorate a class: using the old name of an attribute is an error that gives the new one.

    These are properties: a class with ``__getattr__`` is slower at finding all its attributes.
    """
    for old, new in RENAMED.items():
        if hasattr(cls, new) or new in cls.__annotations__:
            setattr(cls, old, property(_refusal(old, new)))
    return cls


def _refusal(old: str, new: str) -> Callable[[object], NoReturn]:
    # Without a docstring, so that the reference does not list it.
    def refuse(thing: object) -> NoReturn:
        message = f"{type(thing).__name__!r} object has no attribute {old!r}: it is now {new}"
        raise AttributeError(message, name=old, obj=thing)

    return refuse


def rename_old_keys(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table read from a file, with new names for the old ones among its keys.

    >>> rename_old_keys({"true": "x", "arms": ["a"]})
    {'truth': 'x', 'arms': ['a']}
    """
    for old in table.keys() & RENAMED.keys():
        if RENAMED[old] in table:
            twice = f"{old} and {RENAMED[old]} mean the same: give {RENAMED[old]} alone"
            raise InputError(twice, about=(old,))
    return {RENAMED.get(key, key): value for key, value in table.items()}


def rename_old_options(policy: str) -> str:
    """Return a policy's name and options, read from a file, with new names for old options.

    >>> rename_old_options("frugal:safe=7:switch=0.1")
    'frugal:false_alarm=0.0009118819655545162:change_rate=0.1'
    """
    name, *options = policy.split(":")
    return ":".join([name, *map(_rename_old_option, options)])


def _rename_old_option(option: str) -> str:
    key, _, value = option.partition("=")
    if key == "safe":  # safe was −ln of the false-alarm probability, 0 for none
        return f"false_alarm={exp(-float(value)) if float(value) > 0 else 0.0!r}"
    return f"change_rate={value}" if key == "switch" else option
