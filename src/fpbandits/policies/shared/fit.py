"""How well each model fits the rewards: the part of a workspace that likelihood policies share."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.levels import Theta


class Memo(NamedTuple):
    """Numbers of the last plan that the next one can use again, where there are several contexts.

    Costs are −ln of likelihoods. See `fpbandits.policies.shared.memo`.

    Attributes
    ----------
    seen
        [pair, 2 + K]: plays, sum and statistics of a pair when its costs were computed.
    cost
        [pair, model]: what the rewards of the pair cost the model.
    above
        [context, model]: the cost in a context, less the cost to the context's reference model.
    reference
        By context, that reference model; −1: ``above`` is to be computed again.
    model, surprise
        One model, as an array of one; by pair, the surprise of the pair's rewards at its mean. NaN:
        to be computed.
    allowed, total
        By context, the surprise allowed, and the surprise of ``model``. NaN: to be computed.
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
    reference
        The model θ̂ that fits best, the first of equals, as an array of one.
    least
        The deficit of θ̂ to the best means of all, as an array of one.
    deficit
        By model, how much less log-likelihood it has than θ̂.
    lowest, highest
        By model, limits of its deficit during the plays ahead.
    by_level
        [arm, level]: the part of the deficit that comes from the arm.
    lowest_of, highest_of
        By level, limits of that part, for one arm at a time.
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
    """Allocate a `Fit`; its memo is empty unless there are several contexts."""
    (pairs, models), levels = theta.codes.shape, theta.levels.shape[1]
    contexts = len(theta.best) if len(theta.best) > 1 else 0
    memo_pairs = pairs if contexts else 0
    memo = Memo(
        seen=np.full((memo_pairs, 2 + theta.cost.shape[2]), -1.0),
        cost=np.zeros((memo_pairs, models)),
        above=np.zeros((contexts, models)),
        reference=np.full(contexts, -1),
        model=np.full(1, -1),
        surprise=np.zeros(memo_pairs),
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
    """Return the first model whose deficit equals ``least``, the least of all."""
    model = 0
    while deficit[model] > least + EQUAL:
        model += 1
    return model


@jitted
def minimum(values: Floats) -> float:
    """Return the least of the values; infinity if there are none."""
    least = math.inf
    for index in range(values.size):
        least = min(least, values[index])
    return least
