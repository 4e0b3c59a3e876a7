"""IMED (Honda, Takemura 2015): the arm whose being best would surprise least.

Each arm once; then the arm with the smallest index n_i·kl(μ̂_i, μ̂*) + ln n_i, where μ̂* is the
largest observed mean and kl the divergence of Bernoulli, or of normal, rewards; the first of
equals.

How long will the leader, the arm of the largest mean, surely be played? Its own index is ln n, at
most that of the end. While its mean stays above those of the others, their indices are least at its
lowest mean in the envelope.
"""

from __future__ import annotations

import math

import numpy as np

from fpbandits.core.arrays import Bools, Counts
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import Ahead, CycleOnly, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds, mean_ahead, spare
from fpbandits.engine.policy import Reasons
from fpbandits.policies.shared.blind import Arms, BlindPolicy
from fpbandits.policies.shared.deficit import EQUAL, mean_deficit
from fpbandits.problem.problem import Problem


class IMEDData(Arms):
    """What IMED prepares."""


class IMED(BlindPolicy):
    """IMED: asymptotically optimal, and blind to Θ.

    References
    ----------
    J. Honda, A. Takemura: Non-Asymptotic Analysis of a New Bandit Algorithm for Semi-Bounded
    Rewards, Journal of Machine Learning Research 16, 2015.
    """

    name = "imed"
    prepared_type = IMEDData
    guarantee = "E[R(T)] = (1 + o(1)) ln T Σ Δ_i/kl(μ_i, μ*) for Bernoulli rewards"

    def reasons(
        self, problem: Problem, prepared: IMEDData, state: State, workspace: CycleOnly
    ) -> Reasons:
        """Return the index of each arm, its surprise; −∞ for one without rewards."""
        plays, sums = state.plays, state.sums
        highest = max((total / n for total, n in zip(sums, plays, strict=True) if n), default=0.0)
        surprise = [
            math.log(n)
            + (mean_deficit(n, total, highest, prepared.normal) if total / n < highest else 0.0)
            if n
            else -math.inf
            for total, n in zip(sums, plays, strict=True)
        ]
        rule = "plays the arm whose being best would surprise least"
        return Reasons(rule, {"surprise": np.array(surprise)})

    @staticmethod
    def plan(
        prepared: IMEDData, state: State, workspace: CycleOnly, ahead: Ahead, random: Random
    ) -> Plan:
        leads = imed_plan(state, workspace.cycle, prepared.normal)
        return 1, certain_rounds(prepared, state, workspace, ahead) if leads else 1

    @staticmethod
    def holds_for(
        prepared: IMEDData, state: State, workspace: CycleOnly, envelope: Envelope, rounds: int
    ) -> bool:
        return imed_holds(state, envelope, workspace.cycle[0], prepared.normal, rounds)


@jitted
def imed_plan(state: State, cycle: Counts, normal: bool, eligible: Bools | None = None) -> bool:
    """Put the arm that IMED plays into the cycle, and tell whether it is the leader."""
    leader, highest = 0, -math.inf
    for arm in range(state.plays.size):
        if eligible is not None and not eligible[arm]:
            continue
        n = state.plays[arm]
        # Live, an arm may have no reward yet: it is played until it has one.
        if n == 0:
            cycle[0] = arm
            return False
        if state.sums[arm] / n > highest:
            leader, highest = arm, state.sums[arm] / n
    least = math.inf
    for arm in range(state.plays.size):
        if eligible is not None and not eligible[arm]:
            continue
        n = state.plays[arm]
        surprise = math.log(n)
        if state.sums[arm] / n < highest:
            surprise += mean_deficit(n, state.sums[arm], highest, normal)
        if surprise < least - EQUAL:
            least = surprise
            cycle[0] = arm
    return bool(cycle[0] == leader)


@jitted
def imed_holds(state: State, envelope: Envelope, leader: int, normal: bool, rounds: int) -> bool:
    """Tell whether IMED is sure to play the leader ``rounds`` times."""
    more, n = rounds - 1, state.plays[leader]
    low, _ = mean_ahead(state, envelope, leader, more)
    low -= spare(low)
    leader_index = (
        math.log(n + more) + 3 * EQUAL
    )  # `imed_plan` takes indices within EQUAL for equal
    for arm in range(state.plays.size):
        if arm != leader:
            plays, total = state.plays[arm], state.sums[arm]
            if total / plays >= low:
                return False
            if math.log(plays) + mean_deficit(plays, total, low, normal) <= leader_index:
                return False
    return True
