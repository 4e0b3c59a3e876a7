"""The table of a problem, checked once: a row per parameter, a column per arm, and their names.

Compiled code trusts it to the last dimension, so it comes out as a plain array of floats.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from fpbandits.arrays import Floats
from fpbandits.checks import (
    Numbers,
    Range,
    checked_name,
    is_list,
    number,
    number_text,
    plain_list,
    plain_text,
    range_text,
)
from fpbandits.errors import InputError, counted, quote, unknown


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
            f"{place}: mean {number_text(mean)} is outside the range {range_text(limits)}"
            f"{other_units(limits)}",
            row=int(row),
        )
    matrix.setflags(write=False)
    return matrix


def other_units(limits: Range) -> str:
    """Say how to have a range of one's own, to someone who has none."""
    return ": for rewards in other units give a range, as 0, 15" if limits == (0.0, 1.0) else ""


def from_array(given: np.ndarray[Any, Any], names: Names, dimensions: int) -> Floats:
    """Return an array of one value per parameter and arm as floats of its own."""
    if given.dtype.kind not in "fiu":
        raise InputError(f"expected an array of numbers, not of type {given.dtype}")
    if given.ndim != dimensions:
        raise InputError(f"expected an array of {dimensions} dimensions, not {given.ndim}")
    names.check_count(0, given[0])
    with np.errstate(over="ignore"):  # what is too large for a float is found to be infinite
        return np.array(given, dtype=np.float64, order="C", subok=False)
