"""Logs: rows of who, which arm, what came of it, from CSV, Parquet or a data frame.

A row has a unit, an arm, a reward and, if there are contexts, what was seen before. It is read a
few thousand rows at a time, so that memory holds three numbers per row and nothing else. Names
become numbers: units in order of appearance, arms and contexts sorted, 9 before 12.

Whatever is wrong is said with the row where it is: of a file as a spreadsheet counts them, the
header being row 1; of a data frame from 0, as data frames do.
"""

from __future__ import annotations

import math
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fpbandits.core.arrays import Floats
from fpbandits.core.checks import checked_name, checked_path, number_text
from fpbandits.core.storage import shown
from fpbandits.errors import Error, InputError, Place, quote, unknown, wrong_type
from fpbandits.families.estimator import Codes
from fpbandits.logs.sources import Progress, file_chunks, frame_chunks, line_of


@dataclass(frozen=True, eq=False)
class Log:
    """A log in numbers: one unit, pair and reward per row, in the order of the rows.

    Attributes
    ----------
    units
        How the units are called.
    arms, contexts
        Names; a pair is context · number of arms + arm, as in a `Problem`.
    extra
        Further columns of numbers, by name.
    """

    units: Sequence[str]
    arms: tuple[str, ...]
    contexts: tuple[str, ...]
    unit: Codes
    pair: Codes
    reward: Floats
    extra: Mapping[str, Floats]
    place: Callable[[int], Place]
    """Where a row is, by its number from 0."""

    @property
    def pairs(self) -> int:
        """How many pairs of a context and an arm there are."""
        return len(self.arms) * max(1, len(self.contexts))

    @property
    def pair_names(self) -> list[str]:
        """What to call the pairs."""
        if not self.contexts:
            return list(self.arms)
        return [f"{context}: {arm}" for context in self.contexts for arm in self.arms]

    @contextmanager
    def naming_rows(self) -> Iterator[None]:
        """Let an error that concerns a row say where that is."""
        try:
            yield
        except InputError as error:
            raise _placed(error, self.place) or error from None


def _placed(error: Error, place: Callable[[int], Place]) -> Error | None:
    """Return an error that concerns a row with the row's own place, if it does."""
    match error.place:
        case (("index", int(row)), *_):
            return error.at(*place(row), dropping=1)
    return None


def read_log(
    source: Any,
    *,
    unit: str,
    arm: str,
    reward: str,
    context: str | None = None,
    numbers: Sequence[str] = (),
    arms: Sequence[str] | None = None,
    contexts: Sequence[str] | None = None,
    progress: Progress | None = None,
) -> Log:
    """Read a log from a file's path or a data frame, and check every row.

    ``numbers`` are further columns to keep, ``arms`` and ``contexts`` those that there may be: by
    default all that appear. A data frame is anything whose columns are had by name: pandas, Polars,
    Arrow, a dict.
    """
    roles = {"unit": unit, "arm": arm, "reward": reward}
    if context is not None:
        roles["context"] = context
    names = [*roles.values(), *numbers]
    for role, name in [*roles.items(), *(("a further column", name) for name in numbers)]:
        if not isinstance(name, str) or not name:
            raise wrong_type(role, name, "a column's name")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        roles_of = f"the column {quote(twice)} is given two roles: each needs one of its own"
        raise InputError(roles_of, about=(("column", twice),))
    known = {"arm": arms, "context": contexts}
    where, path, by_lines = "the log", Path(), False

    def place(row: int) -> Place:
        return where, ("row", line_of(path, row)) if by_lines else ("index", row)

    try:
        if isinstance(source, str | os.PathLike):
            path = checked_path(source)
            where, by_lines = shown(path), path.suffix.lower() != ".parquet"
            chunks = file_chunks(path, names, progress)
        else:
            chunks = frame_chunks(source, names)
        return _collected(chunks, roles, tuple(numbers), known, place)
    except Error as error:
        raise _placed(error, place) or error.at(where) from None


def _collected(
    chunks: Iterable[Sequence[Any]],
    roles: Mapping[str, str],
    numbers: tuple[str, ...],
    known: Mapping[str, Sequence[str] | None],
    place: Callable[[int], Place],
) -> Log:
    """Turn chunks of columns into numbers."""
    labels = {role: _Labels(role) for role in roles if role != "reward"}
    reals = {name: _Reals(name, np.float64) for name in ("reward", *numbers)}
    readers = [labels.get(role) or reals[role] for role in roles] + [reals[n] for n in numbers]
    for chunk in chunks:
        for reader, values in zip(readers, chunk, strict=True):
            reader.add(values)
    rewards = reals["reward"].all()
    if not len(rewards):
        raise InputError("there are no rows: expected one per reward")
    arms, arm = labels["arm"].sorted(known["arm"])
    pair = arm
    contexts: tuple[str, ...] = ()
    if "context" in labels:
        contexts, context = labels["context"].sorted(known["context"])
        pair = context * np.int32(len(arms)) + arm
    for kind, names in (("arm", arms), ("context", contexts)):
        for name in names:
            checked_name((kind, name), name)
    return Log(
        list(labels["unit"].codes),
        arms,
        contexts,
        labels["unit"].all(),
        pair,
        rewards,
        {name: reals[name].all() for name in numbers},
        place,
    )


