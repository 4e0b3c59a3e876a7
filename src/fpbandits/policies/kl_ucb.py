"""KL-UCB (Garivier, Cappé 2011): UCB1 with confidence bounds of Bernoulli, or normal, rewards.

Each arm once; then, after t plays, the arm with the largest index

    max{q : n_i·kl(μ̂_i, q) ≤ ln t + c ln ln t},

the first of equals. In practice c = 0 is used; the proof needs c = 3.

The index grows with the mean and with t, and shrinks with n. So over a stretch of plays the
leader's index is at least that of its lowest mean in the envelope with the largest n and the
present t, and the other arms' indices are at most those at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CLOCK, Ahead, CycleOnly, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds, mean_ahead, spare
from fpbandits.policies.shared.blind import BlindPolicy

_FEWEST_HALVINGS = 12
"""How often, at least, the interval that contains an index is halved."""

_MOST_HALVINGS = 60
"""How often at most: more are needed while the interval ends at 1."""

_NEWTON_STEPS = 4
"""How many steps of Newton's method follow."""


class KLUCBData(NamedTuple):
    """The number of arms, whether rewards are normal, and c."""

    arms: int
    normal: bool
    c: float


@dataclass(frozen=True)
class KLUCB(BlindPolicy):
    """KL-UCB: asymptotically optimal, and blind to Θ.

    Parameters
    ----------
    c : float, default 0.0
        Weight of ln ln t in the exploration term ln t + c ln ln t, 0 or more. 0 does best in
        practice; the guarantee needs 3 or more.

    References
    ----------
    A. Garivier, O. Cappé: The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond, COLT
    2011.
    """

    c: float = 0.0

    name = "kl-ucb"
    prepared_type = KLUCBData
    guarantee = "E[R(T)] = (1 + o(1)) ln T Σ Δ_i/kl(μ_i, μ*) for Bernoulli rewards (c ≥ 3)"

    def index(self, prepared: KLUCBData, state: State, arm: int) -> float:
        n = state.plays[arm]
        bound = _threshold(prepared, state.counters[CLOCK]) / n
        return _index(state.sums[arm] / n, bound, prepared.normal)

    @staticmethod
    def plan(
        prepared: KLUCBData, state: State, workspace: CycleOnly, ahead: Ahead, random: Random
    ) -> Plan:
        best_index = -math.inf
        for arm in range(prepared.arms):
            # Live, an arm may have no reward yet: it is played until it has one.
            if state.plays[arm] == 0:
                workspace.cycle[0] = arm
                return 1, 1
        threshold = _threshold(prepared, state.counters[CLOCK])
        for arm in range(prepared.arms):
            n = state.plays[arm]
            index = _index(state.sums[arm] / n, threshold / n, prepared.normal)
            if index > best_index:
                best_index = index
                workspace.cycle[0] = arm
        return 1, certain_rounds(prepared, state, workspace, ahead)

    @staticmethod
    def holds_for(
        prepared: KLUCBData, state: State, workspace: CycleOnly, envelope: Envelope, rounds: int
    ) -> bool:
        leader, more, t = workspace.cycle[0], rounds - 1, state.counters[CLOCK]
        n, normal = state.plays[leader], prepared.normal
        low, _ = mean_ahead(state, envelope, leader, more)
        least = _index(low, _threshold(prepared, t) / (n + more), normal)
        least -= 1000 * spare(least)  # `_index` iterates, and is less exact than a formula
        threshold = _threshold(prepared, t + more)
        for arm in range(prepared.arms):
            if arm == leader:
                continue
            # The arm's index is below ``least`` if its divergence from there exceeds the threshold.
            plays = state.plays[arm]
            mean = state.sums[arm] / plays
            if mean >= least or plays * _divergence(mean, least, normal) <= threshold + 1e-12:
                return False
        return True


@jitted
def _divergence(p: float, q: float, normal: bool) -> float:
    """Return kl(p, q) of Bernoulli rewards, or of normal ones with deviation ½."""
    if normal:
        return 2 * ((p - q) * (p - q))
    value = 0.0
    if p > 0:
        value += p * math.log(p / q)
    if p < 1:
        value += (1 - p) * math.log((1 - p) / (1 - q))
    return value


@jitted
def _threshold(prepared: KLUCBData, t: int) -> float:
    """Return ln t + c ln ln t."""
    threshold = math.log(t)
    if t > 2:
        threshold += prepared.c * math.log(threshold)
    return threshold


@jitted
def _index(mean: float, bound: float, normal: bool) -> float:
    """Return the largest q ≥ mean with kl(mean, q) ≤ bound, by bisection and then Newton steps."""
    if normal:
        return mean + math.sqrt(bound / 2)
    # kl(p, q) ≥ 2(p − q)², which bounds q from above.
    low, high = mean, min(1.0, mean + math.sqrt(bound / 2))
    for halvings in range(_MOST_HALVINGS):
        # Newton needs a start above the root at which the divergence is finite.
        if halvings >= _FEWEST_HALVINGS and high < 1:
            break
        middle = (low + high) / 2
        if middle < 1 and _divergence(mean, middle, False) <= bound:
            low = middle
        else:
            high = middle
    q = high
    for _ in range(_NEWTON_STEPS):
        # The function is convex, so a step from above never goes below the root.
        if q >= 1 or q <= mean:
            break
        q -= (_divergence(mean, q, False) - bound) * q * (1 - q) / (q - mean)
    return min(max(q, low), high)
