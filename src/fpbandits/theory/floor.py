"""The floor: the least Bayes regret of any policy, even of one that knows Θ, the prior and T.

It is computed by belief for two models and by counts for few arms and a short horizon; everywhere
else pairs of models bound it from below.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np

from fpbandits.core.checks import amount, whole_number
from fpbandits.errors import InputError
from fpbandits.families.revenue import Revenue
from fpbandits.problem.chain import refuse_moving
from fpbandits.problem.files import the_problem
from fpbandits.problem.problem import Problem
from fpbandits.theory.beliefs import BUDGET
from fpbandits.theory.bracket import Lower, Upper, follow, stages
from fpbandits.theory.counts import CountProgram
from fpbandits.theory.pairs import floor_by_pairs

LONGEST = 10**6
"""The longest horizon: a floor takes a step for each play."""

MOST_MODELS = 2_000
"""The most models of a floor by pairs: the number of pairs grows with its square."""

_MOST_STATES = 1_000_000
"""States of a floor by counts, which may take about a second."""


@dataclass(frozen=True)
class Floor:
    """The least Bayes regret of any policy, in the user's units.

    Attributes
    ----------
    value
        A proven lower bound: no policy has a smaller Bayes regret, even if it knows Θ, the prior
        and T.
    upper
        The Bayes regret of a certain policy, so that the least lies between the two; None where no
        such policy is known.
    method
        Dynamic programming by "belief" (two models) or by "counts" (few arms, a short horizon), or
        a linear program over "pairs" of models. By counts it is exact; for a longer horizon, where
        ``upper`` is None, it is the floor of the longest one that can be counted.
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
    """Return the least Bayes regret of any policy over ``horizon`` plays.

    Bayes regret is the mean over truths drawn from the problem's prior; without one all models are
    equally likely.

    Parameters
    ----------
    problem
        The candidate models, or what `load_problem` takes, such as "paper:two".
    horizon
        T, the number of plays.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> print(fpb.floor("paper:two", horizon=1000))
    0.9607
    """
    return floor_curve(problem, [horizon])[0]


def is_known(problem: Problem, horizon: int) -> bool:
    """Tell whether a floor is known: for few enough models and plays, but not for revenue."""
    few = horizon <= LONGEST and len(problem.models) <= MOST_MODELS
    return few and not isinstance(problem.rewards, Revenue)


def floor_curve(
    problem: Problem | str | os.PathLike[str],
    times: Sequence[float],
    progress: Callable[[float], None] | None = None,
) -> tuple[Floor, ...]:
    """Return the floor for each of several horizons, in increasing order, in one pass.

    ``progress`` is called often with the share of the work that is done. An error that it raises
    ends the work.
    """
    tell: Callable[[float], None] = progress or (lambda share: None)
    problem = the_problem(problem)
    refuse_moving(problem, "a floor")
    if isinstance(problem.rewards, Revenue):
        raise InputError(f"{problem.name}: floors of {problem.rewards.name} rewards are not known")
    horizons = [whole_number("horizon", time, least=1, most=LONGEST) for time in times]
    if not horizons or any(a >= b for a, b in pairwise(horizons)):
        raise InputError("a floor's times must increase, and there must be one")
    problem = possible_models(problem)
    if len(problem.models) == 1:
        return tuple(Floor(0.0, 0.0, "belief") for _ in horizons)
    if len(problem.models) == 2:
        return _by_belief(problem, horizons, tell)
    longest = CountProgram.longest(problem, _MOST_STATES)
    short = [horizon for horizon in horizons if horizon <= longest]
    later = horizons[len(short) :]
    if later and len(problem.models) > MOST_MODELS:
        raise InputError(
            f"{problem.name}: a floor is known for at most {MOST_MODELS:,} models, not for "
            f"{len(problem.models):,}"
        )
    if not later:
        return _by_counts(problem, short, tell)
    # What must be lost in fewer plays must be lost in more.
    exact = _by_counts(problem, [*short, longest], lambda share: tell(share / 4)) if longest else ()
    least = exact[-1].value if exact else 0.0
    bounds = floor_by_pairs(problem, later, lambda share: tell((1 + 3 * share) / 4))
    return (
        *exact[: len(short)],
        *(
            Floor(bound, None, "pairs") if bound >= least else Floor(least, None, "counts")
            for bound in bounds.tolist()
        ),
    )


def _by_counts(
    problem: Problem, times: Sequence[int], tell: Callable[[float], None]
) -> tuple[Floor, ...]:
    """Return the exact floors of short horizons."""
    program = CountProgram.of(problem, times[-1])
    assert program is not None
    return tuple(Floor(value, value, "counts") for value in program.values(times, tell=tell))


def _by_belief(
    problem: Problem, times: Sequence[int], tell: Callable[[float], None]
) -> tuple[Floor, ...]:
    """Return the floors of two models, each with its bracket."""
    grids = stages(problem, times[-1], BUDGET)
    prior = grids[0][1].log_odds[[grids[0][1].start]]
    low = {
        bound.plays: float(bound.at(prior)[0])
        for bound in follow(Lower, grids, times, lambda share: tell(share / 3))
    }
    high = {
        bound.plays: bound.bound
        for bound in follow(Upper, grids, times, lambda share: tell((1 + 2 * share) / 3))
    }
    # Where the bracket is narrower than rounding, its ends may cross.
    return tuple(Floor(min(low[time], high[time]), high[time], "belief") for time in times)


def possible_models(problem: Problem) -> Problem:
    """Return a problem without the models that its prior rules out."""
    if problem.prior is None or all(problem.prior):
        return problem
    possible = np.flatnonzero(problem.prior)
    return replace(problem, truth=None).reordered(possible, np.arange(len(problem.arms)))