class _Column:
    """A column, collected chunk by chunk."""

    def __init__(self, role: str, dtype: type) -> None:
        self.role = role
        self._parts: list[NDArray[Any]] = [np.zeros(0, dtype)]
        self._rows = 0

    def _append(self, values: NDArray[Any]) -> None:
        self._parts.append(values)
        self._rows += len(values)

    def _wrong(self, words: str, row: int) -> InputError:
        """Return an error about a row of the present chunk."""
        return InputError(f"the {self.role} {words}", place=(("index", self._rows + row),))

    def all(self) -> NDArray[Any]:
        """Return the values of all rows."""
        self._parts = [np.concatenate(self._parts)]
        return self._parts[0]


class _Labels(_Column):
    """A column of names, as numbers in order of appearance."""

    def __init__(self, role: str) -> None:
        super().__init__(role, np.int32)
        self.codes: dict[Any, int] = defaultdict(lambda: len(self.codes))

    def add(self, values: Any) -> None:
        if isinstance(values, np.ndarray) and values.dtype.kind != "O":
            distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
            names = [self._name(value) for value in distinct.tolist()]
            if None in names:
                raise self._wrong("is missing", int(first[names.index(None)]))
            codes = np.empty(len(distinct), np.int32)
            for index in np.argsort(first):
                codes[index] = self.codes[names[index]]
            self._append(codes[inverse])
        else:
            if isinstance(values, np.ndarray):
                values = list(map(self._name, values.tolist()))
            for missing in ("", None):
                if missing in self.codes or missing in values:
                    row = next(i for i, name in enumerate(values) if name == missing)
                    raise self._wrong("is missing", row)
            self._append(np.fromiter(map(self.codes.__getitem__, values), np.int32, len(values)))

    @staticmethod
    def _name(value: Any) -> str | None:
        """Return what stands for a value; None where there is none."""
        if isinstance(value, str):
            return value.strip() or None
        if value is None or value != value or type(value).__name__ in ("NAType", "NaTType"):
            return None
        if isinstance(value, float):
            return number_text(value)
        return str(value)

    def sorted(self, known: Sequence[str] | None) -> tuple[tuple[str, ...], Codes]:
        """Return names in order, and the numbers of all rows in that order.

        The order is that of the names that are known, if they are, and another is refused.
        """
        order = sorted(self.codes, key=_as_numbers) if known is None else known
        index_of = {name: index for index, name in enumerate(order)}
        indices = np.empty(len(self.codes), np.int32)
        for name, number in self.codes.items():
            if name not in index_of:
                row = int((self.all() == number).argmax())
                raise unknown(self.role, name, order).at(("index", row))
            indices[number] = index_of[name]
        return tuple(order), indices[self.all()]


_MOST_DIGITS = 1_000
"""Digits of a number that is sorted by its size: Python reads 4,300 at the most."""


def _as_numbers(name: str) -> list[Any]:
    """Return the key to sort by: numbers by size, also those within a text, before texts.

    >>> sorted(["12 EUR", "9 EUR", "a10", "a9", "-1", "2.5"], key=_as_numbers)
    ['-1', '2.5', '9 EUR', '12 EUR', 'a9', 'a10']
    """
    with suppress(ValueError):
        if math.isfinite(float(name)):
            return [(0, float(name), "")]
    parts = re.split(r"(\d+)", name)
    return [
        (0, int(part), "") if part.isdecimal() and len(part) < _MOST_DIGITS else (1, 0, part)
        for part in parts
        if part
    ]


class _Reals(_Column):
    """A column of numbers."""

    def add(self, values: Any) -> None:
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
            reals = values.astype(np.float64)
        else:
            values = values.tolist() if isinstance(values, np.ndarray) else values
            reals = self._converted(values)
        finite = np.isfinite(reals)
        if not finite.all():
            row = int((~finite).argmax())
            given = values[row]
            nothing = given is None or given != given
            words = "is missing" if nothing else f"is {quote(given)}: expected a finite number"
            raise self._wrong(words, row)
        self._append(reals)

    def _converted(self, values: Sequence[Any]) -> Floats:
        """Return texts or objects as numbers, or say which is none."""
        with suppress(TypeError, ValueError):
            reals = np.fromiter(map(float, values), np.float64, len(values))
            # 1_000 is a number to Python alone.
            if not any(isinstance(value, str) and "_" in value for value in values):
                return reals
        for row, value in enumerate(values):
            try:
                float("" if isinstance(value, str) and "_" in value else value)
            except (TypeError, ValueError):
                empty = value is None or (isinstance(value, str) and not value.strip())
                missing = empty or type(value).__name__ == "NAType"
                what = "is missing" if missing else f"is {quote(value)}"
                raise self._wrong(f"{what}: expected a number", row) from None
        raise AssertionError("some value is no number")
