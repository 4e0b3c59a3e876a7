"""How often to explore each arm: Theorem 2's program (`theory.lower`), solved for every model.

Policies that explore at the rate of the lower bound need its minimiser for the model that fits
best. The divergences are those of the reward distributions or, if a policy looks at means alone, of
Bernoulli distributions, whatever the family.

Each program is solved with arms and models in the order of their names. So the solution is the same
to the last bit whatever the order of arms and models in a run, and whichever programs were solved
before. Only where best arms tie does the order matter: a*(θ) is the first of them in the run.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
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
    like θ while a*(θ) is played. ``plays``, [θ, arm], is the minimiser; it is 0 for a*(θ).
    """

    first: Counts
    rivals: Counts
    plays: Floats


_MOST_MODELS = 5_000
"""The most models that programs are solved for, one each."""


def rates(problem: Problem, likelihood: str = LAW, *, everywhere: bool) -> Rates:
    """Solve Theorem 2's program for every model of a problem without contexts.

    It is over all arms if ``everywhere``, else over A, the arms that are best under some model.
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
    solve = _solutions(problem.reordered(model_order, arm_order))
    rivals = [structure.must_explore(truth) for truth in range(len(problem.models))]
    among = np.arange(len(problem.arms)) if everywhere else structure.candidate_arms
    plays = np.zeros(structure.means.shape)
    for truth, against in enumerate(rivals):
        if not len(against):
            continue
        arms = among[among != structure.best_arm[truth]]
        solution = solve(
            int(model_ranks[truth]),
            tuple(np.sort(model_ranks[against]).tolist()),
            tuple(np.sort(arm_ranks[arms]).tolist()),
        )
        plays[truth] = solution[arm_ranks]  # back to the order of the run
    return Rates(
        first=np.cumsum([0, *map(len, rivals)], dtype=np.int64),
        rivals=np.concatenate(rivals).astype(np.int64),
        plays=plays,
    )


def _order_of(names: tuple[str, ...]) -> Ints:
    """Return the indices that sort the names."""
    return np.array(sorted(range(len(names)), key=names.__getitem__))


@lru_cache(maxsize=16)
def _solutions(problem: Problem) -> Callable[[int, tuple[int, ...], tuple[int, ...]], Floats]:
    """Return the function that solves a problem's programs, each of them once.

    Equal problems have the same one, so runs that shuffle a problem share solutions.
    """
    structure = Structure(problem)

    @cache
    def solve(truth: int, against: tuple[int, ...], arms: tuple[int, ...]) -> Floats:
        """Return the cheapest plays that tell ``truth`` from all of ``against``, by arm.

        They are 0 outside ``arms``.
        """
        # Without other arms the array is empty, and of floats unless told otherwise.
        pulls = cheapest(structure, truth, np.array(against), np.array(arms, np.intp)).pulls
        plays = np.zeros(len(problem.arms))
        plays[list(pulls)] = list(pulls.values())
        return plays

    return solve
