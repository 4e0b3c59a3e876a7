"""`Problem`: a finite set Θ of candidate models, each giving the reward law of every arm.

A problem is made by one of `Problem.bernoulli`, `Problem.beta` and `Problem.discrete`, which check
everything once: names, shapes, numbers. From then on it never changes, and all else (theory,
policies, simulation, agents) trusts it.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from fpbandits.errors import InputError, counted, quote, unknown
from fpbandits.rewards import TOLERANCE, Bernoulli, Beta, Discrete, Floats, RewardFamily

Figures = Sequence[Any] | np.ndarray[Any, Any]
"""Nested sequences of numbers, or an array: every number is checked."""


_LONGEST_NAME = 1_000


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """A bandit whose unknown environment is one of the parameters in Θ.

    Attributes
    ----------
    name
        What to call it in tables and figures.
    arms, parameters
        Names, in order. Where arms tie, the smallest index wins, so the order matters.
    rewards
        The reward law of every arm under every parameter.
    true
        The parameter that simulations take for the truth unless told otherwise.

    Examples
    --------
    >>> problem = Problem.bernoulli([[.9, .5], [.2, .5]], arms=["a", "b"], parameters=["x", "y"])
    >>> problem
    Problem('problem': 2 parameters, 2 arms, bernoulli rewards in [0, 1])
    >>> problem.arms, problem.parameters
    (('a', 'b'), ('x', 'y'))
    >>> problem.index("y")
    1
    """

    name: str
    arms: tuple[str, ...]
    parameters: tuple[str, ...]
    rewards: RewardFamily
    true: str | None = None

    @classmethod
    def bernoulli(
        cls,
        means: Figures,
        *,
        arms: Sequence[str] | None = None,
        parameters: Sequence[str] | None = None,
        range: tuple[float, float] = (0, 1),
        true: str | None = None,
        name: str = "problem",
    ) -> Problem:
        """Make a problem of Bernoulli arms from means[parameter][arm].

        Parameters
        ----------
        means
            The mean reward of every arm (column) under every parameter (row), in the user's units.
        arms, parameters
            Names; by default arm1, arm2, … and theta1, theta2, ….
        range
            The two rewards there are, in the user's units.
        true
            The name of the parameter that is the truth in simulations, if one is set.
        name
            What to call the problem.
        """
        names = _Names.of(means, arms, parameters, true, name)
        limits = _range(range)
        return names.problem(Bernoulli(means=_means(means, names, limits), range=limits))

    @classmethod
    def beta(
        cls,
        means: Figures,
        concentration: float,
        *,
        arms: Sequence[str] | None = None,
        parameters: Sequence[str] | None = None,
        range: tuple[float, float] = (0, 1),
        true: str | None = None,
        name: str = "problem",
    ) -> Problem:
        """Make a problem of Beta arms: means[parameter][arm] and one concentration for all.

        On [0, 1] an arm of mean μ pays Beta(cμ, c(1 − μ)), of variance μ(1 − μ)/(c + 1).
        The other parameters are those of `bernoulli`.

        >>> Problem.beta([[3, 2], [1, 2]], concentration=8, range=(0, 5))
        Problem('problem': 2 parameters, 2 arms, beta rewards in [0, 5])
        """
        names = _Names.of(means, arms, parameters, true, name)
        limits = _range(range)
        matrix = _means(means, names, limits)
        for row, column in np.argwhere((matrix == limits[0]) | (matrix == limits[1]))[:1]:
            raise InputError(
                f"{names.place(row, column)}: the mean {_number_text(matrix[row, column])} of a "
                f"beta arm must lie strictly inside the range {_range_text(limits)}",
                row=int(row),
            )
        c = _number(concentration, "concentration")
        if not 0 < c <= 1e15:
            raise InputError(
                f"concentration is {quote(concentration)}: it must be above 0 and at most 1e15"
            )
        rewards = Beta(means=matrix, concentration=c, range=limits)
        shapes = c * np.minimum(rewards.unit_means, 1 - rewards.unit_means)
        for row, column in np.argwhere(shapes < 1e-6)[:1]:
            raise InputError(
                f"{names.place(row, column)}: with concentration {_number_text(c)} the mean "
                f"{_number_text(matrix[row, column])} is too near to the end of the range for a "
                "beta law; use bernoulli or discrete rewards",
                row=int(row),
            )
        return names.problem(rewards)

    @classmethod
    def discrete(
        cls,
        probabilities: Figures,
        support: Sequence[float] | np.ndarray[Any, Any],
        *,
        arms: Sequence[str] | None = None,
        parameters: Sequence[str] | None = None,
        range: tuple[float, float] = (0, 1),
        true: str | None = None,
        name: str = "problem",
    ) -> Problem:
        """Make a problem from a finite support and probabilities[parameter][arm][value].

        The other parameters are those of `bernoulli`; the support is in the user's units.

        >>> Problem.discrete([[[.5, 0, .5], [0, 1, 0]]], support=[0, .5, 1])
        Problem('problem': 1 parameter, 2 arms, discrete rewards in [0, 1])
        """
        names = _Names.of(probabilities, arms, parameters, true, name)
        limits = _range(range)
        values = _support(support, limits)
        laws = _probabilities(probabilities, names, len(values))
        return names.problem(Discrete(support=values, probabilities=laws, range=limits))

    @property
    def means(self) -> Floats:
        """μ_i(θ) in the user's units: a row a parameter, a column an arm."""
        return self.rewards.means

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest reward in the user's units."""
        return self.rewards.range

    def index(self, parameter: str) -> int:
        """Return the place of a parameter in `parameters`, by its name."""
        if not isinstance(parameter, str):
            raise InputError(f"a parameter is named by a text, not {quote(parameter)}")
        if parameter not in self._places:
            raise InputError(unknown("parameter", parameter, self.parameters))
        return self._places[parameter]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.parameters)}

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that decides how the problem plays: names, laws and range.

        `name` and `true` are not part of it.
        """
        digest = hashlib.sha256()
        for names in (self.arms, self.parameters, (self.rewards.name,)):
            digest.update(repr(names).encode())
        digest.update(np.asarray(self.range).tobytes())
        if isinstance(self.rewards, Discrete):
            digest.update(self.rewards.support.tobytes())
            digest.update(self.rewards.probabilities.tobytes())
        else:
            digest.update(self.means.tobytes())
        if isinstance(self.rewards, Beta):
            digest.update(np.float64(self.rewards.concentration).tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return (
            f"Problem({self.name!r}: {counted(len(self.parameters), 'parameter')}, "
            f"{counted(len(self.arms), 'arm')}, {self.rewards.name} rewards in "
            f"{_range_text(self.range)})"
        )


@dataclass(frozen=True)
class _Names:
    """The checked names of a problem, and the words for a place in its table."""

    name: str
    arms: tuple[str, ...]
    parameters: tuple[str, ...]
    true: str | None

    @classmethod
    def of(
        cls,
        rows: Figures,
        arms: Sequence[str] | None,
        parameters: Sequence[str] | None,
        true: str | None,
        name: str,
    ) -> _Names:
        if not isinstance(rows, Sequence | np.ndarray) or isinstance(rows, str | bytes):
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
            raise InputError(unknown("true parameter", true, parameter_names))
        return cls(_checked_name("the problem", name), arm_names, parameter_names, true)

    def problem(self, rewards: RewardFamily) -> Problem:
        return Problem(self.name, self.arms, self.parameters, rewards, self.true)

    def place(self, row: int, column: int) -> str:
        return f"parameter {quote(self.parameters[row])}, arm {quote(self.arms[column])}"

    def check_count(self, row: int, values: object) -> Figures:
        """Return one parameter's values if there is one for each arm."""
        if not isinstance(values, Sequence | np.ndarray) or isinstance(values, str | bytes):
            raise InputError(
                f"parameter {quote(self.parameters[row])}: expected a list with a value for each "
                f"of the {counted(len(self.arms), 'arm')}, not {quote(values)}",
                row=row,
            )
        if len(values) < len(self.arms):
            raise InputError(
                f"parameter {quote(self.parameters[row])} has {len(values)} of {len(self.arms)} "
                f"values: no value for arm {quote(self.arms[len(values)])}",
                row=row,
            )
        if len(values) > len(self.arms):
            raise InputError(
                f"parameter {quote(self.parameters[row])} has {len(values)} values for "
                f"{counted(len(self.arms), 'arm')}: nothing follows arm {quote(self.arms[-1])}",
                row=row,
            )
        return values


