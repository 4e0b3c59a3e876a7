"""Models that fit arm by arm: whose means all lie within a radius of the observed ones.

A model's *margin* is the least √((scale·ln t + offset)/n_i) − |μ̂_i − μ_i(θ)| over the arms played:
it fits while that is not negative. Over a stretch of plays the margin lies between two values,
which follow from the range of the observed mean.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import mean_ahead, spare
from fpbandits.policies.shared.levels import HIGH, LOW, NOW, Theta


class Box(NamedTuple):
    """Θ by level, and what n_i times the radius squared is: ``scale``·ln t + ``offset``."""

    theta: Theta
    scale: float
    offset: float


@jitted
def box_now(
    theta: Any, tally: Any, scratch: Any, scale: float, t: int, offset: float = 0.0
) -> None:
    """Fill by_model[NOW] with each model's margin."""
    margin, table = scratch.by_model[NOW], scratch.by_level[NOW]
    arms, models = theta.codes.shape
    for model in range(models):
        margin[model] = math.inf
    for arm in range(arms):
        n = tally.plays[arm]
        if n == 0:
            continue
        radius, mean = _radius(scale, t, offset, n), tally.sums[arm] / n
        for level in range(theta.counts[arm]):
            table[arm, level] = radius - abs(mean - theta.levels[arm, level])
        for model in range(models):
            margin[model] = min(margin[model], table[arm, theta.codes[arm, model]])


@jitted
def competitive(theta: Any, tally: Any, scratch: Any, scale: float, t: int) -> int:
    """Mark in marks[0] the arms that are best under a fitting model, and return how many.

    Where no model fits all arms are marked, and it is −1.
    """
    box_now(theta, tally, scratch, scale, t)
    marks, found = scratch.marks[0], 0
    arms, models = theta.codes.shape
    for arm in range(arms):
        marks[arm] = 0
    for model in range(models):
        if scratch.by_model[NOW, model] >= 0:
            found += 1 - marks[theta.best[0, model]]
            marks[theta.best[0, model]] = 1
    if found > 0:
        return found
    for arm in range(arms):
        marks[arm] = 1
    return -1


@jitted
def box_ahead(
    theta: Any,
    tally: Any,
    envelope: Any,
    scratch: Any,
    scale: float,
    t: int,
    more: int,
    offset: float = 0.0,
) -> None:
    """Enclose each model's margin while the first arm of the cycle is played on.

    by_model[LOW] and [HIGH] get the least and the largest value for 0 … ``more`` further plays.
    """
    least, most = scratch.by_model[LOW], scratch.by_model[HIGH]
    lowest, highest = scratch.by_level[LOW], scratch.by_level[HIGH]
    arms, models = theta.codes.shape
    for model in range(models):
        least[model] = math.inf
        most[model] = math.inf
    for arm in range(arms):
        n = tally.plays[arm]
        if n == 0:
            continue
        if arm == scratch.cycle[0]:
            low, high = mean_ahead(tally, envelope, arm, more)
            inner = _radius(scale, t, offset, n + more) - spare(max(abs(low), abs(high)))
            outer = _radius(scale, t + more, offset, n) + spare(max(abs(low), abs(high)))
        else:
            # To the last bit as in `box_now`: see FP-UCB.
            low = high = tally.sums[arm] / n
            inner = _radius(scale, t, offset, n)
            outer = _radius(scale, t + more, offset, n)
        for level in range(theta.counts[arm]):
            q = theta.levels[arm, level]
            lowest[arm, level] = inner - max(abs(low - q), abs(high - q))
            highest[arm, level] = outer - max(max(low - q, q - high), 0.0)
        for model in range(models):
            code = theta.codes[arm, model]
            least[model] = min(least[model], lowest[arm, code])
            most[model] = min(most[model], highest[arm, code])


@jitted
def _radius(scale: float, t: int, offset: float, n: int) -> float:
    return math.sqrt((scale * math.log(t) + offset) / n)
