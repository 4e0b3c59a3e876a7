"""ATA, after Agrawal, Teneketzis and Anantharam (1989): explore at the lower bound's rate.

θ̂ is the model of maximum likelihood, the first of equals. Its rivals are the models that look like
θ̂ while a*(θ̂) is played, and have a better arm. If there are none, play a*(θ̂). Else let Λ be the
least log-likelihood ratio of θ̂ against a rival: if Λ > ln(c·t), play a*(θ̂), and otherwise an arm
drawn in proportion to the plays that attain Theorem 2's bound for θ̂, over the arms of A.

This is a reconstruction: the original's schedule of estimation is more involved, and its theorem
is asymptotic. No guarantee is claimed for this form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CLOCK, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds
from fpbandits.policies.shared.fit import FitOnly
from fpbandits.policies.shared.levels import Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, bracket, stays_best, weigh
from fpbandits.policies.shared.rates import Rates, rates
from fpbandits.problem.problem import Problem


class ATAData(NamedTuple):
    """Θ by level, the rates of exploration for every model, as shares of plays, and c."""

    theta: Theta
    rates: Rates
    c: float


@dataclass(frozen=True)
class ATA(LikelihoodPolicy):
    """Certainty equivalence, with exploration at the lower bound's rate.

    Parameters
    ----------
    c : float, default 1.0
        Scale of time in the test Λ > ln(c·t), more than 0: a larger one explores for longer before
        the estimate is trusted.
    likelihood : {"law", "means"}, default "law"
        Weigh models by the law of rewards, or, where that is not to be trusted, by means alone.

    References
    ----------
    R. Agrawal, D. Teneketzis, V. Anantharam: Asymptotically Efficient Adaptive Allocation Schemes
    for Controlled I.I.D. Processes: Finite Parameter Space, IEEE Transactions on Automatic Control
    34, 1989.
    """

    c: float = 1.0

    name = "ata"
    guarantee = "none claimed for this form"
    randomised = True

    def prepare(self, problem: Problem) -> ATAData:
        """Sort Θ into levels and solve the lower bound's program for each model."""
        sorted_theta = self.theta(problem)
        solved = rates(problem, self.likelihood, everywhere=False)
        totals = solved.plays.sum(axis=1, keepdims=True)
        # If the rates are all 0, all arms but the best have equal shares.
        shares = np.where(totals > 0, solved.plays / np.maximum(totals, 1e-300), 0.0)
        for truth in np.flatnonzero(totals[:, 0] == 0):
            shares[truth] = 1 / max(len(problem.arms) - 1, 1)
            shares[truth, sorted_theta.best[0, truth]] = 0.0
        return ATAData(sorted_theta, solved._replace(plays=shares), self.c)

    @staticmethod
    def plan(
        prepared: ATAData, state: State, workspace: FitOnly, ahead: Ahead, random: Random
    ) -> Plan:
        hat = weigh(prepared.theta, state, workspace.fit)
        workspace.cycle[0] = prepared.theta.best[0, hat]
        t = state.counters[CLOCK] + 1
        if _least_ratio(prepared, workspace.fit.deficit, hat) > math.log(prepared.c * t):
            return 1, certain_rounds(prepared, state, workspace, ahead)
        left = random.random()
        for arm in range(prepared.theta.arms):
            share = prepared.rates.plays[hat, arm]
            if share > 0:
                workspace.cycle[0] = arm
                left -= share
                if left < 0:
                    break
        return 1, 1

    @staticmethod
    def holds_for(
        prepared: ATAData, state: State, workspace: FitOnly, envelope: Envelope, rounds: int
    ) -> bool:
        fit = workspace.fit
        bracket(prepared.theta, envelope, fit, workspace.cycle, 1, rounds - 1)
        end = math.log(prepared.c * (state.counters[CLOCK] + rounds))
        if _least_ratio(prepared, fit.lowest, fit.reference[0]) <= end:
            return False
        return stays_best(prepared.theta, fit, -1)


@jitted
def _least_ratio(prepared: ATAData, deficit: Floats, hat: int) -> float:
    """Return Λ, the least deficit of a rival; infinity if there are none."""
    least = math.inf
    for index in range(prepared.rates.first[hat], prepared.rates.first[hat + 1]):
        least = min(least, deficit[prepared.rates.rivals[index]])
    return least
