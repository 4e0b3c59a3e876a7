"""What can go wrong, by kind, and the words that messages share.

===================  ==============================================================
`Error`              all of them
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

An error is data: its kind, its `place` and its `reason`. The sentence for people is made of them
by `str`, here and nowhere else, and no program has to read it:

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

Name = str | tuple[str, str | int]
"""A name in a place: a text that stands for itself, as a file or a field, or a kind with the name
or the number of one: ("model", "loyal"), ("row", 7). An "index" is a row counted from 0."""

Place = tuple[Name, ...]
"""A path of names, the outermost first."""

_TOGETHER = ("unit", "reward", "model", "context", "arm")
"""Kinds whose names stand together, with a comma: "model 'loyal', arm '12 EUR'"."""

_ONE_OF = {"prior": "prior of", "shares": "share of", "value": "value of"}
"""Fields that hold a number for each of several names: "prior of 'loyal'"."""


class Error(Exception):
    """Whatever fpbandits raises on purpose; as a text it is one line for people.

    Parameters
    ----------
    reason
        What is wrong, and what would be right.
    place
        Where; the sentence begins with it.
    about
        The end of the place, if the reason names it itself, as in "range must be …": the sentence
        does not say it twice.
    """

    def __init__(self, reason: str, *, place: Place = (), about: Place = ()) -> None:
        super().__init__(reason)
        self.reason, self.place, self._said = reason, (*place, *about), len(place)

    def __str__(self) -> str:
        return ": ".join([*_words(self.place[: self._said]), self.reason])

    def at(self, *names: Name, dropping: int = 0) -> Self:
        """Return the same error with names in front of its place, or instead of its first few."""
        place, about = self.place[dropping : self._said], self.place[self._said :]
        return type(self)(self.reason, place=(*names, *place), about=about)

    @property
    def path(self) -> list[str]:
        """The place as texts alone, kinds included, for JSON."""
        names = ((name,) if isinstance(name, str) else name for name in self.place)
        # Whoever sends a name of a million letters does not get them all back.
        return [str(each)[:1000] for name in names for each in name]


@contextmanager
def within(*names: Name) -> Iterator[None]:
    """Put names in front of the place of an error that is raised in this block.

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
    """Return a place in words, one text for all that stands together."""
    words: list[str] = []
    before = ""
    for name in place:
        kind, which = ("", 0) if isinstance(name, str) else name
        word = f"{_ONE_OF.get(kind, kind)} {quote(which)}" if kind else str(name)
        if kind == "index":
            word = f"row {which:,}, counted from 0"
        if kind in _TOGETHER and before in _TOGETHER:
            words[-1] += f", {word}"
        else:
            words.append(word)
        before = kind
    return words


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


def said(error: BaseException, most: int = 200, otherwise: str = "") -> str:
    r"""Return what an error of someone else's says, on one line, never long.

    >>> said(OSError("no space\nleft"))
    'no space left'
    """
    return " ".join(str(error).split())[:most] or otherwise or type(error).__name__


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


def wrong_type(what: str, value: object, wanted: str) -> InputError:
    """Say that a value is of another type than its name asks for.

    >>> print(wrong_type("range", 3, "[lowest, highest]"))
    range must be [lowest, highest], not 3
    """
    return InputError(f"{what} must be {wanted}, not {quote(value)}", about=(what,))


def wrong_value(what: str, value: object, wanted: str) -> InputError:
    """Say that a value is one that cannot be.

    >>> print(wrong_value("seed", -1, "be at least 0"))
    seed is -1: it must be at least 0
    """
    return InputError(f"{what} is {quote(value)}: it must {wanted}", about=(what,))


def unknown(kind: str, name: str, known: Iterable[str]) -> UnknownError:
    """Say that ``name`` is not a known ``kind``, which one is nearest, and which there are.

    >>> print(unknown("family", "bernouli", ["bernoulli", "beta"]))
    unknown family 'bernouli': did you mean 'bernoulli'? Known are 'bernoulli', 'beta'
    """
    return UnknownError(_suggestion(kind, name, list(known)), about=((kind, name),))


def _suggestion(kind: str, name: str, known: Sequence[str]) -> str:
    what = f"unknown {kind} {quote(name)}"
    if RENAMED.get(name) in known:
        return f"{what}: it is now {RENAMED[name]}"
    # Similarity is quadratic in the names' length and linear in their number: look at a few.
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
