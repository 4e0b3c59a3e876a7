"""What the caller gives, checked once: numbers, names, ranges and tables of numbers.

Everything that reaches the rest of the package has passed here, so nothing else checks it again.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from fpbandits.arrays import TOLERANCE, Floats
from fpbandits.errors import InputError, counted, quote, unknown

Numbers = Sequence[Any] | np.ndarray[Any, Any]
"""Nested sequences of numbers, or an array: every number is checked."""

Range = tuple[float, float]
"""The lowest and the highest reward, in the user's units."""

_LONGEST_NAME = 1_000
_TURNING = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}


def is_list(value: object) -> bool:
    """Tell whether a value is a list or an array, and not a text."""
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


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
    integer = int(real)
    if integer < least:
        raise InputError(f"{what} is {quote(value)}: it must be at least {least}")
    if most is not None and integer > most:
        reason = f", {why}" if why else ""
        raise InputError(f"{what} is {quote(value)}: it must be at most {most:,}{reason}")
    return integer


def number(value: object, place: str, *, row: int | None = None) -> float:
    """Return a finite float, or say what stands in its place."""
    if isinstance(value, bool | np.bool_):
        raise InputError(f"{place}: expected a number, not the boolean {value}", row=row)
    if not isinstance(value, Real):
        kind = "the text " if isinstance(value, str) else ""
        raise InputError(f"{place}: expected a number, not {kind}{quote(value)}", row=row)
    try:
        real = float(value)
    except OverflowError:
        real = math.inf
    if not math.isfinite(real):
        raise InputError(f"{place}: {quote(value)} is not a finite number", row=row)
    return real


def checked_name(owner: str, name: object, *, row: int | None = None) -> str:
    """Return a name that can be shown anywhere, or say what is wrong with it."""
    if not isinstance(name, str):
        raise InputError(f"{owner}: its name must be a text, not {quote(name)}", row=row)
    if not name.strip():
        raise InputError(f"{owner}: its name is empty", row=row)
    if len(name) > _LONGEST_NAME:
        raise InputError(f"{owner}: its name has {len(name):,} of {_LONGEST_NAME} letters", row=row)
    if visible(name) != name:
        raise InputError(f"{owner}: its name {quote(name)} has a control character", row=row)
    if name != name.strip():
        raise InputError(f"{owner}: its name {quote(name)} has spaces around it", row=row)
    return name


def visible(text: str) -> str:
    r"""Return a text with what could steer a terminal, or turn writing around, spelled out.

    >>> print(visible("a\x1b[2J"))
    a\x1b[2J
    """
    return text if text.isprintable() else "".join(map(_spelled_out, text))


def _spelled_out(letter: str) -> str:
    # Unprintable need not be harmful: emoji are joined by format characters.
    steers = unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp")
    return repr(letter)[1:-1] if steers or letter in _TURNING else letter


def checked_range(given: object) -> Range:
    """Return the lowest and the highest reward, if they can be mapped to 0 and 1."""
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        raise InputError(f"range must be [lowest, highest], not {quote(given)}")
    low, high = (number(value, "range") for value in given)
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
        if not is_list(rows):
            raise InputError(
                f"the rows of parameters must be a list or an array, not {quote(rows)}"
            )
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
            if not isinstance(first, Sized) or isinstance(first, str | bytes):
                raise InputError(
                    f"parameter {quote(parameter_names[0])}: expected a value for every arm, "
                    f"not {quote(first)}",
                    row=0,
                )
            arms = [f"arm{i}" for i in range(1, len(first) + 1)]
        arm_names = _checked_names("arm", arms)
        if not arm_names:
            raise InputError("there are no arms: a problem needs at least one")
        if true is not None and true not in parameter_names:
            if not isinstance(true, str):
                raise InputError(f"true must be a parameter's name, not {quote(true)}")
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


def _checked_names(kind: str, names: Iterable[object]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    if isinstance(names, str):
        raise InputError(f"{kind} names must be a list of texts, not {quote(names)}")
    for place, name in enumerate(names):
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
    if isinstance(given, np.ndarray):
        matrix = from_array(given, names, 2)
    else:
        matrix = np.empty((len(names.parameters), len(names.arms)))
        for row, values in enumerate(given):
            names.check_count(row, values)
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
    return np.array(given, dtype=np.float64, order="C")


def number_text(value: float) -> str:
    """Return a number as it stands in a message: twelve digits, or all where they matter."""
    return f"{value:.12g}" if float(f"{value:.12g}") == value else repr(float(value))


def range_text(limits: Range) -> str:
    """Return a range as it stands in a message."""
    return f"[{number_text(limits[0])}, {number_text(limits[1])}]"
