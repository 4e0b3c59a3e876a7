"""KL-UCB (Garivier, Cappé 2011): UCB1 with the confidence region of Bernoulli laws.

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

from numba.extending import register_jitable

from fpbandits.policies.base import (
    CLOCK,
    COMPILED,
    Policy,
    add_to_tally,
    furthest,
    implement,
    mean_range,
    observe,
    plan,
    repeats,
    strays,
)
from fpbandits.problem import Problem


class KLUCBModel(NamedTuple):
    """KL-UCB knows how many arms there are, and nothing else."""

    arms: int
    c: float


@dataclass(frozen=True)
class KLUCB(Policy):
    """KL-UCB: asymptotically optimal, and blind to Θ."""

    c: float = 0.0

    name = "kl-ucb"
    knows = "the number of arms"
    guarantee = "E[R(T)] = (1 + o(1)) ln T Σ Δ_i/kl(μ_i, μ*) for Bernoulli rewards (c ≥ 3)"
    leaps = True

    def model(self, problem: Problem) -> KLUCBModel:
        """Return the number of arms and c."""
        return KLUCBModel(len(problem.arms), self.c)


@register_jitable(**COMPILED)
def _divergence(p: float, q: float) -> float:
    value = 0.0
    if p > 0:
        value += p * math.log(p / q)
    if p < 1:
        value += (1 - p) * math.log((1 - p) / (1 - q))
    return value


@register_jitable(**COMPILED)
def _level(model: Any, t: int) -> float:
    level = math.log(t)
    if model.c > 0 and t > 2:
        level += model.c * math.log(level)
    return level


@register_jitable(**COMPILED)
def _index(mean: float, bound: float) -> float:
    """Return the largest q ≥ mean with kl(mean, q) ≤ bound: an interval halved, then Newton."""
    # kl(p, q) ≥ 2(p − q)²: it cannot be further away than that.
    low, high = mean, min(1.0, mean + math.sqrt(bound / 2))
    for halvings in range(60):
        # Newton needs a start above the root at which the divergence is finite.
        if halvings >= 12 and high < 1:
            break
        middle = (low + high) / 2
        if middle < 1 and _divergence(mean, middle) <= bound:
            low = middle
        else:
            high = middle
    q = high
    for _ in range(4):
        # From above, on a convex function: it comes down to the root and never below.
        if q >= 1 or q <= mean:
            break
        q -= (_divergence(mean, q) - bound) * q * (1 - q) / (q - mean)
    return min(max(q, low), high)


@implement(plan, KLUCBModel)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    best_index = -1.0
    for arm in range(model.arms):
        # Live, an arm may have nothing told yet: it is played until something is.
        if tally.plays[arm] == 0:
            desk.cycle[0] = arm
            return 1, 1
    level = _level(model, tally.counters[CLOCK])
    for arm in range(model.arms):
        n = tally.plays[arm]
        index = _index(tally.sums[arm] / n, level / n)
        if index > best_index:
            best_index = index
            desk.cycle[0] = arm
    return 1, furthest(model, tally, envelope, desk, budget)


@implement(repeats, KLUCBModel)
def _repeats(model: Any, tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    leader, more, t = desk.cycle[0], rounds - 1, tally.counters[CLOCK]
    n = tally.plays[leader]
    low, _ = mean_range(
        n, tally.sums[leader], envelope.means[leader], more, strays(envelope, leader, more)
    )
    least = _index(max(low, 0.0), _level(model, t) / (n + more)) - 1e-12
    level = _level(model, t + more)
    for arm in range(model.arms):
        if arm == leader:
            continue
        # The index is below ``least`` if the divergence there is above what is allowed.
        plays = tally.plays[arm]
        mean = tally.sums[arm] / plays
        if mean >= least or plays * _divergence(mean, least) <= level + 1e-12:
            return False
    return True


@implement(observe, KLUCBModel)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    add_to_tally(tally, arm, plays, total)
    tally.counters[CLOCK] += plays
