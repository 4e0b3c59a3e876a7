"""MOSS (Audibert, Bubeck 2009): UCB for the worst case, told the horizon.

Each arm once; then, with L arms and T plays in all, the arm with the largest index

    μ̂_i + √(max(0, ln(T/(L·n_i)))/n_i),

the first of equals. An arm that has had its share T/L of the plays is taken at its mean. For
rewards in [0, 1] regret is at most 49 √(LT), whatever the means are.

T is the option ``horizon``, in contexts that of each. By default it is 0, and then t, the plays so
far, stands in its place: this is our own use of the index, without a guarantee (Degenne and Perchet
2016 have one for another factor in the root).

How long will the leader surely lead? Its index is at least that of its lowest mean in the envelope
and of all the plays to come: T/n falls, and so does t/n while it is played, as t ≥ n. The others'
indices stay, or grow with t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import furthest, mean_ahead, spare
from fpbandits.engine.policy import CLOCK, BlindPolicy, Plan


class MOSSKnown(NamedTuple):
    """How many arms there are, whether rewards are normal, and T, or 0 where nobody knows it."""

    arms: int
    normal: bool
    horizon: float


@dataclass(frozen=True)
class MOSS(BlindPolicy):
    """MOSS: the best order of regret in the worst case, and blind to Θ."""

    horizon: float = 0.0
    """How many plays there will be, T; 0: the plays so far stand in its place."""

    name = "moss"
    known_type = MOSSKnown
    guarantee = "E[R(T)] ≤ 49 √(LT) if told horizon=T, else none claimed"

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        share, best_index = _share(known, tally.counters[CLOCK]), -math.inf
        for arm in range(known.arms):
            n = tally.plays[arm]
            # Live, an arm may have nothing told yet: it is played until something is.
            index = tally.sums[arm] / n + _width(share, n) if n > 0 else math.inf
            if index > best_index:
                best_index = index
                scratch.cycle[0] = arm
        if best_index == math.inf:
            return 1, 1
        return 1, furthest(known, tally, envelope, scratch, budget)

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        leader, more = scratch.cycle[0], rounds - 1
        share = _share(known, tally.counters[CLOCK] + more)
        low, _ = mean_ahead(tally, envelope, leader, more)
        least = low + _width(share, tally.plays[leader] + more) - spare(low)
        for arm in range(known.arms):
            n = tally.plays[arm]
            if arm != leader and tally.sums[arm] / n + _width(share, n) >= least:
                return False
        return True


@jitted
def _share(known: Any, t: int) -> float:
    """Return T/L, or t/L where T is not known."""
    return float((known.horizon if known.horizon > 0 else t) / known.arms)


@jitted
def _width(share: float, n: int) -> float:
    return math.sqrt(max(0.0, math.log(share / n)) / n)
