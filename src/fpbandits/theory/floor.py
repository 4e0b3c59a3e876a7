"""The floor: the least Bayes regret that any policy can have that knows Θ, the prior and T.

Three programs find it, each where it applies: by belief for two models, by counts for few arms and
a short horizon, and by pairs of models for all else.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from fpbandits.core.arrays import Floats, Ints
from fpbandits.core.checks import amount, whole_number
from fpbandits.errors import InputError
from fpbandits.problem.files import the_problem
from fpbandits.problem.problem import Problem
from fpbandits.theory.beliefs import BUDGET, Beliefs
from fpbandits.theory.counts import CountProgram
from fpbandits.theory.pairs import floor_by_pairs

LONGEST = 10**6
"""Plays: a floor takes a step for each of them."""

MOST_MODELS = 2_000

_POINTS = 5_000
"""Beliefs that a policy is evaluated on: it decides at each of them, at every time."""

_WIDE = 0.01
"""A bracket wider than this part of the floor is tried again, with four times the arithmetic."""


@dataclass(frozen=True)
class Floor:
    """The least Bayes regret of any policy, in the user's units.

    Attributes
    ----------
    value
        No policy that knows Θ, the prior and T has a smaller one: proven.
    upper
        The regret of a policy that is known exactly, so that the least lies between the two; None
        where no such policy is known.
    method
        Dynamic programming by "belief" (two models) or by "counts" (few arms, a short horizon:
        exact), or a linear program over "pairs" of models.
    """

    value: float
    upper: float | None
    method: Literal["belief", "counts", "pairs"]

    def __str__(self) -> str:
        if self.upper is None:
            return f"at least {amount(self.value)}"
        low, high = amount(self.value), amount(self.upper)
        return low if low == high else f"between {low} and {high}"


def floor(problem: Problem | str | os.PathLike[str], horizon: float) -> Floor:
    """Return the least Bayes regret that any policy can have over ``horizon`` plays.

    Bayes regret is the mean over truths drawn from the problem's prior; without one all models are
    equally likely.

    Parameters
    ----------
    problem
        The candidate models; or what `load_problem` takes, such as "paper:two".
    horizon
        T, the number of plays.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> print(fpb.floor("paper:two", horizon=1000))
    0.9607
    """
    return floor_curve(problem, [horizon])[0]


def floor_curve(
    problem: Problem | str | os.PathLike[str], times: Sequence[float]
) -> tuple[Floor, ...]:
    """Return the floor for each of several horizons, in increasing order, in one pass."""
    problem = the_problem(problem)
    horizons = [whole_number("horizon", time, least=1, most=LONGEST) for time in times]
    if not horizons or any(a >= b for a, b in pairwise(horizons)):
        raise InputError("a floor's times must increase, and there must be one")
    problem = possible_models(problem)
    if len(problem.models) == 1:
        return tuple(Floor(0.0, 0.0, "belief") for _ in horizons)
    if len(problem.models) == 2:
        return _by_belief(problem, horizons)
    program = CountProgram.of(problem, horizons[-1])
    if program is not None:
        values = [program.value(horizon) for horizon in horizons]
        return tuple(Floor(value, value, "counts") for value in values)
    if len(problem.models) > MOST_MODELS:
        raise InputError(
            f"{problem.name}: a floor is known for at most {MOST_MODELS:,} models, not for "
            f"{len(problem.models):,}"
        )
    return tuple(Floor(float(v), None, "pairs") for v in floor_by_pairs(problem, horizons))


def _by_belief(problem: Problem, times: Sequence[int]) -> tuple[Floor, ...]:
    places = np.array(times) - 1
    for budget in (BUDGET, 4 * BUDGET):
        beliefs = Beliefs.of(problem, times[-1], budget)
        low, high = beliefs.lower(times)[0][places], beliefs.upper(times[-1])[0][places]
        if ((high - low) <= _WIDE * high).all():
            break
    # Where the bracket is narrower than rounding, its ends may cross.
    return tuple(
        Floor(float(min(a, b)), float(b), "belief") for a, b in zip(low, high, strict=True)
    )


def possible_models(problem: Problem) -> Problem:
    """Leave out the models that the prior rules out."""
    if problem.prior is None or all(problem.prior):
        return problem
    kept = np.flatnonzero(problem.prior)
    return replace(problem, truth=None).reordered(kept, np.arange(len(problem.arms)))


def regret_by_belief(
    problem: Problem, decide: Callable[[int, Floats], Ints], horizon: int
) -> Floats:
    """Return the Bayes regret, after each play, of a policy that decides by posterior and time.

    For two models without contexts. ``decide(t, posterior)`` gives the arm of decision t = 1, 2, …
    for each row of ``posterior``, which has a column per model. A belief between two points of the
    grid is shared out between them, so that the mean of the posterior is kept.
    """
    if len(problem.models) != 2 or problem.contexts:
        raise InputError(f"{problem.name}: beliefs are one number for two models without contexts")
    beliefs = Beliefs.of(problem, horizon, budget=math.inf, most_points=_POINTS)
    return beliefs.regret(decide, horizon)
