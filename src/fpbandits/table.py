"""The table of a problem, checked once: a row per parameter, a column per arm, and their names.

With contexts a column is a *pair* of a context and an arm: all arms in the first context, then all
in the second, and so on.

Compiled code trusts it to the last dimension, so it comes out as a plain array of floats.
"""

from __future__ import annotations

from collections.abc import Iterable, KeysView, Mapping, Sequence, Set
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
    contexts: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        rows: Numbers,
        arms: Sequence[str] | None,
        parameters: Sequence[str] | None,
        true: str | None,
        name: str,
        contexts: Sequence[str] | None = None,
    ) -> Names:
        """Check all names; where there are none, number the rows and what stands in the first."""
        context_names = () if contexts is None else _checked_names("context", contexts)
        if contexts is not None and not context_names:
            raise InputError("there are no contexts: name at least one, or leave the field out")
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
            if contexts is not None:
                first = _in_contexts(first, context_names, parameter_names[0], 0)[0]
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
        return cls(
            checked_name("the problem", name), arm_names, parameter_names, true, context_names
        )

    @property
    def columns(self) -> int:
        """How many values a parameter has: one for each arm, in every context."""
        return len(self.arms) * max(1, len(self.contexts))

    def place(self, row: int, column: int) -> str:
        """Return the words for a place in the table."""
        context, arm = divmod(int(column), len(self.arms))
        within = f"context {quote(self.contexts[context])}, " if self.contexts else ""
        return f"parameter {quote(self.parameters[row])}, {within}arm {quote(self.arms[arm])}"

    def flat(self, rows: Numbers) -> Numbers:
        """Return rows of one value per column from rows of one list per context."""
        if not self.contexts:
            return rows
        shape = len(self.parameters), len(self.contexts), len(self.arms)
        if isinstance(rows, np.ndarray) and rows.shape[:3] == shape:
            return rows.reshape(shape[0], self.columns, *rows.shape[3:])
        flat: list[Any] = []
        for row, by_context in enumerate(rows):
            lists = _in_contexts(by_context, self.contexts, self.parameters[row], row)
            values: list[Any] = []
            for context, given in zip(self.contexts, lists, strict=True):
                whose = f"parameter {quote(self.parameters[row])}, context {quote(context)}"
                values.extend(self._one_for_each_arm(whose, given, row))
            flat.append(values)
        return flat

    def check_count(self, row: int, values: object) -> Numbers:
        """Return one parameter's values if there is one for each column."""
        if self.contexts and len(values) == self.columns:  # type: ignore[arg-type]  # made by flat
            return values  # type: ignore[return-value]
        whose = f"parameter {quote(self.parameters[row])}"
        figures: Numbers = self._one_for_each_arm(whose, values, row)
        return figures

    def _one_for_each_arm(self, whose: str, values: object, row: int) -> Any:
        arms = counted(len(self.arms), "arm")
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
        return given


def _in_contexts(given: object, contexts: tuple[str, ...], parameter: str, row: int) -> list[Any]:
    """Return what a parameter says of each context, in their order."""
    whose = f"parameter {quote(parameter)}"
    if isinstance(given, Mapping):
        for name in given:
            if name not in contexts:
                raise unknown("context", str(name), contexts).at(whose)
        for name in contexts:
            if name not in given:
                raise InputError(f"{whose}: nothing is said of context {quote(name)}", row=row)
        return [given[name] for name in contexts]
    lists: Any = given
    if not is_list(lists):
        raise InputError(
            f"{whose}: expected a list of values for each of the "
            f"{counted(len(contexts), 'context')}, not {quote(given)}",
            row=row,
        )
    lists = plain_list(lists)
    if len(lists) != len(contexts):
        raise InputError(
            f"{whose}: {_there_are(len(lists), 'list')} of values for "
            f"{counted(len(contexts), 'context')}",
            row=row,
        )
    return list(lists)


def _there_are(count: int, what: str) -> str:
    return f"there {'is' if count == 1 else 'are'} {counted(count, what)}"


def checked_shares(given: object, contexts: tuple[str, ...]) -> tuple[float, ...]:
    """Return how often each context comes: as often as any other, if nothing is said."""
    if given is None:
        return tuple(1 / len(contexts) for _ in contexts)
    if not contexts:
        raise InputError("shares say how often each context comes, and there are no contexts")
    shares: Any = given
    if not is_list(shares):
        raise InputError(f"shares must be a list with a number per context, not {quote(given)}")
    if len(shares) != len(contexts):
        raise InputError(
            f"{_there_are(len(shares), 'share')} for {counted(len(contexts), 'context')}"
        )
    numbers = [
        number(share, f"share of {quote(context)}")
        for share, context in zip(plain_list(shares), contexts, strict=True)
    ]
    for share, context in zip(numbers, contexts, strict=True):
        if not share > 0:
            raise InputError(
                f"the share of context {quote(context)} is {number_text(share)}: it must be above 0"
            )
    if abs(sum(numbers) - 1) > 1e-9:
        raise InputError(f"the shares of contexts add up to {sum(numbers):.12g}, not 1")
    return tuple(numbers)


def checked_prior(given: object, parameters: tuple[str, ...]) -> tuple[float, ...] | None:
    """Return how likely each parameter is, by weights for some of them; the others weigh 1."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise InputError(f"prior gives weights by name, as {{'theta1': 3}}, not {quote(given)}")
    weights = dict.fromkeys(parameters, 1.0)
    for name, weight in given.items():
        if name not in weights:
            raise unknown("parameter", name, parameters).at("prior")
        weights[plain_text(name)] = number(weight, f"prior of {quote(name)}")
        if not weights[name] >= 0:
            raise InputError(f"prior of {quote(name)} is {quote(weight)}: it must be 0 or more")
    shares = np.array(list(weights.values()))
    if not shares.any():
        raise InputError("the prior leaves no parameter possible")
    # What are shares already stay as they are, so that a saved problem comes back bit for bit.
    if max(shares) > 1 or abs(shares.sum() - 1) > 1e-12:
        # By a power of two, which rounds nothing: the sum of large weights must not overflow.
        shares = np.ldexp(shares, -np.frexp(shares.max())[1])
        shares /= shares.sum()
    return tuple(shares.tolist())


def products(weights: Numbers, features: Numbers) -> Floats:
    """Return the product of each row of weights with the features of each arm, in each context."""
    vectors = []
    for what, given, dimensions in (("weights", weights, (2,)), ("features", features, (2, 3))):
        table = np.array([]) if not is_list(given) else _numbers(given, what)
        if table.ndim not in dimensions or not table.size:
            shape = "a list of numbers per arm" if what == "features" else "one per parameter"
            raise InputError(f"{what} must be {shape}, not {quote(given)}")
        vectors.append(table)
    if vectors[0].shape[-1] != vectors[1].shape[-1]:
        raise InputError(
            f"{vectors[0].shape[-1]} weights per parameter for {vectors[1].shape[-1]} features "
            "per arm: they must be as many"
        )
    means: Floats = np.tensordot(vectors[0], vectors[1], axes=(-1, -1))
    return means


def _numbers(given: Any, what: str) -> Floats:
    try:
        table = np.array(plain_list(given))
    except ValueError:  # lists of different lengths
        raise InputError(f"{what} must be equally many numbers in each row") from None
    if table.dtype.kind not in "fiu" or not np.isfinite(table).all():
        raise InputError(f"{what} must be numbers, not {quote(given)}")
    return table.astype(np.float64)


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
        matrix = np.empty((len(names.parameters), names.columns))
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
