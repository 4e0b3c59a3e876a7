"""The columns of a log, read chunk by chunk: names as codes, numbers, times.

A missing value is kept as such, code −1 or NaN, so that all of them can be counted. A value that is
wrong in another way is an error at its row.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fpbandits.core.arrays import Bools, Floats
from fpbandits.core.checks import number_text
from fpbandits.errors import InputError, quote, unknown, wrong_type
from fpbandits.families.estimator import Codes

_NO_NUMBER = {"", "na", "n/a", "nan", "null", "none"}
"""How tables write that a number is missing, in lower case."""

_NO_NAME = {"": -1, None: -1}
"""The code of a missing name."""

_TRUTHS = {"true": 1.0, "false": 0.0}
"""The numbers that true and false stand for, in lower case."""


class Column:
    """A column, collected chunk by chunk."""

    def __init__(self, role: str, dtype: type) -> None:
        self.role = role
        self._parts: list[NDArray[Any]] = [np.zeros(0, dtype)]
        self._rows = 0

    def _append(self, values: NDArray[Any]) -> None:
        self._parts.append(values)
        self._rows += len(values)

    def _error(self, words: str, row: int) -> InputError:
        """Return an error about a row of the present chunk."""
        return InputError(f"the {self.role} {words}", place=(("index", self._rows + row),))

    def all(self) -> NDArray[Any]:
        """Return the values of all rows."""
        self._parts = [np.concatenate(self._parts)]
        return self._parts[0]

    def missing(self) -> Bools:
        """Tell in which rows there is no value."""
        values = self.all()
        missing: Bools = values < 0 if values.dtype == np.int32 else np.isnan(values)
        return missing


class Labels(Column):
    """A column of names, as codes in order of appearance."""

    def __init__(self, role: str) -> None:
        super().__init__(role, np.int32)
        self._codes: dict[Any, int] = defaultdict(lambda: len(self._codes) - len(_NO_NAME))
        self._codes |= _NO_NAME

    def add(self, values: Any) -> None:
        """Take in the next rows."""
        if isinstance(values, np.ndarray) and values.dtype.kind != "O":
            distinct, first, inverse = np.unique(values, return_index=True, return_inverse=True)
            codes = np.empty(len(distinct), np.int32)
            for index in np.argsort(first):
                codes[index] = self._codes[self._named(distinct[index].item(), int(first[index]))]
            self._append(codes[inverse])
            return
        if isinstance(values, np.ndarray):
            values = [self._named(value, row) for row, value in enumerate(values.tolist())]
        self._append(np.fromiter(map(self._codes.__getitem__, values), np.int32, len(values)))

    def _named(self, value: Any, row: int) -> str | None:
        """Return the name in a row of the present chunk."""
        try:
            return _name(value)
        except InputError as error:
            raise error.at(("index", self._rows + row), self.role) from None

    def kept(self, rows: Bools) -> tuple[list[Any], Codes]:
        """Return the names in these rows, in order of appearance, and the code of each row.

        A missing name is None, and comes first.
        """
        present, codes = np.unique(self.all()[rows], return_inverse=True)
        names = [*list(self._codes)[len(_NO_NAME) :], None]  # its code, −1, is the last index
        return [names[code] for code in present], codes.astype(np.int32)

    def sorted(self, known: Sequence[str] | None, rows: Bools) -> tuple[tuple[str, ...], Codes]:
        """Return names in order, and the code of each of these rows in that order.

        The order is that of the known names, if there are any, and another name is refused.
        """
        names, codes = self.kept(rows)
        order = sorted(names, key=_by_number) if known is None else known
        index_of = {name: index for index, name in enumerate(order)}
        for code, name in enumerate(names):
            if name not in index_of:
                row = int(np.flatnonzero(rows)[(codes == code).argmax()])
                raise unknown(self.role, name, order).at(("index", row))
        indices = np.array([index_of[name] for name in names], np.int32)
        return tuple(order), indices[codes]


_LEAST_INEXACT = 2**53
"""From here on, different whole numbers may be the same float."""


def _name(value: Any) -> str | None:
    """Return the name that a value stands for; None where there is none."""
    if isinstance(value, str):
        return value.strip() or None
    if _absent(value):
        return None
    if not isinstance(value, float):
        return str(value)
    if not value.is_integer():
        return number_text(value)
    if abs(value) >= _LEAST_INEXACT:
        words = f"{value!r} is a float that may have lost digits"
        raise InputError(f"{words}: read the column as text or as integers")
    return str(int(value))


def _absent(value: Any) -> bool:
    """Tell whether a value of a data frame means that there is none."""
    # That NA differs from itself is neither true nor false, so its type is asked for first.
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def given_names(what: str, given: Any) -> list[str] | None:
    """Return a user's list of names, written as a column's values are; None if there is none."""
    if given is None:
        return None
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise wrong_type(what, given, "a list of names")
    return [_name(value) or "" for value in given]


_MOST_DIGITS = 1_000
"""Longer numbers are sorted as texts: Python reads 4,300 digits at the most."""


def _by_number(name: str) -> list[Any]:
    """Return the key to sort by: numbers by size, also those within a text, before texts.

    It has a number and a text for each part; the number of a text is infinite.

    >>> sorted(["12 EUR", "9 EUR", "a10", "a9", "-1", "2.5"], key=_by_number)
    ['-1', '2.5', '9 EUR', '12 EUR', 'a9', 'a10']
    """
    with suppress(ValueError):
        if math.isfinite(float(name)):
            return [(float(name), "")]
    return [
        (int(part), "") if part.isdecimal() and len(part) < _MOST_DIGITS else (math.inf, part)
        for part in re.split(r"(\d+)", name)
        if part
    ]


class Reals(Column):
    """A column of numbers; True and False are 1 and 0."""

    wanted = "a number"

    def __init__(self, role: str) -> None:
        super().__init__(role, np.float64)

    def add(self, values: Any) -> None:
        """Take in the next rows."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
            reals = values.astype(np.float64)
        else:
            reals = self._convert(values)
        infinite = np.isinf(reals)
        if infinite.any():
            row = int(infinite.argmax())
            raise self._error(f"is {quote(values[row])}: expected a finite number", row)
        self._append(reals)

    def _convert(self, values: Any) -> Floats:
        """Return texts or objects as numbers; refuse what is no number."""
        values = values.tolist() if isinstance(values, np.ndarray) else values
        with suppress(TypeError, ValueError):
            reals = np.fromiter(map(float, values), np.float64, len(values))
            # 1_000 is a number in Python, but nowhere else.
            if not any("_" in value for value in values if isinstance(value, str)):
                return reals
        return np.array([self._number(value, row) for row, value in enumerate(values)])

    def _number(self, value: Any, row: int) -> float:
        """Return a text or an object as a number, NaN if it is missing."""
        text = value.strip().lower() if isinstance(value, str) else ""
        if _absent(value) or (isinstance(value, str) and text in _NO_NUMBER):
            return math.nan
        if text in _TRUTHS:
            return _TRUTHS[text]
        with suppress(TypeError, ValueError):
            return float("" if "_" in text else value)
        raise self._error(f"is {quote(value)}: expected {self.wanted}", row)


