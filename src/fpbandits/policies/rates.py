"""How often each arm should be explored: Theorem 2's program, solved once for every model.

Policies that explore at the rate of the lower bound need its minimiser for whichever model fits
best. They look at means alone, so the divergences are those of Bernoulli laws, whatever the family.
A problem whose arms or models are in another order has the same solutions, so shuffled runs share
them: they are kept by name, and by which of tied arms counts as best.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fpbandits.arrays import Counts, Floats
from fpbandits.errors import InputError
from fpbandits.problem import Problem
from fpbandits.theory.lower import theorem2
from fpbandits.theory.structure import Structure


class Rates(NamedTuple):
    """For every model: whom to tell it apart from, and plays of each arm per unit of ln t.

    ``rivals[first[θ] : first[θ + 1]]`` are the models with a better arm that look like θ while
    a*(θ) is played; ``over_a`` and ``over_all`` are the minimisers over the arms of A and over all.
    """

    first: Counts
    rivals: Counts
    over_a: Floats
    over_all: Floats


_solved: dict[object, dict[tuple[str, str], tuple[dict[str, float], dict[str, float]]]] = {}
_MOST_PROBLEMS = 16
_MOST_MODELS = 5_000


def rates(problem: Problem) -> Rates:
    """Solve Theorem 2's program for every model of a problem."""
    if not problem.rewards.all_or_nothing:
        problem = Problem.bernoulli(
            problem.rewards.unit_means,
            arms=problem.arms,
            parameters=problem.parameters,
            name=problem.name,
        )
    if len(problem.parameters) > _MOST_MODELS:
        raise InputError(
            f"{problem.name}: {len(problem.parameters):,} parameters are too many for a policy "
            f"that solves a program for each (at most {_MOST_MODELS:,}): choose another policy"
        )
    structure = Structure(problem)
    solved = _solutions(problem)
    rivals = [structure.must_explore(true) for true in range(len(problem.parameters))]
    over_a = np.zeros(structure.means.shape)
    over_all = np.zeros(structure.means.shape)
    for true, name in enumerate(problem.parameters):
        if not len(rivals[true]):
            continue
        key = name, problem.arms[structure.best_arm[true]]
        if key not in solved:
            bound = theorem2(structure, true)
            solved[key] = (
                {problem.arms[arm]: c for arm, c in bound.candidate_arms.pulls.items()},
                {problem.arms[arm]: c for arm, c in bound.all_arms.pulls.items()},
            )
        for table, pulls in zip((over_a, over_all), solved[key], strict=True):
            table[true] = [pulls.get(arm, 0.0) for arm in problem.arms]
    return Rates(
        first=np.cumsum([0, *(len(some) for some in rivals)], dtype=np.int64),
        rivals=np.concatenate(rivals).astype(np.int64),
        over_a=over_a,
        over_all=over_all,
    )


def _solutions(
    problem: Problem,
) -> dict[tuple[str, str], tuple[dict[str, float], dict[str, float]]]:
    """Return what is solved already of this problem, in whatever order its arms and models are."""
    parameters, arms = np.argsort(problem.parameters), np.argsort(problem.arms)
    means = problem.rewards.unit_means[np.ix_(parameters, arms)]
    key = (
        means.tobytes(),
        tuple(problem.parameters[place] for place in parameters),
        tuple(problem.arms[place] for place in arms),
    )
    if key not in _solved:
        while len(_solved) >= _MOST_PROBLEMS:
            _solved.pop(next(iter(_solved)))
        _solved[key] = {}
    return _solved[key]
