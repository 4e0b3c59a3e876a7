"""Beliefs that forget, for truths that change."""

from __future__ import annotations

import math

from fpbandits.core.arrays import Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CLOCK, State
from fpbandits.families.information import IMPOSSIBLE


@jitted
def leak(prior: Floats, state: State, deficit: Floats, change_rate: float) -> None:
    """Turn the deficits that `weigh` left into −ln of beliefs that forget.

    Before each play, with probability r = ``change_rate``, the truth may have been drawn anew from
    the prior: so a belief is (1 − r) of what rewards made of it and r of the prior. The least
    becomes 0. ``state.extra`` keeps them, the deficits up to there, and the clock.
    """
    beliefs, models = state.extra, deficit.size
    plays = state.counters[CLOCK] - beliefs[2 * models]
    mass = 0.0
    for model in range(models):
        mass += math.exp(-prior[model])
    kept = (1 - change_rate) ** plays
    least = math.inf
    for model in range(models):
        before = beliefs[model] if beliefs[2 * models + 1] > 0 else prior[model]
        moved = before + (deficit[model] - beliefs[models + model])
        beliefs[models + model] = deficit[model]
        beliefs[model] = moved
        least = min(least, moved)
    total = 0.0
    for model in range(models):
        total += math.exp(least - beliefs[model])
    highest = 0.0
    for model in range(models):
        belief = kept * math.exp(least - beliefs[model]) / total
        belief += (1 - kept) * math.exp(-prior[model]) / mass
        beliefs[model] = belief
        highest = max(highest, belief)
    for model in range(models):
        belief = beliefs[model] / highest
        beliefs[model] = -math.log(belief) if belief > 0 else IMPOSSIBLE
        deficit[model] = beliefs[model]
    beliefs[2 * models] = state.counters[CLOCK]
    beliefs[2 * models + 1] = 1.0
