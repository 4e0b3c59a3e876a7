"""UCB-C (Gupta, Chaudhari, Mukherjee, Joshi, Yağan): UCB among the arms that could be best.

After t plays a model θ fits if on every arm |μ̂_i − μ_i(θ)| ≤ √(2ασ² ln t/n_i), with σ² = 1/4. The
arms that are best under a fitting model are competitive (all arms, where no model fits). Among them
play the one with the largest μ̂_i + √(2ασ² ln t/n_i), the first of equals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from fpbandits.engine.envelope import furthest, mean_ahead, spare
from fpbandits.engine.policy import CLOCK, MISFITS, Plan
from fpbandits.policies.shared.box import box_ahead, competitive
from fpbandits.policies.shared.levels import HIGH, LOW, Theta, ThetaPolicy


class UCBCKnown(NamedTuple):
    """Θ by level, and α."""

    theta: Theta
    alpha: float


@dataclass(frozen=True)
class UCBC(ThetaPolicy):
    """UCB-C: UCB among the competitive arms."""

    alpha: float = 3.0

    name = "ucb-c"
    known_type = UCBCKnown
    guarantee = "O(log T); O(1) plays of arms that are not competitive (α > 3)"

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        t, scale = max(tally.counters[CLOCK], 1), known.alpha / 2
        nothing_fits = competitive(known.theta, tally, scratch, scale, t) < 0
        if nothing_fits and t > 1:
            tally.counters[MISFITS] += 1
        best_index = -math.inf
        for arm in range(known.theta.arms):
            n = tally.plays[arm]
            index = math.inf
            if n > 0:
                index = tally.sums[arm] / n + math.sqrt(scale * math.log(t) / n)
            if scratch.marks[0, arm] == 1 and index > best_index:
                best_index = index
                scratch.cycle[0] = arm
        rounds = 1
        if budget > 1 and not nothing_fits and best_index < math.inf:
            rounds = furthest(known, tally, envelope, scratch, budget)
        return 1, rounds

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        t, scale = max(tally.counters[CLOCK], 1), known.alpha / 2
        played, more = scratch.cycle[0], rounds - 1
        box_ahead(known.theta, tally, envelope, scratch, scale, t, more)
        n = tally.plays[played]
        low, _ = mean_ahead(tally, envelope, played, more)
        least = low + math.sqrt(scale * math.log(t) / (n + more)) - spare(low)
        sure, rival = False, scratch.marks[1]
        for arm in range(rival.size):
            rival[arm] = 0
        for model in range(known.theta.best.shape[1]):
            arm = known.theta.best[0, model]
            if arm == played:
                sure = sure or scratch.by_model[LOW, model] >= 0
            elif scratch.by_model[HIGH, model] >= 0:
                rival[arm] = 1
        for arm in range(rival.size):
            if rival[arm] == 1:
                plays = tally.plays[arm]
                if plays == 0:
                    return False
                index = tally.sums[arm] / plays + math.sqrt(scale * math.log(t + more) / plays)
                if index >= least:
                    return False
        return sure
