"""How often each arm should be explored: Theorem 2's program, solved once for every model.

Policies that explore at the rate of the lower bound need its minimiser for the model that fits
best. The divergences are those of the reward distributions or, if a policy looks at means alone, of
Bernoulli distributions, whatever the family.

Each program is solved with arms and models in the order of their names. So not a bit of its
solution depends on the order of arms and models in a run, nor on which programs were solved before.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts, Floats, Ints
from fpbandits.errors import InputError
from fpbandits.policies.shared.likelihood import LAW, MEANS
from fpbandits.problem.problem import Problem
from fpbandits.theory.lower import cheapest
from fpbandits.theory.structure import Structure


class Rates(NamedTuple):
    """For every model: its rivals, and plays of each arm per unit of ln t.

    ``rivals[first[θ] : first[θ + 1]]`` are the models with a better arm that look like θ while
    a*(θ) is played; ``over_a`` and ``over_all`` are the minimisers over the arms of A and over all.
    """

    first: Counts
    rivals: Counts
    over_a: Floats
    over_all: Floats


_MOST_MODELS = 5_000
"""The most models that programs are solved for, one each."""


def rates(problem: Problem, likelihood: str = LAW) -> Rates:
    """Solve Theorem 2's program for every model of a problem."""
    if likelihood == MEANS and not problem.rewards.all_or_nothing:
        problem = Problem.bernoulli(
            problem.rewards.unit_means, arms=problem.arms, models=problem.models, name=problem.name
        )
    if len(problem.models) > _MOST_MODELS:
        raise InputError(
            f"{len(problem.models):,} models are too many for a policy "
            f"that solves a program for each (at most {_MOST_MODELS:,}): choose another policy"
        ).at(problem.name)
    structure = Structure(problem)
    model_order, arm_order = _by_name(problem.models), _by_name(problem.arms)
    # The rank of each model, and of each arm, in the order of names.
    model_ranks, arm_ranks = np.argsort(model_order), np.argsort(arm_order)
    named = _named(problem.reordered(model_order, arm_order))
    rivals = [structure.must_explore(truth) for truth in range(len(problem.models))]
    over_a = np.zeros(structure.means.shape)
    over_all = np.zeros(structure.means.shape)
    for truth, against in enumerate(rivals):
        if not len(against):
            continue
        for table, among in (
            (over_a, structure.candidate_arms),
            (over_all, np.arange(len(problem.arms))),
        ):
            arms = among[among != structure.best_arm[truth]]
            table[truth] = named.plays(
                int(model_ranks[truth]),
                tuple(np.sort(model_ranks[against]).tolist()),
                tuple(np.sort(arm_ranks[arms]).tolist()),
            )[arm_ranks]
    return Rates(
        first=np.cumsum([0, *map(len, rivals)], dtype=np.int64),
        rivals=np.concatenate(rivals).astype(np.int64),
        over_a=over_a,
        over_all=over_all,
    )


def _by_name(names: tuple[str, ...]) -> Ints:
    """Return the indices that sort the names."""
    return np.array(sorted(range(len(names)), key=names.__getitem__))


class _Named:
    """A problem in the order of names, and the solutions of its programs so far."""

    def __init__(self, problem: Problem) -> None:
        self._structure = Structure(problem)
        self._solved: dict[object, Floats] = {}

    def plays(self, truth: int, against: tuple[int, ...], arms: tuple[int, ...]) -> Floats:
        """Return the cheapest plays, by arm, of these arms that tell a model from others."""
        key = truth, against, arms
        if key not in self._solved:
            pulls = cheapest(
                self._structure, truth, np.array(against), np.array(arms, np.intp)
            ).pulls
            self._solved[key] = np.zeros(self._structure.means.shape[1])
            self._solved[key][list(pulls)] = list(pulls.values())
        return self._solved[key]


@lru_cache(maxsize=16)
def _named(problem: Problem) -> _Named:
    """Return the same object for equal problems: runs that shuffle one share its solutions."""
    return _Named(problem)
