"""What the caller gives, checked once: numbers, names, ranges and tables of numbers.

Everything that reaches the rest of the package has passed here, so nothing else checks it again.
Compiled code trusts it to the last dimension: so a table comes out as a plain array of floats, and
a name as a plain text, whatever subclass it was.
"""

from __future__ import annotations

import math
import os
import unicodedata
from collections.abc import Collection, Iterable, KeysView, Sequence, Set
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.arrays import TOLERANCE, Floats
from fpbandits.errors import InputError, counted, quote, unknown

Numbers = Sequence[Any] | np.ndarray[Any, Any]
"""Nested sequences of numbers, or an array: every number is checked."""

Range = tuple[float, float]
"""The lowest and the highest reward, in the user's units."""

_LONGEST_NAME = 1_000
_MOST_DIGITS = 1_000


def is_list(value: object) -> bool:
    """Tell whether a value is a list or an array: in order, of some length, and not a text."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    unfit = str | bytes | bytearray | memoryview
    return isinstance(value, Sequence) and not isinstance(value, unfit)


def plain_list(value: Numbers) -> Numbers:
    """Return a list as a plain list, an array as a plain array: subclasses have ways of their own.

    A row of a matrix is a matrix again, and a masked array hides some of its values.
    """
    if not isinstance(value, np.ndarray):
        return list(value)
    if isinstance(value, np.ma.MaskedArray):
        raise InputError("a masked array may lack values: fill it, or leave them out")
    return np.asarray(value)


def plain_text(text: str) -> str:
    """Return a text without its subclass, which may show, compare and hash as it likes.

    >>> plain_text(np.str_("loyal"))
    'loyal'
    """
    return str.__str__(text)


def is_real(value: object) -> bool:
    """Tell whether a value is a real number; a truth value or a span of time is none."""
    return isinstance(value, Real) and not isinstance(value, bool | np.timedelta64)


def flag(what: str, value: object) -> bool:
    """Return a truth value as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{what} must be True or False, not {quote(value)}")
    return bool(value)


def checked_path(given: object) -> Path:
    """Return a path, or say that it is none."""
    path = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(path, str):
        raise InputError(f"expected the path of a file or folder, not {quote(given)}")
    return Path(plain_text(path))


def whole_number(
    what: str, value: object, *, least: int = 0, most: int | None = None, why: str = ""
) -> int:
    """Return ``value`` as an int, or say why it is not a whole number between two limits.

    >>> whole_number("horizon", 1e6, least=1)
    1000000
    """
    if not is_real(value):
        raise InputError(f"{what} must be a whole number, not {quote(value)}")
    real: Any = value
    try:
        integer = int(real)
        whole = bool(integer == real)
    except (OverflowError, ValueError):  # it is infinite, or not a number
        whole = False
    if not whole:
        raise InputError(f"{what} is {quote(value)}: it must be a whole number")
    if integer < least:
        raise InputError(f"{what} is {quote(value)}: it must be at least {least}")
    # More cannot even be written down, as results and agents must be.
    if integer >= 10**_MOST_DIGITS:
        raise InputError(f"{what} is {quote(value)}: it must have at most {_MOST_DIGITS:,} digits")
    if most is not None and integer > most:
        reason = f", {why}" if why else ""
        raise InputError(f"{what} is {quote(value)}: it must be at most {most:,}{reason}")
    return integer


def number(value: object, place: str, *, row: int | None = None) -> float:
    """Return a finite float, or say what stands in its place."""
    if isinstance(value, bool | np.bool_):
        raise InputError(f"{place}: expected a number, not the boolean {value}", row=row)
    if not is_real(value):
        kind = "the text " if isinstance(value, str) else ""
        raise InputError(f"{place}: expected a number, not {kind}{quote(value)}", row=row)
    given: Any = value
    try:
        real = float(given)
    except OverflowError:
        real = math.inf
    if not math.isfinite(real):
        raise InputError(f"{place}: {quote(value)} is not a finite number", row=row)
    return real


