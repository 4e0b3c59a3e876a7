"""Which models fit arm by arm, by the definition: the oracle of UCB-S, mUCB, UCB-C and TS-C."""

from __future__ import annotations

import math

import numpy as np
from moments import Moment

from fpbandits import MUCB


def fitting(one: Moment, more: int, by: float) -> tuple[np.ndarray, np.ndarray]:
    """Which models surely fit, and which may, while the arm is played up to ``more`` times again.

    Radii are wider by ``by``.
    """
    surely, maybe = np.ones((2, len(one.unit_means)), bool)

    def radius(t: int, n: float) -> float:
        if isinstance(one.policy, MUCB):
            return math.sqrt(math.log(len(one.unit_means) * t**3) / (2 * n))
        alpha: float = getattr(one.policy, "alpha")  # noqa: B009  # policies in general have none
        scale = alpha / 4 if one.policy.name == "ucb-s" else alpha / 2
        return math.sqrt(scale * math.log(t) / n)

    for arm, means in enumerate(one.unit_means.T):
        n = one.state.plays[arm]
        low = high = one.seen[arm]
        smallest, largest = radius(one.t, n), radius(one.t + more, n)
        if arm == one.cycle[0]:
            low, high = one.mean_ahead(arm, more)
            smallest = radius(one.t, n + more)
        surely &= np.maximum(abs(low - means), abs(high - means)) <= smallest + by
        maybe &= np.maximum(np.maximum(low - means, means - high), 0) <= largest - by
    return surely, maybe
