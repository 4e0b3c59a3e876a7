"""UCB-S (Lattimore, Munos 2014): optimism over the models that fit arm by arm.

After t plays a model θ fits if on every arm |μ̂_i − μ_i(θ)| ≤ √(α σ² ln t/n_i), with σ² = 1/4 for
rewards in [0, 1]. Play the arm with the largest mean that a fitting model gives any arm; the first
of equals. If no model fits, play by UCB1's index, as the latent bandit of Maillard and Mannor
(2014) does. Logarithmic regret needs α > 2, bounded regret about 4.

mUCB is the same rule with another radius; see `fpbandits.policies.m_ucb`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import TOLERANCE, Counts, Floats
from fpbandits.engine.contract import CLOCK, MISFITS, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds
from fpbandits.engine.policy import Eligible
from fpbandits.policies.shared.box import Box, Margins, box_ahead, box_now, new_margins
from fpbandits.policies.shared.levels import ThetaPolicy, theta
from fpbandits.policies.ucb1 import largest_index
from fpbandits.problem.problem import Problem


class UCBSData(Box):
    """What UCB-S prepares."""


class UCBSWork(NamedTuple):
    """Each model's margin; and the largest mean under a fitting model, as an array of one."""

    cycle: Counts
    margins: Margins
    top: Floats


@dataclass(frozen=True)
class UCBS(ThetaPolicy):
    """UCB-S: optimism over the models that fit arm by arm.

    Parameters
    ----------
    alpha : float, default 4.0
        Squared width of the confidence intervals, in units of σ² ln t/n, 0 or more. Logarithmic
        regret needs more than 2, bounded regret about 4.

    References
    ----------
    T. Lattimore, R. Munos: Bounded Regret for Finite-Armed Structured Bandits, NeurIPS 2014.
    """

    alpha: float = 4.0

    name = "ucb-s"
    eligible = Eligible.MARKED
    guarantee = "O(log T), and bounded regret where the best arm tells models apart"

    def prepare(self, problem: Problem) -> UCBSData:
        """Sort Θ into levels."""
        return UCBSData(theta(problem), self.alpha / 4, 0.0)

    def workspace(self, prepared: Box, pairs: int) -> UCBSWork:
        margins = new_margins(prepared.theta)
        return UCBSWork(np.zeros(pairs, np.int64), margins, np.zeros(1))

    @staticmethod
    def plan(
        prepared: Box, state: State, workspace: UCBSWork, ahead: Ahead, random: Random
    ) -> Plan:
        t = max(state.counters[CLOCK], 1)
        margin = workspace.margins.now
        box_now(prepared, state, workspace.margins, t)
        arms, models = prepared.theta.codes.shape
        top = -math.inf
        for model in range(models):
            if margin[model] >= 0:
                top = max(top, prepared.theta.top[0, model])
        if top == -math.inf:
            if t > 1:
                state.counters[MISFITS] += 1
            eligible = prepared.theta.eligible
            largest_index(state, workspace.cycle, 2 * math.log(t), eligible)
            return 1, 1
        workspace.cycle[0] = arms
        for model in range(models):
            if margin[model] >= 0 and prepared.theta.top[0, model] >= top - TOLERANCE:
                workspace.cycle[0] = min(workspace.cycle[0], prepared.theta.best[0, model])
        workspace.top[0] = top
        if state.plays[workspace.cycle[0]] == 0:
            return 1, 1
        return 1, certain_rounds(prepared, state, workspace, ahead)

    @staticmethod
    def holds_for(
        prepared: Box, state: State, workspace: UCBSWork, envelope: Envelope, rounds: int
    ) -> bool:
        t, top, played = max(state.counters[CLOCK], 1), workspace.top[0], workspace.cycle[0]
        margins, best, tops = workspace.margins, prepared.theta.best[0], prepared.theta.top[0]
        box_ahead(prepared, state, margins, envelope, played, t, rounds - 1)
        sure = False
        for model in range(best.size):
            if margins.highest[model] < 0 or tops[model] < top - TOLERANCE:
                continue
            if tops[model] > top + TOLERANCE or best[model] < played:
                return False
            sure = sure or (best[model] == played and margins.lowest[model] >= 0)
        return sure
