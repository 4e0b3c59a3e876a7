"""Validation of a problem's table of means: a row per model, a column per arm.

Compiled code does not check it again, so the result is a plain array of floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.checks import (
    Numbers,
    Range,
    is_list,
    number,
    number_text,
    plain_list,
    range_text,
)
from fpbandits.core.names import Names
from fpbandits.errors import InputError, quote, wrong_type


def checked_rows(given: object) -> Numbers:
    """Return the rows of a table as a plain list or array; their values are not checked yet."""
    if not is_list(given):
        raise wrong_type("the rows of models", given, "a list or an array")
    return plain_list(given)


def checked_means(given: Numbers, names: Names, limits: Range) -> Floats:
    """Return the checked matrix of means."""
    low, high = limits
    given = plain_list(given)
    if isinstance(given, np.ndarray):
        matrix = from_array(given, names, 2)
    else:
        matrix = np.empty((len(names.models), names.columns))
        for row, given_row in enumerate(given):
            values = names.check_count(row, given_row)
            if set(map(type, values)) == {float}:
                matrix[row] = values
            else:
                matrix[row] = [
                    number(value, *names.place(row, column)) for column, value in enumerate(values)
                ]
    # NaN fails both comparisons, so this finds it too; `number` then raises its own error.
    for row, column in np.argwhere(~((matrix >= low) & (matrix <= high))):
        place, mean = names.place(row, column), float(matrix[row, column])
        number(mean, *place)
        raise InputError(
            f"mean {number_text(mean)} is outside the range {range_text(limits)}"
            f"{other_units(limits)}"
        ).at(*place)
    return matrix


def other_units(limits: Range) -> str:
    """Return a hint to give a range, if the limits are the default ones."""
    return ": for rewards in other units give a range, as 0, 15" if limits == (0.0, 1.0) else ""


def from_array(given: np.ndarray[Any, Any], names: Names, dimensions: int) -> Floats:
    """Return a copy of an array as floats, or raise an error if its shape or type is wrong."""
    if given.dtype.kind not in "fiu":
        raise InputError(f"expected an array of numbers, not of type {given.dtype}")
    if given.ndim != dimensions:
        hint = ": name the contexts, as contexts=['mobile', 'desktop']"
        raise InputError(
            f"expected an array of {dimensions} dimensions, not {given.ndim}"
            + (hint if given.ndim == dimensions + 1 and not names.contexts else "")
        )
    names.check_count(0, given[0])
    with np.errstate(over="ignore"):  # too large becomes infinite, and is refused as such
        return np.array(given, dtype=np.float64, order="C")


def checked_lists(given: Numbers, names: Names, count: int, what: str, of: str) -> Floats:
    """Return ``count`` numbers for every model and arm, as an array [model, column, number].

    Messages call the numbers ``what`` and say ``of`` for what they are needed.
    """
    if isinstance(given, np.ndarray):
        table = from_array(given, names, 3)
        if table.shape[2] != count:
            raise InputError(f"{table.shape[2]} {what} per arm for {of}")
        return table
    table = np.empty((len(names.models), names.columns, count))
    for row, by_arm in enumerate(given):
        for column, cell in enumerate(names.check_count(row, by_arm)):
            place = names.place(row, column)
            if not is_list(cell):
                raise InputError(
                    f"expected a list of {count} {what}, not {quote(cell)}", place=place
                )
            if len(cell) != count:
                raise InputError(f"{len(cell)} {what} for {of}", place=place)
            table[row, column] = [number(value, *place) for value in plain_list(cell)]
    return table
