"""Beliefs that forget, for truths that change."""

from __future__ import annotations

import math
from typing import Any

from fpbandits.engine.compiling import jitted
from fpbandits.engine.policy import CLOCK
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.levels import NOW


@jitted
def leak(prior: Any, tally: Any, scratch: Any, change_rate: float) -> None:
    """Turn by_model[NOW], what `weigh` left there, into −ln of beliefs that forget.

    Before each play, with probability r = ``change_rate``, the truth may have been drawn anew from
    the prior: so a belief is (1 − r) of what rewards made of it and r of the prior. The least
    becomes 0. ``tally.beliefs`` keeps them, the misfits up to there, and the clock.
    """
    now, beliefs = scratch.by_model[NOW], tally.beliefs
    models = now.size
    plays = tally.counters[CLOCK] - beliefs[2 * models]
    mass = 0.0
    for model in range(models):
        mass += math.exp(-prior[model])
    kept = (1 - change_rate) ** plays
    least = math.inf
    for model in range(models):
        known = beliefs[model] if beliefs[2 * models + 1] > 0 else prior[model]
        moved = known + (now[model] - beliefs[models + model])
        beliefs[models + model] = now[model]
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
        now[model] = beliefs[model]
    beliefs[2 * models] = tally.counters[CLOCK]
    beliefs[2 * models + 1] = 1.0
