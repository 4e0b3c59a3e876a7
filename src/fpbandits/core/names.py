"""The names of a problem, validated once, and the layout of its table.

The table has a row per model and a column per arm. With contexts a column is a *pair* of a
context and an arm: all arms in the first context, then all in the second, and so on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, KeysView, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from fpbandits.core.checks import Numbers, checked_name, is_list, plain_list, plain_text
from fpbandits.errors import InputError, Place, counted, quote, unknown, within, wrong_type


class Naming(TypedDict, total=False):
    """Arguments of every problem besides its reward distributions.

    Attributes
    ----------
    arms, models
        Names, in an ordered collection (not a set); by default arm1, arm2, … and theta1, theta2, ….
    range
        The lowest and the highest reward, in the user's units; by default 0 and 1. Gaussian rewards
        have none.
    prior
        Weights of models by name; a model that is left out has weight 1.
    truth
        The name of the model that is the truth in simulations, if one is set.
    name
        The name of the problem.
    contexts, shares
        Names of the contexts, one of which is seen before each decision, and how often each comes,
        by default equally. With contexts a row holds, for each of them, a value for every arm.
    transitions
        Probabilities by which the truth moves from play to play, a row for every model: by name, as
        {"loyal": {"loyal": 0.9, "thrifty": 0.1}, …}, or as lists. By default it stays.
    fitted_units
        Hashes of units that the models were fitted to, a sample of them, as `fit` writes them.
    """

    arms: Sequence[str] | None
    models: Sequence[str] | None
    range: Sequence[float]
    prior: Mapping[str, float] | None
    truth: str | None
    name: str
    contexts: Sequence[str] | None
    shares: Sequence[float] | None
    transitions: Mapping[str, Mapping[str, float]] | Numbers | None
    fitted_units: Sequence[str]


@dataclass(frozen=True)
class Names:
    """The validated names of a problem, and the layout of its table."""

    name: str
    arms: tuple[str, ...]
    models: tuple[str, ...]
    truth: str | None
    contexts: tuple[str, ...] = ()

    @classmethod
    def of(cls, rows: Numbers, naming: Naming) -> Names:
        """Validate all names; models and arms without names are numbered."""
        contexts, models = naming.get("contexts"), naming.get("models")
        arms, truth = naming.get("arms"), naming.get("truth")
        context_names = () if contexts is None else _checked_names("context", contexts)
        if contexts is not None and not context_names:
            raise InputError("there are no contexts: name at least one, or leave the field out")
        if len(rows) == 0:
            raise InputError("there are no models: Θ must hold at least one", about=("models",))
        if models is None:
            models = [f"theta{i}" for i in range(1, len(rows) + 1)]
        model_names = _checked_names("model", models)
        if len(model_names) != len(rows):
            raise InputError(f"there are {len(model_names)} model names for {len(rows)} rows")
        if arms is None:
            first = rows[0]
            if contexts is not None:
                first = _by_context(first, context_names, model_names[0])[0]
            if not is_list(first):
                wanted = f"expected a value for every arm, not {quote(first)}"
                raise InputError(wanted, place=(("model", model_names[0]),))
            arms = [f"arm{i}" for i in range(1, len(first) + 1)]
        arm_names = _checked_names("arm", arms)
        if not arm_names:
            raise InputError("there are no arms: a problem needs at least one", about=("arms",))
        if truth is not None:
            if not isinstance(truth, str):
                raise wrong_type("truth", truth, "a model's name")
            truth = plain_text(truth)
            if truth not in model_names:
                raise unknown("true model", truth, model_names)
        name = checked_name("the problem", naming.get("name", "problem"))
        return cls(name, arm_names, model_names, truth, context_names)

    @property
    def columns(self) -> int:
        """How many values a model has: one for each arm, in every context."""
        return len(self.arms) * max(1, len(self.contexts))

    def place(self, row: int, column: int) -> Place:
        """Return the place of a cell, for errors: the names of its model, context and arm."""
        context, arm = divmod(int(column), len(self.arms))
        inside: Place = (("context", self.contexts[context]),) if self.contexts else ()
        return ("model", self.models[row]), *inside, ("arm", self.arms[arm])

    def flat(self, rows: Numbers) -> Numbers:
        """Return the rows with the lists of each context joined; without contexts, as they are."""
        if not self.contexts:
            return rows
        shape = len(self.models), len(self.contexts), len(self.arms)
        if isinstance(rows, np.ndarray) and rows.shape[:3] == shape:
            return rows.reshape(shape[0], self.columns, *rows.shape[3:])
        flat: list[Any] = []
        for row, by_context in enumerate(rows):
            lists = _by_context(by_context, self.contexts, self.models[row])
            values: list[Any] = []
            for context, given in zip(self.contexts, lists, strict=True):
                whose = ("model", self.models[row]), ("context", context)
                values.extend(self._one_for_each_arm(whose, given))
            flat.append(values)
        return flat

    def check_count(self, row: int, values: object) -> Numbers:
        """Return the values of a model, or raise an error if they are not one per column."""
        if self.contexts and is_list(values) and len(values) == self.columns:
            return values  # `flat` has checked each context
        return self._one_for_each_arm((("model", self.models[row]),), values)

    def _one_for_each_arm(self, whose: Place, values: object) -> Numbers:
        """Return the values as a plain list, or raise an error if they are not one per arm."""
        arms = counted(len(self.arms), "arm")
        if not is_list(values):
            wanted = f"expected a list with a value for each of the {arms}"
            raise InputError(f"{wanted}, not {quote(values)}", place=whose)
        with within(*whose):
            given = plain_list(values)
        if len(given) < len(self.arms):
            missing = f"no value for arm {quote(self.arms[len(given)])}"
            too_few = f"it has {len(given)} of {len(self.arms)} values: {missing}"
            raise InputError(too_few, place=whose)
        if len(given) > len(self.arms):
            last = f"nothing follows arm {quote(self.arms[-1])}"
            raise InputError(f"it has {len(given)} values for {arms}: {last}", place=whose)
        return given


def _by_context(given: object, contexts: tuple[str, ...], model: str) -> list[Any]:
    """Return the values of a model in each context, in their order."""
    whose: Place = (("model", model),)
    if isinstance(given, Mapping):
        for name in given:
            if name not in contexts:
                raise unknown("context", str(name), contexts).at(*whose)
        for name in contexts:
            if name not in given:
                raise InputError(f"nothing is said of context {quote(name)}", place=whose)
        return [given[name] for name in contexts]
    number = counted(len(contexts), "context")
    if not is_list(given):
        wanted = f"expected a list of values for each of the {number}"
        raise InputError(f"{wanted}, not {quote(given)}", place=whose)
    lists = plain_list(given)
    if len(lists) != len(contexts):
        raise InputError(f"{there_are(len(lists), 'list')} of values for {number}", place=whose)
    return list(lists)


def there_are(count: int, what: str) -> str:
    """Return "there is 1 share" or "there are 3 shares"."""
    return f"there {'is' if count == 1 else 'are'} {counted(count, what)}"


def _checked_names(kind: str, names: object) -> tuple[str, ...]:
    """Return the names of arms, models or contexts, or raise an error for the first bad one."""
    given: Any = names
    # Anything ordered will do, such as a dictionary, its keys or a generator. A set has no order.
    unordered = isinstance(names, Set) and not isinstance(names, KeysView)
    single = isinstance(names, str) or (isinstance(names, np.ndarray) and not names.ndim)
    if not isinstance(names, Iterable) or single or unordered:
        raise wrong_type(f"{kind} names", names, "a list of texts")
    seen: dict[str, int] = {}
    for error in wrong_names(kind, given, seen):
        raise error
    return tuple(seen)


def wrong_names(kind: str, names: Iterable[object], seen: dict[str, int]) -> Iterator[InputError]:
    """Yield an error for each bad name; add the good ones to ``seen``, with their numbers."""
    for number, name in enumerate(names, 1):
        try:
            checked = checked_name((kind, number), name)
        except InputError as error:
            yield error
            continue
        if checked in seen:
            yield InputError(
                f"duplicate {kind} name {quote(name)}: {kind}s {seen[checked]} and {number} must "
                "differ",
                about=((kind, number),),
            )
        else:
            seen[checked] = number
