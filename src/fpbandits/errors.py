"""The one error that a caller can cause, the words that errors share, and a common check."""

from __future__ import annotations

import math
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from numbers import Real
from typing import Any


class InputError(ValueError):
    """Something the caller gave is wrong; the message is one line that says what and where.

    Parameters
    ----------
    message
        What is wrong, where, and what would be right.
    row
        The number of the parameter concerned, counted from 0, where there is one: a file
        loader turns it into a row of the file.
    """

    def __init__(self, message: str, *, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


def quote(value: object) -> str:
    """Return ``value`` as it stands in an error: on one line, in quotes if text, never long.

    >>> quote("12 EUR"), quote(1.5)
    ("'12 EUR'", '1.5')
    """
    try:
        text = repr(value)
    except ValueError:  # a whole number too long to be written out
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:40]} … {text[-12:]}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "arm"), counted(1200, "arm")
    ('1 arm', '1,200 arms')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Say that ``name`` is not a known ``kind``, and which known one is nearest.

    >>> unknown("family", "bernouli", ["bernoulli", "beta"])
    "unknown family 'bernouli': did you mean 'bernoulli'?"
    """
    # Similarity is quadratic in the names' length and linear in their number: look at a few.
    candidates = [candidate for candidate in islice(known, 10_000) if len(candidate) <= 100]
    nearest = get_close_matches(name[:100], candidates, n=1)
    if nearest:
        return f"unknown {kind} {quote(name)}: did you mean {quote(nearest[0])}?"
    listed = ", ".join(quote(candidate) for candidate in candidates[:8])
    more = ", …" if len(candidates) > 8 else ""
    return f"unknown {kind} {quote(name)}: known are {listed}{more}"


def whole_number(
    what: str, value: object, *, least: int = 0, most: int | None = None, why: str = ""
) -> int:
    """Return ``value`` as an int, or say why it is not a whole number between two limits.

    >>> whole_number("horizon", 1e6, least=1)
    1000000
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{what} must be a whole number, not {quote(value)}")
    real: Any = value
    # A whole number may be too long to be a float, and needs no such test.
    if not isinstance(real, int) and (not math.isfinite(real) or real != int(real)):
        raise InputError(f"{what} is {quote(value)}: it must be a whole number")
    number = int(real)
    if number < least:
        raise InputError(f"{what} is {quote(value)}: it must be at least {least}")
    if most is not None and number > most:
        reason = f", {why}" if why else ""
        raise InputError(f"{what} is {quote(value)}: it must be at most {most:,}{reason}")
    return number
