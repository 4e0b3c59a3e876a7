"""The one error that a caller can cause, and the words that errors share."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice


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
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:40]} … {text[-12:]}"


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
