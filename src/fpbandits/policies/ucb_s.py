"""UCB-S (Lattimore, Munos 2014): optimism over the models that fit arm by arm.

After t plays a model θ fits if on every arm |μ̂_i − μ_i(θ)| ≤ √(α σ² ln t/n_i), with σ² = 1/4 for
rewards in [0, 1]. Play the arm with the largest mean that a fitting model gives any arm; the first
of equals. Where no model fits, play by UCB1's index, as the latent bandit of Maillard and Mannor
(2014) does. α > 2 is needed for logarithmic regret, and about 4 for bounded regret.

mUCB is the same rule with another radius; see `fpbandits.policies.m_ucb`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from fpbandits.core.arrays import TOLERANCE
from fpbandits.engine.envelope import furthest
from fpbandits.engine.policy import CLOCK, MISFITS, TOP, Plan
from fpbandits.policies.shared.box import Box, box_ahead, box_now
from fpbandits.policies.shared.levels import HIGH, LOW, NOW, ThetaPolicy, theta
from fpbandits.problem.problem import Problem


class UCBSKnown(Box):
    """What UCB-S knows."""


@dataclass(frozen=True)
class UCBS(ThetaPolicy):
    """UCB-S: optimism over the models that fit arm by arm."""

    alpha: float = 4.0

    name = "ucb-s"
    guarantee = "O(log T), and bounded regret where the best arm tells models apart"

    def prepare(self, problem: Problem) -> UCBSKnown:
        """Sort Θ into levels."""
        return UCBSKnown(theta(problem), self.alpha / 4, 0.0)

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        t = max(tally.counters[CLOCK], 1)
        box_now(known.theta, tally, scratch, known.scale, t, known.offset)
        arms, models = known.theta.codes.shape
        top = -math.inf
        for model in range(models):
            if scratch.by_model[NOW, model] >= 0:
                top = max(top, known.theta.top[0, model])
        if top == -math.inf:
            if t > 1:
                tally.counters[MISFITS] += 1
            best_index = -math.inf
            for arm in range(arms):
                n = tally.plays[arm]
                index = math.inf
                if n > 0:
                    index = tally.sums[arm] / n + math.sqrt(2 * math.log(t) / n)
                if index > best_index:
                    best_index = index
                    scratch.cycle[0] = arm
            return 1, 1
        scratch.cycle[0] = arms
        for model in range(models):
            if scratch.by_model[NOW, model] >= 0 and known.theta.top[0, model] >= top - TOLERANCE:
                scratch.cycle[0] = min(scratch.cycle[0], known.theta.best[0, model])
        rounds = 1
        if budget > 1 and tally.plays[scratch.cycle[0]] > 0:
            scratch.values[TOP] = top
            rounds = furthest(known, tally, envelope, scratch, budget)
        return 1, rounds

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        t, top, played = max(tally.counters[CLOCK], 1), scratch.values[TOP], scratch.cycle[0]
        scale, offset = known.scale, known.offset
        box_ahead(known.theta, tally, envelope, scratch, scale, t, rounds - 1, offset)
        sure = False
        for model in range(known.theta.best.shape[1]):
            if scratch.by_model[HIGH, model] < 0 or known.theta.top[0, model] < top - TOLERANCE:
                continue
            if known.theta.top[0, model] > top + TOLERANCE or known.theta.best[0, model] < played:
                return False
            if known.theta.best[0, model] == played and scratch.by_model[LOW, model] >= 0:
                sure = True
        return sure