def checked_name(owner: str, name: object, *, row: int | None = None) -> str:
    """Return a name that can be shown anywhere, or say what is wrong with it."""
    if not isinstance(name, str):
        raise InputError(f"{owner}: its name must be a text, not {quote(name)}", row=row)
    name = plain_text(name)
    if not name.strip():
        raise InputError(f"{owner}: its name is empty", row=row)
    if len(name) > _LONGEST_NAME:
        raise InputError(f"{owner}: its name has {len(name):,} of {_LONGEST_NAME} letters", row=row)
    # Unprintable need not be harmful: emoji are joined by format characters.
    if not name.isprintable() and any(
        unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in name
    ):
        raise InputError(f"{owner}: its name {quote(name)} has a control character", row=row)
    if name != name.strip():
        raise InputError(f"{owner}: its name {quote(name)} has spaces around it", row=row)
    return name


def known_name(kind: str, name: object, known: Collection[str]) -> str:
    """Return the name of something that is known, or say that nothing has it."""
    if not isinstance(name, str):
        article = "an" if kind[0] in "aeiou" else "a"
        raise InputError(f"{article} {kind} is named by a text, not {quote(name)}")
    name = plain_text(name)
    if name not in known:
        raise unknown(kind, name, known)
    return name


def checked_range(given: object) -> Range:
    """Return the lowest and the highest reward, if they can be mapped to 0 and 1."""
    ends: Any = given
    if not is_list(ends) or len(ends) != 2:
        raise InputError(f"range must be [lowest, highest], not {quote(given)}")
    low, high = (number(value, "range") for value in plain_list(ends))
    if not low < high:
        raise InputError(f"range {range_text((low, high))}: the lowest must be below the highest")
    width, size = high - low, max(-low, high)
    # Regret is a multiple of the width, and must stay a number too.
    if size > 1e100 or width < 1e-100 or math.ulp(size) > TOLERANCE * width:
        raise InputError(
            f"range {range_text((low, high))}: floating point cannot map it to [0, 1] with "
            "twelve digits; shift or scale the rewards"
        )
    return low, high


@dataclass(frozen=True)
class Names:
    """The checked names of a problem, and the words for a place in its table."""

    name: str
    arms: tuple[str, ...]
    parameters: tuple[str, ...]
    true: str | None

    @classmethod
    def of(
        cls,
        rows: Numbers,
        arms: Sequence[str] | None,
        parameters: Sequence[str] | None,
        true: str | None,
        name: str,
    ) -> Names:
        """Check all names; where there are none, number the rows and what stands in the first."""
        if len(rows) == 0:
            raise InputError("there are no parameters: Θ must hold at least one")
        if parameters is None:
            parameters = [f"theta{i}" for i in range(1, len(rows) + 1)]
        parameter_names = _checked_names("parameter", parameters)
        if len(parameter_names) != len(rows):
            raise InputError(
                f"there are {len(parameter_names)} parameter names for {len(rows)} rows"
            )
        if arms is None:
            first = rows[0]
            if not is_list(first):
                raise InputError(
                    f"parameter {quote(parameter_names[0])}: expected a value for every arm, "
                    f"not {quote(first)}",
                    row=0,
                )
            arms = [f"arm{i}" for i in range(1, len(first) + 1)]
        arm_names = _checked_names("arm", arms)
        if not arm_names:
            raise InputError("there are no arms: a problem needs at least one")
        if true is not None:
            if not isinstance(true, str):
                raise InputError(f"true must be a parameter's name, not {quote(true)}")
            true = plain_text(true)
            if true not in parameter_names:
                raise unknown("true parameter", true, parameter_names)
        return cls(checked_name("the problem", name), arm_names, parameter_names, true)

    def place(self, row: int, column: int) -> str:
        """Return the words for a place in the table."""
        return f"parameter {quote(self.parameters[row])}, arm {quote(self.arms[column])}"

    def check_count(self, row: int, values: object) -> Numbers:
        """Return one parameter's values if there is one for each arm."""
        whose, arms = f"parameter {quote(self.parameters[row])}", counted(len(self.arms), "arm")
        given: Any = values
        if not is_list(given):
            wanted = f"expected a list with a value for each of the {arms}"
            raise InputError(f"{whose}: {wanted}, not {quote(given)}", row=row)
        try:
            given = plain_list(given)
        except InputError as error:
            raise InputError(f"{whose}: {error}", row=row) from None
        if len(given) < len(self.arms):
            missing = f"no value for arm {quote(self.arms[len(given)])}"
            raise InputError(
                f"{whose} has {len(given)} of {len(self.arms)} values: {missing}", row=row
            )
        if len(given) > len(self.arms):
            last = f"nothing follows arm {quote(self.arms[-1])}"
            raise InputError(f"{whose} has {len(given)} values for {arms}: {last}", row=row)
        figures: Numbers = given
        return figures


