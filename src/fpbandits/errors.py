"""What can go wrong, by kind, and the words that messages share.

===================  ==============================================================
`Error`              all of them; the message is one line: what, where, what is right
`InputError`         something that the caller gave is wrong
`UnknownError`       … because nothing has that name
`ConflictError`      … because it is at odds with what is there: told twice, another
                     question in a folder, someone else at work
`StorageError`       a file cannot be read or written, or is not as it was written
`LostWorkersError`   whoever was to play is gone
===================  ==============================================================

So a caller can act on the kind, and never has to read the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import Self


class Error(Exception):
    """Whatever fpbandits raises on purpose; the message is one line for people.

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

    def at(self, place: str) -> Self:
        """Return the same error with the place where it happened in front."""
        return type(self)(f"{place}: {self}", row=self.row)


class InputError(Error, ValueError):
    """Something that the caller gave is wrong."""


class UnknownError(InputError):
    """Nothing has the name that was given."""


class ConflictError(InputError):
    """What was asked for is at odds with what is there already."""


class StorageError(Error):
    """A file cannot be read or written, or is not as it was written."""


class LostWorkersError(Error):
    """Whoever was to play is gone; what came back before is not."""


def quote(value: object) -> str:
    """Return ``value`` as it stands in an error: on one line, in quotes if text, never long.

    >>> quote("12 EUR"), quote(1.5)
    ("'12 EUR'", '1.5')
    """
    try:
        text = repr(value)
    except ValueError:  # a whole number too long to be written out
        return "a number of thousands of digits"
    except Exception:  # whoever cannot be shown is still wrong
        return f"a {type(value).__name__}"
    if not text.isprintable():
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= 60 else f"{text[:40]} … {text[-12:]}"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "arm"), counted(1200, "arm")
    ('1 arm', '1,200 arms')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return names in quotes, as many as fit into a message.

    >>> listed("abc", most=2)
    "'a', 'b', …"
    """
    first = list(islice(names, most + 1))
    return ", ".join([*map(quote, first[:most]), *(["…"] if len(first) > most else [])])


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownError:
    """Say that ``name`` is not a known ``kind``, and which known one is nearest.

    >>> unknown("family", "bernouli", ["bernoulli", "beta"])
    UnknownError("unknown family 'bernouli': did you mean 'bernoulli'?")
    """
    # Similarity is quadratic in the names' length and linear in their number: look at a few.
    candidates = [candidate for candidate in islice(known, 10_000) if len(candidate) <= 100]
    nearest = get_close_matches(name[:100], candidates, n=1)
    if nearest:
        return UnknownError(f"unknown {kind} {quote(name)}: did you mean {quote(nearest[0])}?")
    return UnknownError(f"unknown {kind} {quote(name)}: known are {listed(candidates)}")
