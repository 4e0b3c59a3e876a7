"""`Problem`: a finite set Θ of candidate models, each giving the reward law of every arm.

A problem is made by `Problem.bernoulli`, `beta`, `discrete`, `gaussian`, `revenue`, `linear` or
`logistic`, which check everything once: names, shapes, numbers. From then on it never changes, and
all else (theory, policies, simulation, agents) trusts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np

from fpbandits.core.arrays import Floats, Ints
from fpbandits.core.checks import Numbers, checked_range, known_name
from fpbandits.core.names import Names, Naming
from fpbandits.core.renamed import refuses_old_attributes
from fpbandits.core.shares import (
    Transitions,
    checked_prior,
    checked_shares,
    checked_transitions,
)
from fpbandits.core.table import checked_rows
from fpbandits.errors import InputError, counted, listed, quote, wrong_type
from fpbandits.families import FAMILIES, RewardFamily
from fpbandits.families.two_point import profits
from fpbandits.logs.sketch import DIGITS
from fpbandits.problem.chain import reordered_transitions
from fpbandits.problem.fingerprint import fingerprint_of
from fpbandits.problem.frames import Frame, unframed
from fpbandits.problem.html import problem_html
from fpbandits.problem.posterior import Play, Posterior, evidence_of
from fpbandits.problem.vectors import logistic, products


@refuses_old_attributes
@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """A bandit whose unknown environment is one of the models in Θ.

    Attributes
    ----------
    name
        Its name in tables and figures.
    arms, models
        Names, in order. Where arms tie, the smallest index wins, so the order matters.
    rewards
        The reward law of every arm under every model.
    truth
        The model that simulations take for the truth by default.
    prior
        The probability of each model, in order; None if not given.
    contexts, shares
        The names of what is seen before a decision, and how often each comes; both may be empty.
    transitions
        The chain by which the truth moves from play to play, [from][to]; None if it stays.
    fitted_units
        A sketch of the units that the models were fitted to, if they were (`logs.sketch`).

    Examples
    --------
    >>> problem = Problem.bernoulli([[.9, .5], [.2, .5]], arms=["a", "b"], models=["x", "y"])
    >>> problem
    Problem('problem': 2 models, 2 arms, bernoulli rewards in [0, 1])
    >>> problem.arms, problem.models
    (('a', 'b'), ('x', 'y'))
    >>> problem.index("y")
    1
    """

    name: str
    arms: tuple[str, ...]
    models: tuple[str, ...]
    rewards: RewardFamily
    truth: str | None = None
    prior: tuple[float, ...] | None = None
    contexts: tuple[str, ...] = ()
    shares: tuple[float, ...] = ()
    fitted_units: tuple[str, ...] = ()
    transitions: Transitions | None = None

    def __post_init__(self) -> None:
        # Compiled code reads as many numbers as there are names, and checks nothing.
        names = self.models, self.arms, self.contexts
        right_types = isinstance(self.rewards, RewardFamily) and {*map(type, names)} == {tuple}
        if not right_types or self.rewards.means.shape != (len(self.models), self.pairs):
            raise InputError(
                "the names do not fit the rewards: make a problem by Problem.bernoulli, "
                "Problem.beta, Problem.discrete or Problem.gaussian"
            )

    @classmethod
    def bernoulli(
        cls,
        means: Numbers | Frame,
        *,
        value: Sequence[float] | Floats | None = None,
        cost: float | Sequence[float] | Floats | None = None,
        **naming: Unpack[Naming],
    ) -> Problem:
        """Make a problem of Bernoulli arms from means[model][arm], in the user's units.

        A data frame with a row per model and a column per arm names both.
        A reward is the top of the range or its bottom. With a ``value`` for every arm it is that
        value or 0, and the table holds probabilities. With a ``cost`` of what is sold, one for all
        or one for every arm, it is the profit, value − cost, or 0. ``naming`` may give ``arms``,
        ``models``, ``range``, ``prior``, ``truth`` and ``name``: see `Naming`.

        >>> Problem.bernoulli([[.9, .5], [.2, .4]], value=[9, 12]).means
        array([[8.1, 6. ],
               [1.8, 4.8]])
        """
        if cost is not None:
            value = profits(value, cost)
        return cls.of_family(
            "bernoulli", means, {} if value is None else {"value": value}, **naming
        )

    @classmethod
    def gaussian(
        cls, means: Numbers | Frame, deviation: float, **naming: Unpack[Naming]
    ) -> Problem:
        """Make a problem of normal rewards: means[model][arm] and one deviation for all.

        Both are in the user's units; ``naming`` is as in `bernoulli`, but there is no range.

        >>> Problem.gaussian([[30, 20], [10, 20]], deviation=5)
        Problem('problem': 2 models, 2 arms, gaussian rewards of deviation 5)
        """
        return cls.of_family("gaussian", means, {"deviation": deviation}, **naming)

    @classmethod
    def beta(
        cls, means: Numbers | Frame, concentration: float, **naming: Unpack[Naming]
    ) -> Problem:
        """Make a problem of Beta arms: means[model][arm] and one concentration for all.

        On [0, 1] an arm of mean μ pays Beta(cμ, c(1 − μ)), of variance μ(1 − μ)/(c + 1).
        ``naming`` is as in `bernoulli`.

        >>> Problem.beta([[3, 2], [1, 2]], concentration=8, range=(0, 5))
        Problem('problem': 2 models, 2 arms, beta rewards in [0, 5])
        """
        return cls.of_family("beta", means, {"concentration": concentration}, **naming)

    @classmethod
    def discrete(
        cls, probabilities: Numbers, support: Sequence[float] | Floats, **naming: Unpack[Naming]
    ) -> Problem:
        """Make a problem from a finite support and probabilities[model][arm][value].

        The support is in the user's units; ``naming`` is as in `bernoulli`.

        >>> Problem.discrete([[[.5, 0, .5], [0, 1, 0]]], support=[0, .5, 1])
        Problem('problem': 1 model, 2 arms, discrete rewards in [0, 1])
        """
        return cls.of_family("discrete", probabilities, {"support": support}, **naming)

    @classmethod
    def revenue(
        cls, chances: Numbers, amounts: Numbers, shape: float, **naming: Unpack[Naming]
    ) -> Problem:
        """Make a problem of arms that pay nothing, or an amount that varies.

        An arm pays with chances[model][arm], and then a gamma amount of mean amounts[model][arm]
        and deviation mean/√shape. ``naming`` is as in `bernoulli`, but there is no range.

        >>> Problem.revenue([[.5, .2], [.1, .2]], [[30, 60], [30, 90]], shape=2).means
        array([[15., 12.],
               [ 3., 18.]])
        """
        try:
            numbers = np.array(chances, float), np.array(amounts, float)
            rows = np.stack(np.broadcast_arrays(*numbers), axis=-1)
        except (TypeError, ValueError):
            wanted = "expected numbers in chances[model][arm] and amounts[model][arm]"
            raise InputError(wanted) from None
        return cls.of_family("revenue", rows, {"shape": shape}, **naming)

    @classmethod
    def linear(
        cls, weights: Numbers, features: Numbers, deviation: float, **naming: Unpack[Naming]
    ) -> Problem:
        """Make a problem of normal rewards whose means are linear in known features.

        The mean of an arm is the product of weights[model] with features[arm], or with
        features[context][arm] if there are ``contexts``; see `gaussian`.

        >>> Problem.linear([[2, 1], [-1, 1]], [[1, 0], [0, 3]], deviation=2).means
        array([[ 2.,  3.],
               [-1.,  3.]])
        """
        return cls.gaussian(products(weights, features), deviation, **naming)

    @classmethod
    def logistic(
        cls,
        weights: Numbers,
        features: Numbers,
        *,
        value: Sequence[float] | Floats | None = None,
        **naming: Unpack[Naming],
    ) -> Problem:
        """Make a problem of Bernoulli arms whose chances are logistic in known features.

        An arm pays with probability 1/(1 + e^{−x}), x the product of weights[model] with
        features[arm], or with features[context][arm]; see `bernoulli`.

        >>> Problem.logistic([[2, 1], [-1, 1]], [[0, 0], [0, 3]]).means.round(3)
        array([[0.5  , 0.953],
               [0.5  , 0.953]])
        """
        return cls.bernoulli(logistic(weights, features), value=value, **naming)

    @classmethod
    def of_family(
        cls, family: str, rows: Numbers | Frame, fields: Mapping[str, Any], **naming: Unpack[Naming]
    ) -> Problem:
        """Make a problem of any family in `FAMILIES`: a row per model, and its fields."""
        kind = FAMILIES[known_name("reward family", family, FAMILIES)]
        for keyword in naming:
            known_name("keyword", keyword, Naming.__annotations__)
        if not isinstance(fields, Mapping) or set(fields) - set(kind.optional) != set(kind.fields):
            raise InputError(
                f"{kind.name} rewards take the fields [{', '.join(kind.fields)}], not "
                f"{quote(fields)}",
                about=kind.fields[:1],
            )
        rows, naming = unframed(rows, naming)
        rows = checked_rows(rows)
        names = Names.of(rows, naming)
        rows = names.flat(rows)
        if "range" in naming and not kind.takes_range:
            raise InputError(f"{kind.name} rewards have no range: leave it out", about=("range",))
        limits = checked_range(naming.get("range", (0, 1)))
        rewards = kind.checked(rows, names, limits, **fields)
        prior = checked_prior(naming.get("prior"), names.models)
        shares = checked_shares(naming.get("shares"), names.contexts)
        return cls(
            names.name,
            names.arms,
            names.models,
            rewards,
            names.truth,
            prior,
            names.contexts,
            shares,
            _checked_hashes(naming.get("fitted_units", ())),
            checked_transitions(naming.get("transitions"), names.models),
        )

    def reordered(self, models: Ints, arms: Ints) -> Problem:
        """Return the problem with these models and, in every context, these arms, in this order."""
        columns = self.columns(arms)
        return replace(
            self,
            arms=tuple(self.arms[arm] for arm in arms),
            models=tuple(self.models[model] for model in models),
            rewards=self.rewards.reordered(models, columns),
            prior=None if self.prior is None else tuple(self.prior[model] for model in models),
            transitions=reordered_transitions(self.transitions, models),
        )

    @property
    def means(self) -> Floats:
        """μ_i(θ) in the user's units: [model, arm], or [model, context, arm]."""
        means = self.rewards.means
        if not self.contexts:
            return means
        return means.reshape(len(means), len(self.contexts), len(self.arms))

    @property
    def pairs(self) -> int:
        """How many pairs of a context and an arm there are; without contexts, how many arms."""
        return len(self.arms) * max(1, len(self.contexts))

    @cached_property
    def pair_names(self) -> tuple[str, ...]:
        """What to call each pair: "mobile: 9 EUR"; without contexts, the arms."""
        if not self.contexts:
            return self.arms
        return tuple(f"{context}: {arm}" for context in self.contexts for arm in self.arms)

    def by_name(self, values: Sequence[Any]) -> dict[str, Any]:
        """Return one value per pair as {arm: value}, or as {context: {arm: value}}."""
        if not self.contexts:
            return dict(zip(self.arms, values, strict=True))
        starts = range(0, self.pairs, len(self.arms))
        rows = [dict(zip(self.arms, values[s : s + len(self.arms)], strict=True)) for s in starts]
        return dict(zip(self.contexts, rows, strict=True))

    def columns(self, arms: Ints) -> Ints:
        """Return the columns of these arms in a table by pair: in the first context, and so on."""
        starts = len(self.arms) * np.arange(max(1, len(self.contexts)))
        columns: Ints = (starts[:, np.newaxis] + arms).reshape(-1)
        return columns

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest reward in the user's units."""
        return self.rewards.range

    def index(self, model: str) -> int:
        """Return the index of a model in `models`, by its name."""
        return self._indices[known_name("model", model, self._indices)]

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.models)}

    def pair_index(self, arm: str, context: str | None) -> int:
        """Return the index of the pair of a context and an arm, by their names."""
        index = self.arms.index(known_name("arm", arm, self.arms))
        return self.context_index(context) * len(self.arms) + index

    def context_index(self, context: str | None) -> int:
        """Return the index of a context, which must be given if and only if there are any."""
        if context is None and not self.contexts:
            return 0
        if context is None:
            which = f"say which one this is for, one of {listed(self.contexts)}"
            raise InputError(f"{self.name} has contexts: {which}", about=("context",))
        if not self.contexts:
            given = f"and the context {quote(context)} was given: leave it out"
            raise InputError(f"{self.name} has no contexts, {given}", about=("context",))
        return self.contexts.index(known_name("context", context, self.contexts))

    def posterior(
        self, plays: Iterable[Play] = (), *, prior: Mapping[str, float] | None = None
    ) -> dict[str, float]:
        """Return the probability of each model after some plays: exact Bayes.

        If the truth moves, it is the probability of being true at the next play.
        For a loop of your own; an `Agent` has a posterior itself.

        Parameters
        ----------
        plays
            For each play an arm and its reward, in the user's units; with contexts, an arm, its
            reward and the context.
        prior
            Weights of models by name, in place of the problem's own prior; 1 for others.

        Examples
        --------
        >>> shop = Problem.bernoulli([[.8, .5], [.2, .5]], arms=["a", "b"], models=["x", "y"])
        >>> posterior = shop.posterior([("a", 1), ("b", 0)])
        >>> {model: round(probability, 3) for model, probability in posterior.items()}
        {'x': 0.8, 'y': 0.2}
        """
        problem = self
        if prior is not None:
            problem = replace(self, prior=checked_prior(prior, self.models))
        return evidence_of(problem, plays).posterior()

    @cached_property
    def weights(self) -> Posterior:
        """Computes posteriors from counts, sums and statistics."""
        return Posterior(self)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that decides how it is played: names, laws, range, prior and transitions.

        `name`, `truth`, `shares` and `fitted_units` are not part of it.
        """
        return fingerprint_of(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        contexts = f"{counted(len(self.contexts), 'context')}, " if self.contexts else ""
        return (
            f"Problem({self.name!r}: {counted(len(self.models), 'model')}, "
            f"{counted(len(self.arms), 'arm')}, {contexts}{self.rewards}"
            f"{', a truth that moves' if self.transitions else ''})"
        )

    def _repr_html_(self) -> str:
        return problem_html(self)


def _checked_hashes(given: Any) -> tuple[str, ...]:
    """Return the hashes of fitted units as a tuple, or raise an error if they are none."""
    hashes = tuple(given) if isinstance(given, list | tuple) else (None,)
    if not all(isinstance(unit, str) and len(unit) == DIGITS for unit in hashes):
        wanted = f"a list of hashes of {DIGITS} digits, as fit writes them"
        raise wrong_type("fitted_units", given, wanted)
    return hashes
