"""Models that fit arm by arm: all their means lie within a radius of the observed ones.

A model's *margin* is the least √((scale·ln t + offset)/n_i) − |μ̂_i − μ_i(θ)| over the arms played.
The model fits while its margin is not negative. Over a stretch of plays the margin lies between two
values, which follow from the range of the observed mean.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import Envelope, State
from fpbandits.engine.envelope import mean_ahead, spare
from fpbandits.policies.shared.levels import Theta


class Box(NamedTuple):
    """Θ by level; and the radius of arm i: its square is (``scale``·ln t + ``offset``)/n_i."""

    theta: Theta
    scale: float
    offset: float


class Margins(NamedTuple):
    """Each model's margin, and limits of it during the plays ahead.

    ``of``, ``lowest_of`` and ``highest_of`` are the same by level, for one arm at a time.
    """

    now: Floats
    lowest: Floats
    highest: Floats
    of: Floats
    lowest_of: Floats
    highest_of: Floats


def new_margins(theta: Theta) -> Margins:
    """Allocate `Margins`."""
    models, levels = theta.codes.shape[1], theta.levels.shape[1]
    return Margins(*np.zeros((3, models)), *np.zeros((3, levels)))


@jitted
def box_now(box: Box, state: State, margins: Margins, t: int) -> None:
    """Fill ``margins.now``, after t plays."""
    theta, now = box.theta, margins.now
    arms, models = theta.codes.shape
    now.fill(math.inf)
    for arm in range(arms):
        n = state.plays[arm]
        if n == 0:
            continue
        radius, mean = _radius(box, t, n), state.sums[arm] / n
        for level in range(theta.counts[arm]):
            margins.of[level] = radius - abs(mean - theta.levels[arm, level])
        for model in range(models):
            now[model] = min(now[model], margins.of[theta.codes[arm, model]])


@jitted
def competitive(box: Box, state: State, margins: Margins, marks: Counts, t: int) -> int:
    """Mark with 1 the arms that are best under a fitting model, and return how many.

    If no model fits, mark all eligible arms, and return −1.
    """
    box_now(box, state, margins, t)
    marked = 0
    marks.fill(0)
    for model in range(margins.now.size):
        if margins.now[model] >= 0:
            marked += 1 - marks[box.theta.best[0, model]]
            marks[box.theta.best[0, model]] = 1
    if marked > 0:
        return marked
    for arm in range(marks.size):
        marks[arm] = box.theta.eligible[arm]
    return -1


@jitted
def box_ahead(
    box: Box, state: State, margins: Margins, envelope: Envelope, played: int, t: int, more: int
) -> None:
    """Fill ``margins.lowest`` and ``margins.highest``.

    These are limits of each model's margin over 0 … ``more`` further plays of the arm ``played``.
    """
    theta, least, most = box.theta, margins.lowest, margins.highest
    arms, models = theta.codes.shape
    least.fill(math.inf)
    most.fill(math.inf)
    for arm in range(arms):
        n = state.plays[arm]
        if n == 0:
            continue
        if arm == played:
            low, high = mean_ahead(state, envelope, arm, more)
            inner = _radius(box, t, n + more) - spare(max(abs(low), abs(high)))
            outer = _radius(box, t + more, n) + spare(max(abs(low), abs(high)))
        else:
            # To the last bit as in `box_now`; FP-UCB's stability check says why.
            low = high = state.sums[arm] / n
            inner = _radius(box, t, n)
            outer = _radius(box, t + more, n)
        for level in range(theta.counts[arm]):
            q = theta.levels[arm, level]
            margins.lowest_of[level] = inner - max(abs(low - q), abs(high - q))
            margins.highest_of[level] = outer - max(max(low - q, q - high), 0.0)
        for model in range(models):
            code = theta.codes[arm, model]
            least[model] = min(least[model], margins.lowest_of[code])
            most[model] = min(most[model], margins.highest_of[code])


@jitted
def _radius(box: Box, t: int, n: int) -> float:
    """Return the radius around the mean of n rewards after t plays."""
    return math.sqrt((box.scale * math.log(t) + box.offset) / n)
