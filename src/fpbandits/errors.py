"""What can go wrong, by kind, and the words that messages share.

===================  ==============================================================
`Error`              all of them; the message is one line: what, where, what is right
`InputError`         something that the caller gave is wrong
`UnknownError`       … because nothing has that name
`ConflictError`      … because it is at odds with what is there: told twice, another
                     question in a folder, someone else at work
`RefusedError`       … because whoever asks may not
`TooLargeError`      … because it is more than is taken at once
`StorageError`       a file cannot be read or written, or is not as it was written
`LostWorkersError`   whoever was to play is gone
`UnavailableError`   a service or its database did not answer in time; try again
===================  ==============================================================

So a caller can act on the kind, and never has to read the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import islice
from typing import Self

_MOST_LISTED = 20
"""More choices than this are not read; the nearest are named, and how many there are."""

RENAMED = {
    "parameters": "models",
    "true": "truth",
    "true_means": "truth_means",
    "exact": "worst_case",
    "safe": "false_alarm",
    "switch": "change_rate",
    "survivors": "plausible",
    "outstanding": "pending",
    "waiting": "blocked",
}
"""Words of earlier versions, and what they are called now."""

_LIKE = 0.7
_spelling = re.compile(r"[-_ ]")


class Error(Exception):
    """Whatever fpbandits raises on purpose; the message is one line for people.

    Parameters
    ----------
    message
        What is wrong, where, and what would be right.
    row
        The number of the model concerned, counted from 0, where there is one: a file
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


class RefusedError(InputError):
    """Whoever asks may not: no token, an unknown one, or one for other work."""


class TooLargeError(InputError):
    """More than is taken at once."""


class StorageError(Error):
    """A file cannot be read or written, or is not as it was written."""


class LostWorkersError(Error):
    """Whoever was to play is gone; what came back before is not."""


class UnavailableError(Error):
    """A service or its database did not answer in time; the same request may come again."""


def quote(value: object) -> str:
    """Return ``value`` as it stands in an error: on one line, in quotes if text, never long.

    >>> quote("12 EUR"), quote(1.5)
    ("'12 EUR'", '1.5')
    """
    try:
        # A number of NumPy's as anyone writes it: -1.0, not np.float64(-1.0).
        text = repr(float(value) if isinstance(value, float) else value)
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
    """Say that ``name`` is not a known ``kind``, which one is nearest, and which there are.

    >>> print(unknown("family", "bernouli", ["bernoulli", "beta"]))
    unknown family 'bernouli': did you mean 'bernoulli'? Known are 'bernoulli', 'beta'
    """
    known = list(known)
    if RENAMED.get(name) in known:
        return UnknownError(f"unknown {kind} {quote(name)}: it is now {RENAMED[name]}")
    # Similarity is quadratic in the names' length and linear in their number: look at a few.
    candidates = [candidate for candidate in known[:10_000] if len(candidate) <= 100]
    near = nearest(name[:100], candidates)
    what = f"unknown {kind} {quote(name)}"
    if len(known) <= _MOST_LISTED:
        choices = f"nown are {listed(known, _MOST_LISTED)}"
        meant = f"did you mean {quote(near[0])}? K" if near else "k"
        return UnknownError(f"{what}: {meant}{choices}")
    if near:
        return UnknownError(
            f"{what}: did you mean {' or '.join(map(quote, near))}? There are {len(known):,}"
        )
    return UnknownError(f"{what}: known are {listed(known)} ({len(known):,} in all)")


def nearest(name: str, candidates: Iterable[str], most: int = 3) -> list[str]:
    """Return the names that may have been meant, the likeliest first.

    A name spelled otherwise (``fpucb`` for ``fp-ucb``) comes before one that begins or is contained
    in the other, and these before one that looks alike; people seldom mistake the first letters.

    >>> nearest("truths", ["runs", "problems", "truth"])
    ['truth']
    """
    scores = {candidate: _likeness(name, candidate) for candidate in candidates}
    likely = [candidate for candidate, score in scores.items() if score >= _LIKE]
    return sorted(likely, key=lambda candidate: -scores[candidate])[:most]


def _likeness(name: str, candidate: str) -> float:
    first, second = _spelling.sub("", name.casefold()), _spelling.sub("", candidate.casefold())
    if not first or not second:
        return 0.0
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    alike = [a == b for a, b in zip(first[:4], second, strict=False)]
    bonus = [*alike, False].index(False) / 20
    if first == second:
        bonus = 2
    elif min(len(first), len(second)) > 2 and (first in second or second in first):
        bonus += 1
    # An upper bound that is fast spares most of the slow ones.
    return bonus + (matcher.ratio() if bonus + matcher.quick_ratio() >= _LIKE else 0)
