"""UCB1 (Auer, Cesa-Bianchi, Fischer 2002): optimism in the face of uncertainty, arm by arm.

Each arm once; then, with n_i plays of mean μ̂_i after t plays in all, the arm with the largest index
μ̂_i + √(2 ln t/n_i), the first of them where indices tie.

How long will the leader surely lead? While it is played, its index is at least that of the lowest
mean in the envelope, and the others' indices grow with ln t alone. With u = n + j the leader's
lowest index is p + C/u + √(2 ln t/u) once the envelope's two limits have crossed, a concave
function of 1/√u or a decreasing one of u: so it is least at the crossing or at the end.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Bools, Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CLOCK, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds, corners, spare
from fpbandits.policies.shared.blind import Arms, BlindPolicy


class UCB1Data(Arms):
    """What UCB1 prepares."""


class UCB1Work(NamedTuple):
    """By arm, its observed mean and 1/n, for the stability check."""

    cycle: Counts
    mean: Floats
    inverse: Floats


class UCB1(BlindPolicy):
    """UCB1: the classical policy that is blind to Θ.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer: Finite-time Analysis of the Multiarmed Bandit Problem,
    Machine Learning 47, 2002.
    """

    name = "ucb1"
    prepared_type = UCB1Data
    guarantee = "E[R(T)] ≤ 8 ln T Σ 1/Δ_i + (1 + π²/3) Σ Δ_i"

    def workspace(self, prepared: UCB1Data, pairs: int) -> UCB1Work:
        return UCB1Work(np.zeros(pairs, np.int64), np.zeros(pairs), np.zeros(pairs))

    def index(self, prepared: UCB1Data, state: State, arm: int) -> float:
        n = state.plays[arm]
        return float(state.sums[arm] / n + math.sqrt(2 * math.log(state.counters[CLOCK]) / n))

    @staticmethod
    def plan(
        prepared: UCB1Data, state: State, workspace: UCB1Work, ahead: Ahead, random: Random
    ) -> Plan:
        # Counted apart: with a sum of plays, the logarithm would wait for the last play's outcome.
        t = state.counters[CLOCK]
        if t == 0:
            for arm in range(prepared.arms):
                workspace.cycle[arm] = arm
            return prepared.arms, 1
        best_index = largest_index(state, workspace.cycle, 2 * math.log(t))
        if ahead.plays == 1 or best_index == math.inf:
            return 1, 1

        for arm in range(prepared.arms):
            workspace.mean[arm] = state.sums[arm] / state.plays[arm]
            workspace.inverse[arm] = 1 / state.plays[arm]
        return 1, certain_rounds(prepared, state, workspace, ahead)

    @staticmethod
    def holds_for(
        prepared: UCB1Data, state: State, workspace: UCB1Work, envelope: Envelope, rounds: int
    ) -> bool:
        leader, t = workspace.cycle[0], state.counters[CLOCK]
        more = rounds - 1
        n, total = state.plays[leader], state.sums[leader]
        crossing, low_sum, _, _, least_sum, _ = corners(envelope, leader, more)
        twice_log = 2 * math.log(t)
        end = n + more
        least = min(
            (total + low_sum) / (n + crossing) + math.sqrt(twice_log / (n + crossing)),
            (total + least_sum) / end + math.sqrt(twice_log / end),
        )
        twice_log = 2 * math.log(t + more)
        for arm in range(prepared.arms):
            # A little to spare for rounding, and ties count against the leader.
            index = workspace.mean[arm] + math.sqrt(twice_log * workspace.inverse[arm])
            if arm != leader and index >= least - spare(least):
                return False
        return True


@jitted
def largest_index(
    state: State, cycle: Counts, bound: float, eligible: Bools | None = None
) -> float:
    """Put the arm of the largest μ̂_i + √(bound/n_i) into the cycle; return that index."""
    best_index = -math.inf
    for arm in range(state.plays.size):
        if eligible is not None and not eligible[arm]:
            continue
        n = state.plays[arm]
        # Live, an arm may have no reward yet: optimism plays it until it has.
        index = state.sums[arm] / n + math.sqrt(bound / n) if n > 0 else math.inf
        if index > best_index:
            best_index = index
            # Stored here and not after the loop, this stays a branch, which the processor
            # predicts: twice as fast as waiting for every index.
            cycle[0] = arm
    return best_index
