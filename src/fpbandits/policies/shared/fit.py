"""How well each model fits what was seen: the part of a workspace that weighing policies share."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.levels import Theta


class Memo(NamedTuple):
    """What is still known from the plan before, where there are several contexts.

    Attributes
    ----------
    seen
        [pair, ·]: what the costs of a pair follow from: its plays, sum and statistics.
    cost
        [pair, model]: what the rewards of the pair cost the model.
    above, reference
        [context, model]: the cost in a context less that of a reference model; which one that is.
    model, surprise
        A single number, a model; and by pair how much its mean there surprises. NaN: not known yet.
    allowed, total
        By context, how much surprise is allowed, and how much there is. NaN: not known yet.
    """

    seen: Floats
    cost: Floats
    above: Floats
    reference: Counts
    model: Counts
    surprise: Floats
    allowed: Floats
    total: Floats


class Fit(NamedTuple):
    """How well each model fits, as `weigh` and `bracket` leave it.

    Attributes
    ----------
    reference, least
        A single number each: the model that fits best, and its own deficit to the best means.
    deficit
        Of every model, its log-likelihood deficit: how much less likely it makes what was seen than
        the model that fits best.
    lowest, highest
        What a deficit can become during a stretch of plays, less that of the reference.
    by_level, lowest_of, highest_of
        The same by arm and level; and by level, of one arm at a time.
    memo
        What need not be computed again in the next plan.
    """

    reference: Counts
    least: Floats
    deficit: Floats
    lowest: Floats
    highest: Floats
    by_level: Floats
    lowest_of: Floats
    highest_of: Floats
    memo: Memo


class FitOnly(NamedTuple):
    """The workspace of rules that only weigh the models."""

    cycle: Counts
    fit: Fit


def new_fit(theta: Theta) -> Fit:
    """Make room for every model and level; and for every context, if there are several."""
    (pairs, models), levels = theta.codes.shape, theta.levels.shape[1]
    contexts = len(theta.best) if len(theta.best) > 1 else 0
    noted = pairs if contexts else 0
    memo = Memo(
        seen=np.full((noted, 2 + theta.cost.shape[2]), -1.0),
        cost=np.zeros((noted, models)),
        above=np.zeros((contexts, models)),
        reference=np.full(contexts, -1),
        model=np.full(1, -1),
        surprise=np.zeros(noted),
        allowed=np.zeros(contexts),
        total=np.zeros(contexts),
    )
    return Fit(
        reference=np.zeros(1, np.int64),
        least=np.zeros(1),
        deficit=np.zeros(models),
        lowest=np.zeros(models),
        highest=np.zeros(models),
        by_level=np.zeros((pairs, levels)),
        lowest_of=np.zeros(levels),
        highest_of=np.zeros(levels),
        memo=memo,
    )


@jitted
def first_best(deficit: Floats, least: float) -> int:
    """Return the first model whose deficit is the least one, or equal to it."""
    model = 0
    while deficit[model] > least + EQUAL:
        model += 1
    return model


@jitted
def minimum(values: Floats) -> float:
    """Return the least of several numbers."""
    least = math.inf
    for place in range(values.size):
        least = min(least, values[place])
    return least