def _checked_names(kind: str, names: Iterable[object]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    if isinstance(names, str):
        raise InputError(f"{kind} names must be a list of texts, not {quote(names)}")
    for place, name in enumerate(names):
        row = place if kind == "parameter" else None
        checked = _checked_name(f"{kind} {place + 1}", name, row=row)
        if checked in seen:
            raise InputError(
                f"duplicate {kind} name {quote(name)}: {kind}s {seen[checked] + 1} and "
                f"{place + 1} must differ",
                row=row,
            )
        seen[checked] = place
    return tuple(seen)


def _checked_name(owner: str, name: object, *, row: int | None = None) -> str:
    if not isinstance(name, str):
        raise InputError(f"{owner}: its name must be a text, not {quote(name)}", row=row)
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


def _number(value: object, place: str, *, row: int | None = None) -> float:
    """Return a finite float, or say what stands in its place."""
    if isinstance(value, bool | np.bool_):
        raise InputError(f"{place}: expected a number, not the boolean {value}", row=row)
    if not isinstance(value, Real):
        kind = "the text " if isinstance(value, str) else ""
        raise InputError(f"{place}: expected a number, not {kind}{quote(value)}", row=row)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{place}: {quote(value)} is not a finite number", row=row)
    return number


def _range(given: object) -> tuple[float, float]:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != 2:
        raise InputError(f"range must be [lowest, highest], not {quote(given)}")
    low, high = (_number(value, "range") for value in given)
    if not low < high:
        raise InputError(f"range {_range_text((low, high))}: the lowest must be below the highest")
    width, size = high - low, max(-low, high)
    # Regret is a multiple of the width, and must stay a number too.
    if size > 1e100 or width < 1e-100 or math.ulp(size) > TOLERANCE * width:
        raise InputError(
            f"range {_range_text((low, high))}: floating point cannot map it to [0, 1] with "
            "twelve digits; shift or scale the rewards"
        )
    return low, high


def _means(given: Figures, names: _Names, limits: tuple[float, float]) -> Floats:
    """Return the checked matrix of means, read-only."""
    low, high = limits
    if isinstance(given, np.ndarray):
        matrix = _from_array(given, names, 2)
    else:
        matrix = np.empty((len(names.parameters), len(names.arms)))
        for row, values in enumerate(given):
            names.check_count(row, values)
            if set(map(type, values)) == {float}:
                matrix[row] = values
            else:
                matrix[row] = [
                    _number(value, names.place(row, column), row=row)
                    for column, value in enumerate(values)
                ]
    # Not a number fails both comparisons, so this finds it too.
    for row, column in np.argwhere(~((matrix >= low) & (matrix <= high)))[:1]:
        place, mean = names.place(row, column), float(matrix[row, column])
        _number(mean, place, row=int(row))
        raise InputError(
            f"{place}: mean {_number_text(mean)} is outside the range {_range_text(limits)}",
            row=int(row),
        )
    matrix.setflags(write=False)
    return matrix


def _from_array(given: np.ndarray[Any, Any], names: _Names, dimensions: int) -> Floats:
    if given.dtype.kind not in "fiu":
        raise InputError(f"expected an array of numbers, not of type {given.dtype}")
    if given.ndim != dimensions:
        raise InputError(f"expected an array of {dimensions} dimensions, not {given.ndim}")
    names.check_count(0, given[0])
    return np.array(given, dtype=np.float64, order="C")


def _support(given: object, limits: tuple[float, float]) -> Floats:
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str) or len(given) == 0:
        raise InputError(f"support must be a list of the possible rewards, not {quote(given)}")
    values: dict[float, None] = {}
    for value in (_number(value, "support") for value in given):
        if not limits[0] <= value <= limits[1]:
            raise InputError(
                f"support: {_number_text(value)} is outside the range {_range_text(limits)}"
            )
        if value in values:
            raise InputError(f"support: {_number_text(value)} stands there twice")
        values[value] = None
    support = np.array(list(values))
    support.setflags(write=False)
    return support


