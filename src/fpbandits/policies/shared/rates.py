"""How often to explore each arm: Theorem 2's program (`theory.lower`), solved for every model.

Policies that explore at the rate of the lower bound need its minimiser for the model that fits
best. The divergences are those of the reward distributions or, if a policy looks at means alone, of
Bernoulli distributions, whatever the family.

Each program is solved with arms and models in the order of their names. So the solution is the same
to the last bit whatever the order of arms and models in a run, and whichever programs were solved
before. Only where best arms tie does the order matter: a*(θ) is the first of them in the run.
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

    ``rivals[first[θ] : first[θ + 1]]`` are the indices of the models with a better arm that look
    like θ while a*(θ) is played. ``over_a`` and ``over_all``, both [θ, arm], are the minimisers
    over A, the arms that are best under some model, and over all arms; they are 0 for a*(θ).
    """

    first: Counts
    rivals: Counts
    over_a: Floats
    over_all: Floats


_MOST_MODELS = 5_000
"""The most models that programs are solved for, one each."""


def rates(problem: Problem, likelihood: str = LAW) -> Rates:
    """Solve Theorem 2's program for every model of a problem without contexts.

    With ``likelihood`` "means", divergences are those of rewards of 0 and 1 with the same means; a
    family of such rewards has them already.
    """
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
    model_order, arm_order = _order_of(problem.models), _order_of(problem.arms)
    # The rank of each model, and of each arm, in the order of names.
    model_ranks, arm_ranks = np.argsort(model_order), np.argsort(arm_order)
    sorted_by_name = _solutions(problem.reordered(model_order, arm_order))
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
            plays = sorted_by_name.plays(
                int(model_ranks[truth]),
                tuple(np.sort(model_ranks[against]).tolist()),
                tuple(np.sort(arm_ranks[arms]).tolist()),
            )
            table[truth] = plays[arm_ranks]  # back to the order of the run
    return Rates(
        first=np.cumsum([0, *map(len, rivals)], dtype=np.int64),
        rivals=np.concatenate(rivals).astype(np.int64),
        over_a=over_a,
        over_all=over_all,
    )


def _order_of(names: tuple[str, ...]) -> Ints:
    """Return the indices that sort the names."""
    return np.array(sorted(range(len(names)), key=names.__getitem__))


class _Solutions:
    """A problem in the order of names, and the solutions of its programs so far."""

    def __init__(self, problem: Problem) -> None:
        self._structure = Structure(problem)
        self._solved: dict[object, Floats] = {}

    def plays(self, truth: int, against: tuple[int, ...], arms: tuple[int, ...]) -> Floats:
        """Return the cheapest plays that tell ``truth`` from all of ``against``, by arm.

        They are 0 outside ``arms``.
        """
        key = truth, against, arms
        if key not in self._solved:
            # Without other arms the array is empty, and of floats unless told otherwise.
            among = np.array(arms, np.intp)
            pulls = cheapest(self._structure, truth, np.array(against), among).pulls
            self._solved[key] = np.zeros(self._structure.means.shape[1])
            self._solved[key][list(pulls)] = list(pulls.values())
        return self._solved[key]


@lru_cache(maxsize=16)
def _solutions(problem: Problem) -> _Solutions:
    """Return the same object for equal problems: runs that shuffle a problem share solutions."""
    return _Solutions(problem)
