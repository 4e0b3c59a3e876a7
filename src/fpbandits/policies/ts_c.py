"""TS-C (Gupta, Chaudhari, Mukherjee, Joshi, Yağan): Thompson sampling among competitive arms.

Competitive are, as in UCB-C, the arms that are best under a model θ that fits on every arm,
|μ̂_i − μ_i(θ)| ≤ √(2ασ² ln t/n_i) with σ² = 1/4, and all arms where no model fits. For each of them
draw a mean from the normal law N(μ̂_i, σ²/n_i), and play the arm of the largest, the first of
equals. A competitive arm that was not played yet is played first.

The draws are for means of a flat prior under normal rewards of deviation ½, whatever their law is.
The source has bounds like those of UCB-C. They have not been checked for draws of this variance, so
none is claimed here.

Where one arm alone is competitive nothing is drawn, and it is sure to be played until a model with
another best arm could fit, or none with this one.
"""

from __future__ import annotations

import math
from typing import Any

from fpbandits.engine.envelope import furthest
from fpbandits.engine.policy import CLOCK, MISFITS, Plan
from fpbandits.policies.shared.box import box_ahead, competitive
from fpbandits.policies.shared.levels import HIGH, LOW
from fpbandits.policies.ucb_c import UCBC, UCBCKnown


class TSCKnown(UCBCKnown):
    """What TS-C knows."""


class TSC(UCBC):
    """TS-C: Thompson sampling among the competitive arms."""

    name = "ts-c"
    known_type = TSCKnown
    guarantee = "none claimed for this form"
    randomised = True

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        t = max(tally.counters[CLOCK], 1)
        rivals = competitive(known.theta, tally, scratch, known.alpha / 2, t)
        if rivals < 0 and t > 1:
            tally.counters[MISFITS] += 1
        highest = -math.inf
        for arm in range(known.theta.arms):
            if scratch.marks[0, arm] == 0:
                continue
            n = tally.plays[arm]
            # Live, an arm may have nothing told yet: it is played until something is.
            if n == 0:
                scratch.cycle[0] = arm
                return 1, 1
            mean = 0.0
            if rivals != 1:
                mean = tally.sums[arm] / n + 0.5 * random.standard_normal() / math.sqrt(n)
            if mean > highest:
                highest = mean
                scratch.cycle[0] = arm
        if rivals != 1:
            return 1, 1
        return 1, furthest(known, tally, envelope, scratch, budget)

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        t = max(tally.counters[CLOCK], 1)
        box_ahead(known.theta, tally, envelope, scratch, known.alpha / 2, t, rounds - 1)
        sure = False
        for model in range(known.theta.best.shape[1]):
            if known.theta.best[0, model] == scratch.cycle[0]:
                sure = sure or scratch.by_model[LOW, model] >= 0
            elif scratch.by_model[HIGH, model] >= 0:
                return False
        return sure