class Flags(Column):
    """A column of true and false; any other value counts as missing."""

    def __init__(self, role: str) -> None:
        super().__init__(role, np.float64)

    def add(self, values: Any) -> None:
        """Take in the next rows."""
        texts = (str(value).strip().lower() for value in values)
        self._append(np.array([_TRUTHS.get(text, math.nan) for text in texts]))


class Times(Reals):
    """A column of times: numbers, or dates as 2026-11-18 or 2026-11-18T09:30:00+01:00."""

    wanted = "a number or a date as 2026-11-18T09:30:00, the same in all rows"

    def __init__(self, role: str) -> None:
        super().__init__(role)
        self._has_dates: bool | None = None  # not known before the first value

    def add(self, values: Any) -> None:
        """Take in the next rows."""
        if isinstance(values, np.ndarray) and values.dtype.kind == "M":
            values = np.where(np.isnat(values), np.nan, values.astype("M8[us]").astype(np.float64))
        super().add(values)

    def _number(self, value: Any, row: int) -> float:
        """Return a number or a date as a number, NaN if it is missing: for a date, seconds."""
        time, is_date = math.nan, False
        try:
            time = super()._number(value, row)
        except InputError:
            is_date = True
            with suppress(TypeError, ValueError):
                at = value if isinstance(value, date) else datetime.fromisoformat(value.strip())
                if not isinstance(at, datetime):
                    at = datetime.fromordinal(at.toordinal())
                time = (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
            if math.isnan(time):
                raise
        if math.isnan(time):
            return time
        if self._has_dates is None:
            self._has_dates = is_date
        if self._has_dates is not is_date:
            raise self._error(f"is {quote(value)}: expected {self.wanted}", row)
        return time
