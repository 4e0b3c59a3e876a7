"""UCB-C (Gupta, Chaudhari, Mukherjee, Joshi, Yağan): UCB among the arms that could be best.

After t plays a model θ fits if on every arm |μ̂_i − μ_i(θ)| ≤ √(2ασ² ln t/n_i), with σ² = 1/4. The
arms that are best under a fitting model are competitive; if no model fits, all arms are. Among them
play the one with the largest μ̂_i + √(2ασ² ln t/n_i), the first of equals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts
from fpbandits.engine.contract import CLOCK, MISFITS, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds, mean_ahead, spare
from fpbandits.engine.policy import Eligible
from fpbandits.policies.shared.box import Box, Margins, box_ahead, competitive, new_margins
from fpbandits.policies.shared.levels import ThetaPolicy, theta
from fpbandits.problem.problem import Problem


class UCBCData(Box):
    """What UCB-C prepares."""


class UCBCWork(NamedTuple):
    """Each model's margin; and by arm, whether it is competitive, and whether it may become so."""

    cycle: Counts
    margins: Margins
    competitive: Counts
    rival: Counts


@dataclass(frozen=True)
class UCBC(ThetaPolicy):
    """UCB-C: UCB among the competitive arms.

    Parameters
    ----------
    alpha : float, default 3.0
        Squared width of the confidence intervals, in units of 2σ² ln t/n, 0 or more. The guarantee
        needs more than 3.

    References
    ----------
    S. Gupta, S. Chaudhari, S. Mukherjee, G. Joshi, O. Yağan: A Unified Approach to Translate
    Classical Bandit Algorithms to the Structured Bandit Setting, arXiv 1810.08164.
    """

    alpha: float = 3.0

    name = "ucb-c"
    eligible = Eligible.MARKED
    prepared_type: ClassVar[type[Box]] = UCBCData
    guarantee = "O(log T); O(1) plays of arms that are not competitive (α > 3)"

    def prepare(self, problem: Problem) -> Box:
        """Sort Θ into levels."""
        return type(self).prepared_type(theta(problem), self.alpha / 2, 0.0)

    def workspace(self, prepared: Box, pairs: int) -> UCBCWork:
        cycle, competitive, rival = np.zeros((3, pairs), np.int64)
        return UCBCWork(cycle, new_margins(prepared.theta), competitive, rival)

    @staticmethod
    def plan(
        prepared: Box, state: State, workspace: UCBCWork, ahead: Ahead, random: Random
    ) -> Plan:
        t, marks = max(state.counters[CLOCK], 1), workspace.competitive
        nothing_fits = competitive(prepared, state, workspace.margins, marks, t) < 0
        if nothing_fits and t > 1:
            state.counters[MISFITS] += 1
        best_index = -math.inf
        for arm in range(prepared.theta.arms):
            n = state.plays[arm]
            index = math.inf
            if n > 0:
                index = state.sums[arm] / n + math.sqrt(prepared.scale * math.log(t) / n)
            if marks[arm] == 1 and index > best_index:
                best_index = index
                workspace.cycle[0] = arm
        if nothing_fits or best_index == math.inf:
            return 1, 1
        return 1, certain_rounds(prepared, state, workspace, ahead)

    @staticmethod
    def holds_for(
        prepared: Box, state: State, workspace: UCBCWork, envelope: Envelope, rounds: int
    ) -> bool:
        t, scale, margins = max(state.counters[CLOCK], 1), prepared.scale, workspace.margins
        played, more = workspace.cycle[0], rounds - 1
        box_ahead(prepared, state, margins, envelope, played, t, more)
        n = state.plays[played]
        low, _ = mean_ahead(state, envelope, played, more)
        least = low + math.sqrt(scale * math.log(t) / (n + more)) - spare(low)
        sure, rival = False, workspace.rival
        rival.fill(0)
        for model in range(prepared.theta.best.shape[1]):
            arm = prepared.theta.best[0, model]
            if arm == played:
                sure = sure or margins.lowest[model] >= 0
            elif margins.highest[model] >= 0:
                rival[arm] = 1
        for arm in range(rival.size):
            if rival[arm] == 1:
                plays = state.plays[arm]
                if plays == 0:
                    return False
                index = state.sums[arm] / plays + math.sqrt(scale * math.log(t + more) / plays)
                if index >= least:
                    return False
        return sure