def _probabilities(given: Figures, names: _Names, values: int) -> Floats:
    if isinstance(given, np.ndarray):
        laws = _from_array(given, names, 3)
        if laws.shape[2] != values:
            raise InputError(
                f"{laws.shape[2]} probabilities an arm for a support of {values} values"
            )
    else:
        laws = np.empty((len(names.parameters), len(names.arms), values))
        for row, by_arm in enumerate(given):
            for column, law in enumerate(names.check_count(row, by_arm)):
                place = names.place(row, column)
                if not isinstance(law, Sequence | np.ndarray) or isinstance(law, str):
                    raise InputError(
                        f"{place}: expected a list of {values} probabilities, not {quote(law)}",
                        row=row,
                    )
                if len(law) != values:
                    raise InputError(
                        f"{place}: {len(law)} probabilities for a support of {values} values",
                        row=row,
                    )
                laws[row, column] = [_number(p, place, row=row) for p in law]
    for row, column, value in np.argwhere(~((laws >= 0) & (laws <= 1)))[:1]:
        raise InputError(
            f"{names.place(row, column)}: {_number_text(laws[row, column, value])} is not a "
            "probability",
            row=int(row),
        )
    totals = laws.sum(axis=2)
    for row, column in np.argwhere(np.abs(totals - 1) > 1e-9)[:1]:
        raise InputError(
            f"{names.place(row, column)}: the probabilities add up to "
            f"{_number_text(totals[row, column])}, not 1",
            row=int(row),
        )
    # Leave alone what rounding alone explains, so that a saved problem comes back bit for bit.
    rough = np.abs(totals - 1) > 4 * np.finfo(float).eps * values
    laws[rough] /= totals[rough, np.newaxis]
    laws.setflags(write=False)
    return laws


def _number_text(value: float) -> str:
    return f"{value:.12g}" if float(f"{value:.12g}") == value else repr(float(value))


def _range_text(limits: tuple[float, float]) -> str:
    return f"[{_number_text(limits[0])}, {_number_text(limits[1])}]"
