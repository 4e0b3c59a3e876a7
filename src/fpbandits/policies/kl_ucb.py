"""KL-UCB (Garivier, Cappé 2011): UCB1 with the confidence region of Bernoulli, or normal, laws.

Each arm once; then, after t plays, the arm with the largest index

    max{q : n_i·kl(μ̂_i, q) ≤ ln t + c ln ln t},

the first of equals. c = 0 is what is used in practice, c = 3 what the proof takes.

The index grows with the mean and with t, and shrinks with n: so over a stretch the leader's index
is at least that of its lowest mean in the envelope, all the plays to come, and no more time, and
the others' are at most those of the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import furthest, mean_ahead, spare
from fpbandits.engine.policy import CLOCK, BlindPolicy, Plan


class KLUCBKnown(NamedTuple):
    """How many arms there are, whether rewards are normal, and c."""

    arms: int
    normal: bool
    c: float


@dataclass(frozen=True)
class KLUCB(BlindPolicy):
    """KL-UCB: asymptotically optimal, and blind to Θ."""

    c: float = 0.0

    name = "kl-ucb"
    known_type = KLUCBKnown
    guarantee = "E[R(T)] = (1 + o(1)) ln T Σ Δ_i/kl(μ_i, μ*) for Bernoulli rewards (c ≥ 3)"

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        best_index = -math.inf
        for arm in range(known.arms):
            # Live, an arm may have nothing told yet: it is played until something is.
            if tally.plays[arm] == 0:
                scratch.cycle[0] = arm
                return 1, 1
        threshold = _threshold(known, tally.counters[CLOCK])
        for arm in range(known.arms):
            n = tally.plays[arm]
            index = _index(tally.sums[arm] / n, threshold / n, known.normal)
            if index > best_index:
                best_index = index
                scratch.cycle[0] = arm
        return 1, furthest(known, tally, envelope, scratch, budget)

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        leader, more, t = scratch.cycle[0], rounds - 1, tally.counters[CLOCK]
        n = tally.plays[leader]
        low, _ = mean_ahead(tally, envelope, leader, more)
        if not known.normal:
            low = max(low, 0.0)
        least = _index(low, _threshold(known, t) / (n + more), known.normal)
        least -= 1000 * spare(least)
        threshold = _threshold(known, t + more)
        for arm in range(known.arms):
            if arm == leader:
                continue
            # The index is below ``least`` if the divergence there is above what is allowed.
            plays = tally.plays[arm]
            mean = tally.sums[arm] / plays
            if mean >= least or plays * _divergence(mean, least, known.normal) <= threshold + 1e-12:
                return False
        return True


@jitted
def _divergence(p: float, q: float, normal: bool) -> float:
    if normal:
        return 2 * ((p - q) * (p - q))
    value = 0.0
    if p > 0:
        value += p * math.log(p / q)
    if p < 1:
        value += (1 - p) * math.log((1 - p) / (1 - q))
    return value


@jitted
def _threshold(known: Any, t: int) -> float:
    threshold = math.log(t)
    if known.c > 0 and t > 2:
        threshold += known.c * math.log(threshold)
    return threshold


@jitted
def _index(mean: float, bound: float, normal: bool) -> float:
    """Return the largest q ≥ mean with kl(mean, q) ≤ bound: an interval halved, then Newton."""
    if normal:
        return mean + math.sqrt(bound / 2)
    # kl(p, q) ≥ 2(p − q)²: it cannot be further away than that.
    low, high = mean, min(1.0, mean + math.sqrt(bound / 2))
    for halvings in range(60):
        # Newton needs a start above the root at which the divergence is finite.
        if halvings >= 12 and high < 1:
            break
        middle = (low + high) / 2
        if middle < 1 and _divergence(mean, middle, False) <= bound:
            low = middle
        else:
            high = middle
    q = high
    for _ in range(4):
        # From above, on a convex function: it comes down to the root and never below.
        if q >= 1 or q <= mean:
            break
        q -= (_divergence(mean, q, False) - bound) * q * (1 - q) / (q - mean)
    return min(max(q, low), high)
