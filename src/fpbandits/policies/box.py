"""Models that fit arm by arm: whose means all lie within a radius of the observed ones.

A model's *margin* is the least √(scale·ln t/n_i) − |μ̂_i − μ_i(θ)| over the arms played: it fits
while that is not negative. Over a stretch of plays the margin lies between two values, which follow
from the range of the observed mean.
"""

from __future__ import annotations

import math
from typing import Any

from fpbandits.policies.compiling import jitted
from fpbandits.policies.envelope import mean_ahead, spare
from fpbandits.policies.levels import HIGH, LOW, NOW


@jitted
def box_now(theta: Any, tally: Any, scratch: Any, scale: float, t: int) -> None:
    """Fill by_model[NOW] with each model's least margin √(scale·ln t/n_i) − |μ̂_i − μ_i(θ)|."""
    margin, table = scratch.by_model[NOW], scratch.by_level[NOW]
    arms, models = theta.codes.shape
    for model in range(models):
        margin[model] = math.inf
    for arm in range(arms):
        n = tally.plays[arm]
        if n == 0:
            continue
        radius, mean = math.sqrt(scale * math.log(t) / n), tally.sums[arm] / n
        for level in range(theta.counts[arm]):
            table[arm, level] = radius - abs(mean - theta.levels[arm, level])
        for model in range(models):
            margin[model] = min(margin[model], table[arm, theta.codes[arm, model]])


@jitted
def box_ahead(
    theta: Any, tally: Any, envelope: Any, scratch: Any, scale: float, t: int, more: int
) -> None:
    """Enclose each model's least margin while the first arm of the cycle is played on.

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
            inner = math.sqrt(scale * math.log(t) / (n + more)) - spare(max(abs(low), abs(high)))
            outer = math.sqrt(scale * math.log(t + more) / n) + spare(max(abs(low), abs(high)))
        else:
            # To the last bit as in `box_now`: see FP-UCB.
            low = high = tally.sums[arm] / n
            inner = math.sqrt(scale * math.log(t) / n)
            outer = math.sqrt(scale * math.log(t + more) / n)
        for level in range(theta.counts[arm]):
            q = theta.levels[arm, level]
            lowest[arm, level] = inner - max(abs(low - q), abs(high - q))
            highest[arm, level] = outer - max(max(low - q, q - high), 0.0)
        for model in range(models):
            code = theta.codes[arm, model]
            least[model] = min(least[model], lowest[arm, code])
            most[model] = min(most[model], highest[arm, code])
