"""BPR (Bubeck, Perchet, Rigollet 2013): bounded regret if the largest mean and the gap are known.

Each arm once. Then, if the largest observed mean is at least μ* − Δ/2, play its arm; else draw an
arm with probability proportional to (μ* − μ̂_i)^−2. μ* and Δ come from Θ: μ* is the largest mean,
which must be the same under every model, and Δ the least gap between it and a smaller mean, over
all models. If models differ in their largest mean, the policy is refused.

The leader is sure to be played while its lowest mean in the envelope is at least μ* − Δ/2 and above
the others' means. Draws are one at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from fpbandits.core.arrays import TOLERANCE
from fpbandits.engine.contract import Ahead, CycleOnly, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds, mean_ahead, spare
from fpbandits.engine.policy import Policy
from fpbandits.errors import InputError
from fpbandits.problem.problem import Problem
from fpbandits.theory.structure import Structure


class BPRData(NamedTuple):
    """The number of arms, μ* and Δ."""

    arms: int
    largest: float
    gap: float


class BPR(Policy):
    """BPR: given the largest mean and the smallest gap.

    References
    ----------
    S. Bubeck, V. Perchet, P. Rigollet: Bounded Regret in Stochastic Multi-armed Bandits, COLT 2013.
    """

    name = "bpr"
    knows = "the largest mean and the smallest gap, which all models must share"
    guarantee = "bounded regret, of order Σ (1/Δ_i)·ln(Δ_i/Δ)"
    randomised = True

    def prepare(self, problem: Problem) -> BPRData:
        """Return μ* and Δ, or raise an error if models differ in their largest mean."""
        structure = Structure(problem)
        tops = structure.means.max(axis=1)
        if tops.max() - tops.min() > TOLERANCE:
            raise InputError(
                f"bpr needs one largest mean that all models share, and in {problem.name} it "
                f"lies between {tops.min():g} and {tops.max():g} on [0, 1]: choose another policy"
            )
        gaps = (tops[:, None] - structure.means)[~structure.best_arms]
        return BPRData(len(problem.arms), float(tops.max()), float(gaps.min(initial=1.0)))

    @staticmethod
    def plan(
        prepared: BPRData, state: State, workspace: CycleOnly, ahead: Ahead, random: Random
    ) -> Plan:
        highest = -math.inf
        for arm in range(prepared.arms):
            n = state.plays[arm]
            # Live, an arm may have no reward yet: it is played until it has one.
            if n == 0:
                workspace.cycle[0] = arm
                return 1, 1
            if state.sums[arm] / n > highest:
                highest = state.sums[arm] / n
                workspace.cycle[0] = arm
        if highest >= prepared.largest - prepared.gap / 2:
            return 1, certain_rounds(prepared, state, workspace, ahead)
        total = 0.0
        for arm in range(prepared.arms):
            gap = prepared.largest - state.sums[arm] / state.plays[arm]
            total += 1 / (gap * gap)
        left = random.random() * total
        for arm in range(prepared.arms):
            workspace.cycle[0] = arm
            gap = prepared.largest - state.sums[arm] / state.plays[arm]
            left -= 1 / (gap * gap)
            if left < 0:
                break
        return 1, 1

    @staticmethod
    def holds_for(
        prepared: BPRData, state: State, workspace: CycleOnly, envelope: Envelope, rounds: int
    ) -> bool:
        leader, more = workspace.cycle[0], rounds - 1
        low, _ = mean_ahead(state, envelope, leader, more)
        low -= spare(low)
        if low < prepared.largest - prepared.gap / 2:
            return False
        for arm in range(prepared.arms):
            if arm != leader and state.sums[arm] / state.plays[arm] >= low:
                return False
        return True
