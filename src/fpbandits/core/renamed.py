"""Names of earlier versions, for errors that give the new ones.

The old words are errors in Python and on the command line. Files that hold them are still read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from math import exp
from typing import Any, NoReturn, ParamSpec, TypeVar

from fpbandits.errors import RENAMED, InputError

_P = ParamSpec("_P")
_R = TypeVar("_R")


def with_old_keywords_refused(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function refuse keywords of earlier versions, and give the new ones."""

    @wraps(function)
    def checked(*values: _P.args, **keywords: _P.kwargs) -> _R:
        refuse_old_keywords(function.__name__, keywords)
        return function(*values, **keywords)

    return checked


def refuse_old_keywords(name: str, keywords: dict[str, Any]) -> None:
    """Raise an error that gives the new name, if a keyword is of an earlier version."""
    for word in RENAMED.keys() & keywords.keys():
        raise InputError(f"{word}= is now {RENAMED[word]}=", place=(name,), about=(word,))


class OldAttributesRefused:
    """A class some of whose attributes had other names in earlier versions."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        new, own = RENAMED.get(name), type(self).__name__
        now = f": it is now {new}" if new is not None and new in dir(self) else ""
        raise AttributeError(f"{own!r} object has no attribute {name!r}{now}", name=name, obj=self)


def with_new_keys(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table from a file with the keys of an earlier version renamed.

    >>> with_new_keys({"true": "x", "arms": ["a"]})
    {'truth': 'x', 'arms': ['a']}
    """
    for key in table.keys() & RENAMED.keys():
        if RENAMED[key] in table:
            alone = f"{key} and {RENAMED[key]} mean the same: give {RENAMED[key]} alone"
            raise InputError(alone, about=(key,))
    return {RENAMED.get(key, key): value for key, value in table.items()}


def with_new_options(word: str) -> str:
    """Return a policy, as a file of an earlier version names it, as it is named now.

    >>> with_new_options("frugal:safe=7:switch=0.1")
    'frugal:false_alarm=0.0009118819655545162:change_rate=0.1'
    """
    name, *options = word.split(":")
    return ":".join([name, *map(_new_option, options)])


def _new_option(option: str) -> str:
    key, _, text = option.partition("=")
    if key == "safe":  # it was −ln of the probability
        return f"false_alarm={exp(-float(text)) if float(text) > 0 else 0.0!r}"
    return f"change_rate={text}" if key == "switch" else option