def checked_rows(given: object) -> Numbers:
    """Return the rows of a table, as yet unchecked, as a plain list or array."""
    rows: Any = given
    if not is_list(rows):
        raise InputError(f"the rows of parameters must be a list or an array, not {quote(rows)}")
    return plain_list(rows)


def _checked_names(kind: str, names: object) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    given: Any = names
    # Whatever has an order will do, such as a dictionary, its keys or a generator; the names of a
    # set would land on any column.
    unordered = isinstance(names, Set) and not isinstance(names, KeysView)
    lone = isinstance(names, str) or (isinstance(names, np.ndarray) and not names.ndim)
    if not isinstance(names, Iterable) or lone or unordered:
        raise InputError(f"{kind} names must be a list of texts, not {quote(names)}")
    for place, name in enumerate(given):
        row = place if kind == "parameter" else None
        checked = checked_name(f"{kind} {place + 1}", name, row=row)
        if checked in seen:
            raise InputError(
                f"duplicate {kind} name {quote(name)}: {kind}s {seen[checked] + 1} and "
                f"{place + 1} must differ",
                row=row,
            )
        seen[checked] = place
    return tuple(seen)


def checked_means(given: Numbers, names: Names, limits: Range) -> Floats:
    """Return the checked matrix of means, read-only."""
    low, high = limits
    given = plain_list(given)
    if isinstance(given, np.ndarray):
        matrix = from_array(given, names, 2)
    else:
        matrix = np.empty((len(names.parameters), len(names.arms)))
        for row, figures in enumerate(given):
            values = names.check_count(row, figures)
            if set(map(type, values)) == {float}:
                matrix[row] = values
            else:
                matrix[row] = [
                    number(value, names.place(row, column), row=row)
                    for column, value in enumerate(values)
                ]
    # Not a number fails both comparisons, so this finds it too.
    for row, column in np.argwhere(~((matrix >= low) & (matrix <= high)))[:1]:
        place, mean = names.place(row, column), float(matrix[row, column])
        number(mean, place, row=int(row))
        raise InputError(
            f"{place}: mean {number_text(mean)} is outside the range {range_text(limits)}",
            row=int(row),
        )
    matrix.setflags(write=False)
    return matrix


def from_array(given: np.ndarray[Any, Any], names: Names, dimensions: int) -> Floats:
    """Return an array of one value per parameter and arm as floats of its own."""
    if given.dtype.kind not in "fiu":
        raise InputError(f"expected an array of numbers, not of type {given.dtype}")
    if given.ndim != dimensions:
        raise InputError(f"expected an array of {dimensions} dimensions, not {given.ndim}")
    names.check_count(0, given[0])
    with np.errstate(over="ignore"):  # what is too large for a float is found to be infinite
        return np.array(given, dtype=np.float64, order="C", subok=False)


def number_text(value: float) -> str:
    """Return a number as it stands in a message: twelve digits, or all where they matter."""
    return f"{value:.12g}" if float(f"{value:.12g}") == value else repr(float(value))


def range_text(limits: Range) -> str:
    """Return a range as it stands in a message."""
    return f"[{number_text(limits[0])}, {number_text(limits[1])}]"
