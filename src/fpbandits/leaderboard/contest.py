"""Contests: sets of models, with the truths to play under.

Four groups of them are built in:

* ``paper``: the paper's five simulations;
* ``random``: random sets of 2 to 256 models and 2 to 16 arms, always the same ones. Of each size
  there is a contest under whose truth regret can stay bounded, and one under whose truth it cannot;
* ``wrong``: Θ as in the paper, and truths outside it: a model with each mean moved by ±ε, but not
  below .01 or above .99;
* ``practice``: sets like those of real applications, of 14 kinds, drawn by a seed. The truth of
  each run is drawn from the set's prior.

A user's own problems are contests too, in a group ``own``: under the truth that a problem names,
or else under each of its models, which then share the runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.checks import whole_number
from fpbandits.errors import InputError, quote, unknown
from fpbandits.problem.builtin import built_in
from fpbandits.problem.chain import refuse_moving
from fpbandits.problem.practice import practice
from fpbandits.problem.problem import Problem
from fpbandits.simulation.truths import PRIOR, is_drawn
from fpbandits.theory.contexts import PairStructure
from fpbandits.theory.lower import theorem2
from fpbandits.theory.structure import Structure

PRACTICE = "practice"
"""The name of the group of practice sets."""

MOST_TRUTHS = 1_000
"""Truths of one contest. Truth k is played with the seed ``MOST_TRUTHS`` · seed + k."""

_SIZES = ((2, 2), (6, 3), (24, 4), (256, 16))
"""Numbers of models and of arms of the random sets."""

_LEAST_GAP = 0.1
"""The smallest gap that a truth of a random set may have."""

_LEAST_COEFFICIENT = 0.2
"""The smallest coefficient of ln T in a random set whose regret must grow."""

_ERRORS = (0.01, 0.05, 0.1, 0.2)
"""The ε by which truths of the group ``wrong`` are off."""

_WRONG_TRUTHS = 10
"""Truths of each contest of this group; some may be equal."""


@dataclass(frozen=True)
class Contest:
    """A set of models and the truths to play under.

    Each truth is a model's name, a list of means outside Θ, or ``"prior"``: drawn for each run.
    """

    name: str
    group: str
    problem: Problem
    truths: Sequence[str | list[float]]

    @cached_property
    def lower_bound(self) -> float:
        """Theorem 2's coefficient of ln T, in the user's units, averaged over truths.

        To learn, any arm may be played, also one that is best under no model. The coefficient is 0
        if a truth is outside Θ.
        """
        weights = np.zeros(len(self.problem.models))
        for truth in self.truths:
            if not isinstance(truth, str):
                return 0.0
            weights += _weights(self.problem, truth) / len(self.truths)
        structure = (
            PairStructure(self.problem) if self.problem.contexts else Structure(self.problem)
        )
        coefficients = [
            weights[model] * _coefficient(structure, model)
            for model in np.flatnonzero(weights).tolist()
        ]
        return float(self.problem.rewards.width * sum(coefficients))


def _weights(problem: Problem, truth: str) -> Floats:
    """Return the probability with which each model is true."""
    count = len(problem.models)
    if is_drawn(problem, truth):
        weights = np.ones(count) if problem.prior is None else np.array(problem.prior)
    else:
        weights = np.zeros(count)
        weights[problem.index(truth)] = 1
    probabilities: Floats = weights / weights.sum()
    return probabilities


def _coefficient(structure: Structure | PairStructure, truth: int) -> float:
    """Return Theorem 2's coefficient under one model, over all arms, for rewards in [0, 1]."""
    if isinstance(structure, PairStructure):
        return structure.cheapest(truth).coefficient
    return theorem2(structure, truth).all_arms.coefficient


def contests(group: str | None = None, seed: int = 0) -> list[Contest]:
    """Return the contests of one group, or those of all groups but ``practice``, which take long.

    ``seed`` draws the sets of ``practice``; the other groups are the same for all seeds.
    """
    if group == PRACTICE:
        return _practice_contests(seed)
    if group is None:
        return [contest for contests_of in _GROUPS.values() for contest in contests_of()]
    if group not in _GROUPS:
        raise unknown("group", group, GROUPS)
    return _GROUPS[group]()


