"""MOSS (Audibert, Bubeck 2009): UCB for the worst case, told the horizon.

Each arm once; then, with L arms and T plays in all, the arm with the largest index

    μ̂_i + √(max(0, ln(T/(L·n_i)))/n_i),

the first of equals. The index of an arm that has had its share T/L of the plays is its mean. For
rewards in [0, 1] regret is at most 49 √(LT), whatever the means are.

T is the option ``horizon``; with contexts, the plays in each. By default it is 0, and then t, the
plays so far, replaces T: this is our own use of the index, without a guarantee (Degenne and Perchet
2016 have one for another factor in the root).

How long will the leader surely lead? Its index is at least that of its lowest mean in the envelope
and its largest n: T/n falls, and so does t/n while it is played, as t ≥ n. The others' indices
stay, or grow with t.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CLOCK, Ahead, CycleOnly, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds, mean_ahead, spare
from fpbandits.policies.shared.blind import BlindPolicy


class MOSSData(NamedTuple):
    """The number of arms, whether rewards are normal, and T, or 0 if it is not known."""

    arms: int
    normal: bool
    horizon: float


@dataclass(frozen=True)
class MOSS(BlindPolicy):
    """MOSS: the best order of regret in the worst case, and blind to Θ.

    Parameters
    ----------
    horizon : float, default 0.0
        The number T of plays; with contexts, of plays in each. 0: the plays so far replace T,
        without a guarantee.

    References
    ----------
    J.-Y. Audibert, S. Bubeck: Minimax Policies for Adversarial and Stochastic Bandits, COLT 2009.
    """

    horizon: float = 0.0

    name = "moss"
    prepared_type = MOSSData
    guarantee = "E[R(T)] ≤ 49 √(LT) if told horizon=T, else none claimed"

    def index(self, prepared: MOSSData, state: State, arm: int) -> float:
        n = state.plays[arm]
        return float(state.sums[arm] / n + _width(_share(prepared, state.counters[CLOCK]), n))

    @staticmethod
    def plan(
        prepared: MOSSData, state: State, workspace: CycleOnly, ahead: Ahead, random: Random
    ) -> Plan:
        share, best_index = _share(prepared, state.counters[CLOCK]), -math.inf
        for arm in range(prepared.arms):
            n = state.plays[arm]
            # Live, an arm may have no reward yet: it is played until it has one.
            index = state.sums[arm] / n + _width(share, n) if n > 0 else math.inf
            if index > best_index:
                best_index = index
                workspace.cycle[0] = arm
        if best_index == math.inf:
            return 1, 1
        return 1, certain_rounds(prepared, state, workspace, ahead)

    @staticmethod
    def holds_for(
        prepared: MOSSData, state: State, workspace: CycleOnly, envelope: Envelope, rounds: int
    ) -> bool:
        leader, more = workspace.cycle[0], rounds - 1
        share = _share(prepared, state.counters[CLOCK] + more)
        low, _ = mean_ahead(state, envelope, leader, more)
        least = low + _width(share, state.plays[leader] + more) - spare(low)
        for arm in range(prepared.arms):
            n = state.plays[arm]
            if arm != leader and state.sums[arm] / n + _width(share, n) >= least:
                return False
        return True


@jitted
def _share(prepared: MOSSData, t: int) -> float:
    """Return T/L, or t/L if T is not known."""
    return float((prepared.horizon if prepared.horizon > 0 else t) / prepared.arms)


@jitted
def _width(share: float, n: int) -> float:
    """Return √(max(0, ln(share/n))/n)."""
    return math.sqrt(max(0.0, math.log(share / n)) / n)
