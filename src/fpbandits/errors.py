"""The kinds of errors, and helpers that write their messages.

===================  ==============================================================
`Error`              the base of all
`InputError`         an argument, an option or a file of the user's is wrong
`UnknownError`       … because nothing has that name
`ConflictError`      … because of something that exists already: another reward for
                     a decision, other runs in a folder, another process at work
`RefusedError`       … because the caller has no permission
`TooLargeError`      … because it is larger than a request may be
`StorageError`       a file cannot be read or written, or was damaged
`LostWorkersError`   the workers of a cluster are gone
`UnavailableError`   a service or its database did not answer in time; try again
===================  ==============================================================

An error is data: its kind, its `place` and its `reason`. `str` makes the sentence for people, and
no program has to parse that sentence:

>>> error = InputError("expected a number", place=(("model", "loyal"), ("arm", "12 EUR")))
>>> print(error.at("pricing.toml"))
pricing.toml: model 'loyal', arm '12 EUR': expected a number
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import SequenceMatcher
from itertools import islice
from typing import Self

_MOST_LISTED = 24
"""If there are more choices than this, a message gives the nearest and the number of all."""

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
"""Names of earlier versions, and their new names."""

_LIKE = 0.7
"""Names at least this similar are suggested."""

_SEPARATORS = re.compile(r"[-_ ]")

Name = str | tuple[str, str | int]
"""One step of a place: the name of a file or a field, or a kind with a name or a number, such as
("model", "loyal") or ("row", 7). The kind "index" is a row counted from 0."""

Place = tuple[Name, ...]
"""Where an error is: a path of names, the outermost first."""

_TOGETHER = ("unit", "reward", "model", "context", "arm")
"""Kinds that are joined by a comma and not by a colon: "model 'loyal', arm '12 EUR'"."""

_ONE_OF = {
    "prior": "prior of",
    "shares": "share of",
    "value": "value of",
    "transitions": "transitions from",
}
"""Kinds that read differently in a sentence: "prior of 'loyal'"."""


class Error(Exception):
    """The base of all errors that fpbandits raises on purpose; its text is one line.

    Parameters
    ----------
    reason
        What is wrong, and what would be right.
    place
        Where it is wrong; the sentence begins with it.
    about
        The last names of the place, where the reason already contains them, as in "range must be
        …", so that the sentence does not say them twice.
    """

    def __init__(self, reason: str, *, place: Place = (), about: Place = ()) -> None:
        super().__init__(reason)
        self.reason, self.place, self._said = reason, (*place, *about), len(place)

    def __str__(self) -> str:
        return ": ".join([*_words(self.place[: self._said]), self.reason])

    def at(self, *names: Name, dropping: int = 0) -> Self:
        """Return the same error with names put before its place, whose first few may be dropped."""
        place, about = self.place[dropping : self._said], self.place[self._said :]
        return type(self)(self.reason, place=(*names, *place), about=about)

    @property
    def path(self) -> list[str]:
        """The place as a flat list of texts, kinds included, for JSON."""
        names = ((name,) if isinstance(name, str) else name for name in self.place)
        # A name of a million letters is not sent back whole.
        return [str(each)[:1000] for name in names for each in name]


@contextmanager
def within(*names: Name) -> Iterator[None]:
    """Put names before the place of any error raised in this block.

    >>> with within("pricing.toml"):
    ...     raise InputError("there are no models")
    Traceback (most recent call last):
    fpbandits.errors.InputError: pricing.toml: there are no models
    """
    try:
        yield
    except Error as error:
        raise error.at(*names) from None


def _words(place: Place) -> list[str]:
    """Return a place as texts, to be joined by colons."""
    words: list[str] = []
    before = ""
    for name in place:
        kind, which = ("", name) if isinstance(name, str) else name
        word = f"{_ONE_OF.get(kind, kind)} {quote(which)}" if kind else str(which)
        if kind == "index":
            word = f"row {which:,}, counted from 0"
        if kind in _TOGETHER and before in _TOGETHER:
            words[-1] += f", {word}"
        else:
            words.append(word)
        before = kind
    return words


class InputError(Error, ValueError):
    """An argument, an option or a file of the user's is wrong."""


class UnknownError(InputError):
    """Nothing has the name that was given."""


class ConflictError(InputError):
    """The request conflicts with something that exists already."""


class RefusedError(InputError):
    """The caller has no permission: no token, an unknown one, or one of another role."""


class TooLargeError(InputError):
    """The request is too large."""


class StorageError(Error):
    """A file cannot be read or written, or was damaged."""


