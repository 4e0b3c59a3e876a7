"""FP-LLR: FP-UCB's episodes, with a likelihood test of all arms together, not a radius for each.

Play once each arm of A, those that are best under some model. Then, in episodes k = 1, 2, …, a
model θ is consistent while

    max ℓ − ℓ(θ) ≤ 2 ln k + ln |Θ|,

and each arm that is best under some consistent θ is played once. e^{ℓ(θ) − ℓ(θ°)} is a martingale
of mean 1 under θ°, or with ``likelihood=means`` a supermartingale, so θ° is inconsistent in episode
k with probability at most 1/k². Regret is bounded or logarithmic where FP-UCB's is, with a far
smaller constant.

**With contexts** there are no episodes: k counts the plays. Of the arms that are best in the
context at hand under some consistent model, the one that was played least in that context is next.

`plan` gives one episode as a cycle, and for how many rounds it is sure to be repeated, by
`holds_for`: every model that could become consistent has its best arm in the cycle, and each arm in
it is best under some model that is sure to stay consistent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CLOCK, CONTEXT, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds
from fpbandits.engine.policy import Contexts, Eligible
from fpbandits.policies.fp_ucb import FPUCB
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.fit import Fit, minimum, new_fit
from fpbandits.policies.shared.levels import Theta, restricted
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, bracket, weigh
from fpbandits.problem.problem import Problem


class FPLLRData(NamedTuple):
    """The models grouped by their means (levels), the arms of A, and ln |Θ|."""

    theta: Theta
    arms: Counts
    offset: float


class FPLLRWork(NamedTuple):
    """The planned arms, and how well models fit.

    ``playing`` is 1 for arms that are in the cycle, ``sure`` for those that are sure to stay in it;
    ``length`` is the number of arms in the cycle, as an array of one.
    """

    cycle: Counts
    fit: Fit
    playing: Counts
    sure: Counts
    length: Counts


class FPLLR(LikelihoodPolicy):
    """FP-UCB with a joint likelihood test.

    Parameters
    ----------
    likelihood : {"law", "means"}, default "law"
        Test models by the law of rewards, or, where that is not to be trusted, by means alone.

    References
    ----------
    This package's own; docs/optimist.md has its proof.
    """

    name = "fp-llr"
    revision = 2
    contexts = Contexts.TOGETHER
    eligible = Eligible.MARKED
    guarantee = "bounded regret where B(θ°) is empty, else O(log T)"

    def prepare(self, problem: Problem) -> FPLLRData:
        """Group the models of Θ by their means."""
        theta = self.theta(problem)
        return FPLLRData(theta, np.unique(theta.best), math.log(theta.best.shape[1]))

    def restrict(
        self, problem: Problem, prepared: FPLLRData, context: int, among: Sequence[int]
    ) -> FPLLRData:
        theta = restricted(prepared.theta, context, among)
        return prepared._replace(theta=theta, arms=np.unique(theta.best))

    def workspace(self, prepared: FPLLRData, pairs: int) -> FPLLRWork:
        cycle, playing, sure = np.zeros((3, pairs), np.int64)
        fit, length = new_fit(prepared.theta), np.zeros(1, np.int64)
        return FPLLRWork(cycle, fit, playing, sure, length)

    @staticmethod
    def plan(
        prepared: FPLLRData, state: State, workspace: FPLLRWork, ahead: Ahead, random: Random
    ) -> Plan:
        k = state.counters[CLOCK]
        if prepared.theta.best.shape[0] > 1:
            return _plan_in_context(prepared, state, workspace)
        if k == 0:
            for i in range(prepared.arms.size):
                workspace.cycle[i] = prepared.arms[i]
            state.counters[CLOCK] = 1
            return prepared.arms.size, 1
        weigh(prepared.theta, state, workspace.fit)
        playing, threshold = workspace.playing, _threshold(prepared, k)
        playing.fill(0)
        for model in range(prepared.theta.best.shape[1]):
            if workspace.fit.deficit[model] <= threshold + EQUAL:
                playing[prepared.theta.best[0, model]] = 1
        length = 0
        for arm in range(playing.size):
            if playing[arm] == 1:
                workspace.cycle[length] = arm
                length += 1
        workspace.length[0] = length
        rounds = certain_rounds(prepared, state, workspace, ahead, length)
        state.counters[CLOCK] = k + rounds
        return length, rounds

    @staticmethod
    def holds_for(
        prepared: FPLLRData, state: State, workspace: FPLLRWork, envelope: Envelope, rounds: int
    ) -> bool:
        playing, sure, k = workspace.playing, workspace.sure, state.counters[CLOCK]
        fit, cycle, length = workspace.fit, workspace.cycle, workspace.length[0]
        # The last round is planned by the rewards of those before it. Then a model's deficit, which
        # is ``low`` to ``high`` against today's best model, may grow by as much as another model
        # falls below that one.
        bracket(prepared.theta, envelope, fit, cycle, length, rounds - 1)
        low, high = fit.lowest, fit.highest
        now, end = _threshold(prepared, k), _threshold(prepared, k + rounds - 1)
        least = minimum(low)  # at most 0, that of today's best model
        sure.fill(0)
        for model in range(prepared.theta.best.shape[1]):
            arm = prepared.theta.best[0, model]
            if low[model] <= end + EQUAL and playing[arm] == 0:
                return False
            if high[model] - least <= now:
                sure[arm] = 1
        certain = True
        for arm in range(playing.size):
            certain = certain and playing[arm] == sure[arm]
        return certain

    observe = staticmethod(FPUCB.observe)  # which leaves the clock to `plan`


@jitted
def _plan_in_context(prepared: FPLLRData, state: State, workspace: FPLLRWork) -> Plan:
    """Choose the least played arm that is best in this context under a consistent model."""
    weigh(prepared.theta, state, workspace.fit)
    context, arms = state.counters[CONTEXT], prepared.theta.arms
    state.counters[CLOCK] += 1
    threshold, fewest = _threshold(prepared, state.counters[CLOCK]), -1
    for model in range(prepared.theta.best.shape[1]):
        if workspace.fit.deficit[model] <= threshold + EQUAL:
            arm = prepared.theta.best[context, model]
            plays = state.plays[context * arms + arm]
            if fewest < 0 or plays < fewest or (plays == fewest and arm < workspace.cycle[0]):
                fewest = plays
                workspace.cycle[0] = arm
    return 1, 1


@jitted
def _threshold(prepared: FPLLRData, k: int) -> float:
    return 2 * math.log(k) + prepared.offset