def own_contests(problems: Sequence[Problem]) -> list[Contest]:
    """Return a contest for each problem: under its own truth, or under all its models."""
    by_name: dict[str, Contest] = {}
    for problem in problems:
        if problem.name in by_name:
            raise InputError(
                f"two problems are called {quote(problem.name)}: give each a name of its own"
            )
        refuse_moving(problem, "a leaderboard")
        truths = list(problem.models) if problem.truth is None else [problem.truth]
        if len(truths) > MOST_TRUTHS:
            raise InputError(
                f"{problem.name} has {len(truths):,} models, too many to play each (at most "
                f"{MOST_TRUTHS:,}): let its file say which is true"
            )
        by_name[problem.name] = Contest(problem.name, "own", problem, truths)
    return list(by_name.values())


def _paper_contests() -> list[Contest]:
    two, permutations, grid = (built_in(f"paper:{n}") for n in ("two", "permutations", "grid"))
    return [
        Contest("two θ¹", "paper", two, ["theta1"]),
        Contest("two θ²", "paper", two, ["theta2"]),
        Contest("24 permutations", "paper", permutations, ["0.6,0.4,0.3,0.2"]),
        Contest("256 [.6 …]", "paper", grid, ["0.6,0.4,0.3,0.2"]),
        Contest("256 [.4 …]", "paper", grid, ["0.4,0.3,0.2,0.2"]),
    ]


def _random_contests() -> list[Contest]:
    """Return two contests of each size: one with bounded regret, one whose regret must grow.

    Sets of models are drawn until a truth of each kind is found; the two truths may come from
    different sets. Means are multiples of 1/20, at most six different ones in a set.
    """
    random_contests = []
    for models, arms in _SIZES:
        random = np.random.default_rng([models, arms])
        by_kind: dict[str, Contest] = {}
        while len(by_kind) < 2:
            levels = random.choice(np.arange(1, 20) / 20, min(6, 2 * models), replace=False)
            means = np.unique(random.choice(levels, (models, arms)), axis=0)
            if len(means) < models:
                continue
            problem = Problem.bernoulli(means, name=f"{models} models, {arms} arms")
            structure = Structure(problem)
            for truth in random.permutation(models).tolist():
                gaps = structure.gaps(truth)
                if (gaps > 0).sum() == 0 or gaps[gaps > 0].min() < _LEAST_GAP - 1e-9:
                    continue
                if not len(structure.confusion_set(truth)):
                    kind = "bounded"
                elif _coefficient(structure, truth) > _LEAST_COEFFICIENT:
                    kind = "logarithmic"
                else:
                    continue
                name = f"{models} × {arms} {kind}"
                by_kind.setdefault(kind, Contest(name, "random", problem, [problem.models[truth]]))
        random_contests += [by_kind["bounded"], by_kind["logarithmic"]]
    return random_contests


def _wrong_contests() -> list[Contest]:
    """Return two of the paper's sets under truths that are a model with each mean moved by ±ε."""
    wrong_contests = []
    for name, label, base in (
        ("permutations", "24", (0.6, 0.4, 0.3, 0.2)),
        ("grid", "256", (0.4, 0.3, 0.2, 0.2)),
    ):
        for error in _ERRORS:
            random = np.random.default_rng(round(1000 * error))
            problem, truths = built_in(f"paper:{name}"), list[str | list[float]]()
            while len(truths) < _WRONG_TRUTHS:
                truth = np.clip(np.array(base) + error * random.choice([-1, 1], 4), 0.01, 0.99)
                # Moved from one level of the grid to another, means can be those of a model.
                if np.abs(problem.means - truth).max(axis=1).min() > 1e-6:
                    truths.append(truth.tolist())
            wrong_contests.append(Contest(f"{label} off by {error:g}", "wrong", problem, truths))
    return wrong_contests


def _practice_contests(seed: int) -> list[Contest]:
    problems = practice(whole_number("seed", seed))
    return [Contest(problem.name, PRACTICE, problem, [PRIOR]) for problem in problems]


_GROUPS: dict[str, Callable[[], list[Contest]]] = {
    "paper": _paper_contests,
    "random": _random_contests,
    "wrong": _wrong_contests,
}
GROUPS = (*_GROUPS, PRACTICE)
"""The names of the groups that are built in."""