class LostWorkersError(Error):
    """The workers of a cluster are gone; results that arrived before are kept."""


class UnavailableError(Error):
    """A service or its database did not answer in time; the request may be repeated."""


def quote(value: object) -> str:
    """Return ``value`` for a message: on one line, in quotes if it is a text, and shortened.

    >>> quote("12 EUR"), quote(1.5)
    ("'12 EUR'", '1.5')
    """
    try:
        # A NumPy number as -1.0, not as np.float64(-1.0).
        text = repr(float(value) if isinstance(value, float) else value)
    except ValueError:  # a whole number too long to be written out
        return "a number of thousands of digits"
    except Exception:  # an object whose own repr fails
        return f"a {type(value).__name__}"
    if not text.isprintable():
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= 60 else f"{text[:40]} … {text[-12:]}"


def said(error: BaseException, most: int = 200, otherwise: str = "") -> str:
    r"""Return the message of an exception that is not ours, on one line, shortened.

    >>> said(OSError("no space\nleft"))
    'no space left'
    """
    return " ".join(str(error).split())[:most] or otherwise or type(error).__name__


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the singular or the plural.

    >>> counted(1, "arm"), counted(1200, "arm")
    ('1 arm', '1,200 arms')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return names in quotes, at most so many.

    >>> listed("abc", most=2)
    "'a', 'b', …"
    """
    first = list(islice(names, most + 1))
    return ", ".join([*map(quote, first[:most]), *(["…"] if len(first) > most else [])])


def wrong_type(what: str, value: object, wanted: str) -> InputError:
    """Return the error for a value of a wrong type.

    >>> print(wrong_type("range", 3, "[lowest, highest]"))
    range must be [lowest, highest], not 3
    """
    return InputError(f"{what} must be {wanted}, not {quote(value)}", about=(what,))


def wrong_value(what: str, value: object, wanted: str) -> InputError:
    """Return the error for a value of the right type that is not allowed.

    >>> print(wrong_value("seed", -1, "be at least 0"))
    seed is -1: it must be at least 0
    """
    return InputError(f"{what} is {quote(value)}: it must {wanted}", about=(what,))


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownError:
    """Return the error for an unknown name, with the nearest known ones and a list of all.

    >>> print(unknown("family", "bernouli", ["bernoulli", "beta"]))
    unknown family 'bernouli': did you mean 'bernoulli'? Known are 'bernoulli', 'beta'
    """
    return UnknownError(_suggestion(kind, name, list(known)), about=((kind, name),))


def _suggestion(kind: str, name: str, known: Sequence[str]) -> str:
    what = f"unknown {kind} {quote(name)}"
    if RENAMED.get(name) in known:
        return f"{what}: it is now {RENAMED[name]}"
    # The cost is quadratic in the names' length and linear in their number: limit both.
    candidates = [candidate for candidate in known[:10_000] if len(candidate) <= 100]
    near = nearest(name[:100], candidates)
    if len(known) <= _MOST_LISTED:
        choices = f"nown are {listed(known, _MOST_LISTED)}"
        meant = f"did you mean {quote(near[0])}? K" if near else "k"
        return f"{what}: {meant}{choices}"
    if near:
        return f"{what}: did you mean {' or '.join(map(quote, near))}? There are {len(known):,}"
    return f"{what}: known are {listed(known)} ({len(known):,} in all)"


def nearest(name: str, candidates: Iterable[str], most: int = 3) -> list[str]:
    """Return the candidates most similar to a mistyped name, the likeliest first.

    A difference in hyphens or case (``fpucb`` for ``fp-ucb``) ranks first, then names of which one
    contains the other, then similar spelling. Equal first letters count: they are seldom mistyped.

    >>> nearest("truths", ["runs", "problems", "truth"])
    ['truth']
    """
    scores = {candidate: _similarity(name, candidate) for candidate in candidates}
    likely = [candidate for candidate, score in scores.items() if score >= _LIKE]
    return sorted(likely, key=lambda candidate: -scores[candidate])[:most]


def _similarity(name: str, candidate: str) -> float:
    first, second = _SEPARATORS.sub("", name.casefold()), _SEPARATORS.sub("", candidate.casefold())
    if not first:
        return 0.0
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    alike = [a == b for a, b in zip(first[:4], second, strict=False)]
    bonus = [*alike, False].index(False) / 20
    if min(len(first), len(second)) > 2 and (first in second or second in first):
        bonus += 1
    # quick_ratio is an upper bound on the slow ratio.
    return bonus + (matcher.ratio() if bonus + matcher.quick_ratio() >= _LIKE else 0)
