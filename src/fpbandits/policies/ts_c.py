"""TS-C (Gupta, Chaudhari, Mukherjee, Joshi, Yağan): Thompson sampling among competitive arms.

As in UCB-C, the competitive arms are those that are best under a model θ that fits on every arm,
|μ̂_i − μ_i(θ)| ≤ √(2ασ² ln t/n_i) with σ² = 1/4; if no model fits, all arms are. For each of them
draw a mean from the normal distribution N(μ̂_i, σ²/n_i), and play the arm of the largest, the first
of equals. A competitive arm that was not played yet is played first.

N(μ̂_i, σ²/n_i) is the posterior of a mean with a flat prior under normal rewards of deviation ½; it
is used whatever the rewards are. The source has bounds like those of UCB-C. They have not been
checked for draws of this variance, so none is claimed here.

If only one arm is competitive nothing is drawn, and it is sure to be played until a model with
another best arm could fit, or none with this one.
"""

from __future__ import annotations

import math

from fpbandits.engine.contract import CLOCK, MISFITS, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds
from fpbandits.policies.shared.box import Box, box_ahead, competitive
from fpbandits.policies.ucb_c import UCBC, UCBCWork


class TSCData(Box):
    """What TS-C prepares."""


class TSC(UCBC):
    """TS-C: Thompson sampling among the competitive arms.

    Parameters
    ----------
    alpha : float, default 3.0
        Squared width of the confidence intervals, in units of 2σ² ln t/n, 0 or more, as in UCB-C.

    References
    ----------
    S. Gupta, S. Chaudhari, S. Mukherjee, G. Joshi, O. Yağan: A Unified Approach to Translate
    Classical Bandit Algorithms to the Structured Bandit Setting, arXiv 1810.08164.
    """

    name = "ts-c"
    prepared_type = TSCData
    guarantee = "none claimed for this form"
    randomised = True

    @staticmethod
    def plan(
        prepared: Box, state: State, workspace: UCBCWork, ahead: Ahead, random: Random
    ) -> Plan:
        t, marks = max(state.counters[CLOCK], 1), workspace.competitive
        competing = competitive(prepared, state, workspace.margins, marks, t)
        if competing < 0 and t > 1:
            state.counters[MISFITS] += 1
        highest = -math.inf
        for arm in range(prepared.theta.arms):
            if marks[arm] == 0:
                continue
            n = state.plays[arm]
            # Live, an arm may have no reward yet: it is played until it has one.
            if n == 0:
                workspace.cycle[0] = arm
                return 1, 1
            mean = 0.0
            if competing != 1:
                mean = state.sums[arm] / n + 0.5 * random.standard_normal() / math.sqrt(n)
            if mean > highest:
                highest = mean
                workspace.cycle[0] = arm
        return 1, certain_rounds(prepared, state, workspace, ahead) if competing == 1 else 1

    @staticmethod
    def holds_for(
        prepared: Box, state: State, workspace: UCBCWork, envelope: Envelope, rounds: int
    ) -> bool:
        t, played, margins = max(state.counters[CLOCK], 1), workspace.cycle[0], workspace.margins
        box_ahead(prepared, state, margins, envelope, played, t, rounds - 1)
        sure = False
        for model in range(prepared.theta.best.shape[1]):
            if prepared.theta.best[0, model] == played:
                sure = sure or margins.lowest[model] >= 0
            elif margins.highest[model] >= 0:
                return False
        return sure
