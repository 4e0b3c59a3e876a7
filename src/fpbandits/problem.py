"""`Problem`: a finite set Θ of candidate models, each giving the reward law of every arm.

A problem is made by one of `Problem.bernoulli`, `Problem.beta` and `Problem.discrete`, which check
everything once: names, shapes, numbers. From then on it never changes, and all else (theory,
policies, simulation, agents) trusts it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict, Unpack

import numpy as np

from fpbandits.arrays import Floats, Ints
from fpbandits.checks import Numbers, checked_range, known_name, range_text
from fpbandits.errors import InputError, counted, quote
from fpbandits.families import FAMILIES, RewardFamily
from fpbandits.markup import Strong, and_more, html_table
from fpbandits.table import Names, checked_rows

_MOST_ROWS, _MOST_COLUMNS = 12, 10
"""What a notebook shows of a problem; the rest is counted."""


class Naming(TypedDict, total=False):
    """What every problem may be told besides its laws.

    Attributes
    ----------
    arms, parameters
        Names, in order, so not as a set; by default arm1, arm2, … and theta1, theta2, ….
    range
        The lowest and the highest reward, in the user's units; by default 0 and 1.
    true
        The name of the parameter that is the truth in simulations, if one is set.
    name
        What to call the problem.
    """

    arms: Sequence[str] | None
    parameters: Sequence[str] | None
    range: Sequence[float]
    true: str | None
    name: str


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

    def __post_init__(self) -> None:
        # Compiled code reads as many numbers as there are names.
        names = self.parameters, self.arms
        whole = isinstance(self.rewards, RewardFamily) and {*map(type, names)} == {tuple}
        if not whole or self.means.shape != tuple(map(len, names)):
            raise InputError(
                "the names do not fit the rewards: make a problem by Problem.bernoulli, "
                "Problem.beta or Problem.discrete"
            )

    @classmethod
    def bernoulli(cls, means: Numbers, **naming: Unpack[Naming]) -> Problem:
        """Make a problem of Bernoulli arms from means[parameter][arm], in the user's units.

        A reward is the top of the range or its bottom. ``naming`` may give ``arms``,
        ``parameters``, ``range``, ``true`` and ``name``: see `Naming`.
        """
        return cls.of_family("bernoulli", means, {}, **naming)

    @classmethod
    def beta(cls, means: Numbers, concentration: float, **naming: Unpack[Naming]) -> Problem:
        """Make a problem of Beta arms: means[parameter][arm] and one concentration for all.

        On [0, 1] an arm of mean μ pays Beta(cμ, c(1 − μ)), of variance μ(1 − μ)/(c + 1).
        ``naming`` is as in `bernoulli`.

        >>> Problem.beta([[3, 2], [1, 2]], concentration=8, range=(0, 5))
        Problem('problem': 2 parameters, 2 arms, beta rewards in [0, 5])
        """
        return cls.of_family("beta", means, {"concentration": concentration}, **naming)

    @classmethod
    def discrete(
        cls, probabilities: Numbers, support: Sequence[float] | Floats, **naming: Unpack[Naming]
    ) -> Problem:
        """Make a problem from a finite support and probabilities[parameter][arm][value].

        The support is in the user's units; ``naming`` is as in `bernoulli`.

        >>> Problem.discrete([[[.5, 0, .5], [0, 1, 0]]], support=[0, .5, 1])
        Problem('problem': 1 parameter, 2 arms, discrete rewards in [0, 1])
        """
        return cls.of_family("discrete", probabilities, {"support": support}, **naming)

    @classmethod
    def of_family(
        cls, family: str, rows: Numbers, fields: Mapping[str, Any], **naming: Unpack[Naming]
    ) -> Problem:
        """Make a problem of any family in `FAMILIES`: a row per parameter, and its fields."""
        kind = FAMILIES[known_name("reward family", family, FAMILIES)]
        if not isinstance(fields, Mapping) or set(fields) != set(kind.fields):
            raise InputError(
                f"{kind.name} rewards take the fields [{', '.join(kind.fields)}], not "
                f"{quote(fields)}"
            )
        rows = checked_rows(rows)
        names = Names.of(
            rows,
            naming.get("arms"),
            naming.get("parameters"),
            naming.get("true"),
            naming.get("name", "problem"),
        )
        limits = checked_range(naming.get("range", (0, 1)))
        rewards = kind.checked(rows, names, limits, **fields)
        return cls(names.name, names.arms, names.parameters, rewards, names.true)

    def reordered(self, parameters: Ints, arms: Ints) -> Problem:
        """Return the same problem with parameters and arms in another order."""
        return replace(
            self,
            arms=tuple(self.arms[arm] for arm in arms),
            parameters=tuple(self.parameters[parameter] for parameter in parameters),
            rewards=self.rewards.reordered(parameters, arms),
        )

    @property
    def means(self) -> Floats:
        """μ_i(θ) in the user's units: a row per parameter, a column per arm."""
        return self.rewards.means

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest reward in the user's units."""
        return self.rewards.range

    def index(self, parameter: str) -> int:
        """Return the place of a parameter in `parameters`, by its name."""
        return self._places[known_name("parameter", parameter, self._places)]

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
        for part in self.rewards.content.values():
            digest.update(np.asarray(part, np.float64).tobytes())
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
            f"{range_text(self.range)})"
        )

    def _repr_html_(self) -> str:
        """Show the means in a notebook, the best of each row in bold."""
        arms, means = self.arms[:_MOST_COLUMNS], self.means[:_MOST_ROWS]
        rows = []
        for name, own, best in zip(self.parameters, means, means.argmax(axis=1), strict=False):
            numbers = [f"{mean:.4g}" for mean in own[:_MOST_COLUMNS]]
            if best < len(numbers):
                numbers[best] = Strong(numbers[best])
            rows.append([name + (" (true)" if name == self.true else ""), *numbers])
        return html_table(
            self.name,
            ["mean reward", *arms],
            rows,
            above=[repr(self).removeprefix(f"Problem({self.name!r}: ").removesuffix(")")],
            below=[
                *and_more(len(self.parameters), len(rows), "parameters", "in .parameters"),
                *and_more(len(self.arms), len(arms), "arms", "in .arms"),
            ],
        )
