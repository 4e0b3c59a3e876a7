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
from typing import Any

from fpbandits.engine.envelope import corners, furthest, spare
from fpbandits.engine.policy import CLOCK, Arms, BlindPolicy, Plan


class UCB1Known(Arms):
    """What UCB1 knows."""


class UCB1(BlindPolicy):
    """UCB1: the classical policy that is blind to Θ."""

    name = "ucb1"
    known_type = UCB1Known
    guarantee = "E[R(T)] ≤ 8 ln T Σ 1/Δ_i + (1 + π²/3) Σ Δ_i"

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        # Counted apart: adding up the plays would put the logarithm behind the last play's outcome.
        t = tally.counters[CLOCK]
        if t == 0:
            for arm in range(known.arms):
                scratch.cycle[arm] = arm
            return known.arms, 1
        twice_log = 2 * math.log(t)
        best_index = -math.inf
        for arm in range(known.arms):
            n = tally.plays[arm]
            # Live, an arm may have nothing told yet: optimism plays it until something is.
            index = tally.sums[arm] / n + math.sqrt(twice_log / n) if n > 0 else math.inf
            if index > best_index:
                best_index = index
                # Stored here, and not after the loop, this stays a branch, which the processor
                # foresees: twice as fast as waiting for every index.
                scratch.cycle[0] = arm
        if budget == 1 or best_index == math.inf:
            return 1, 1

        mean, inverse = scratch.numbers[0], scratch.numbers[1]
        for arm in range(known.arms):
            mean[arm] = tally.sums[arm] / tally.plays[arm]
            inverse[arm] = 1 / tally.plays[arm]
        return 1, furthest(known, tally, envelope, scratch, budget)

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        leader, t = scratch.cycle[0], tally.counters[CLOCK]
        mean, inverse = scratch.numbers[0], scratch.numbers[1]
        more = rounds - 1
        n, total = tally.plays[leader], tally.sums[leader]
        crossing, low_sum, _, _, least_sum, _ = corners(envelope, leader, more)
        twice_log = 2 * math.log(t)
        end = n + more
        least = min(
            (total + low_sum) / (n + crossing) + math.sqrt(twice_log / (n + crossing)),
            (total + least_sum) / end + math.sqrt(twice_log / end),
        )
        twice_log = 2 * math.log(t + more)
        for arm in range(known.arms):
            # A little to spare for rounding, and ties count against the leader.
            index = mean[arm] + math.sqrt(twice_log * inverse[arm])
            if arm != leader and index >= least - spare(least):
                return False
        return True
