"""OSSB (Combes, Magureanu, Proutière 2017): track the exploration of the lower bound.

θ̂ is the model of maximum likelihood, the first of equals, and c(θ̂) the plays that attain the lower
bound for it over all arms. If every other arm x than a*(θ̂) has n_x ≥ (1 + γ) c_x(θ̂) ln t, play
a*(θ̂). Else a counter s goes up by one: if some arm has no more than ε·s plays, play the least
played arm, and otherwise the one with the smallest n_x/c_x(θ̂); the first of equals.

The original estimates means freely; here the estimate is a model of Θ. Where c(θ̂) = 0 nothing
makes it leave a wrong θ̂ that its arm supports, and regret need not be bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CLOCK, OWN, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds
from fpbandits.policies.shared.fit import FitOnly
from fpbandits.policies.shared.levels import Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, bracket, stays_best, weigh
from fpbandits.policies.shared.rates import Rates, rates
from fpbandits.problem.problem import Problem

_EXPLORATIONS = OWN
"""The counter s of the rule."""


class OSSBData(NamedTuple):
    """Θ by level, the rates of exploration for every model, 1 + γ and ε."""

    theta: Theta
    rates: Rates
    factor: float
    epsilon: float


@dataclass(frozen=True)
class OSSB(LikelihoodPolicy):
    """OSSB with the estimate confined to Θ.

    Parameters
    ----------
    gamma : float, default 0.0
        By which part more than the lower bound asks for arms are explored, 0 or more.
    epsilon : float, default 0.01
        Which part of the explorations each arm gets at least, whatever the lower bound says of it,
        from 0 to 1.
    likelihood : {"law", "means"}, default "law"
        Weigh models by the law of rewards, or, where that is not to be trusted, by means alone.

    References
    ----------
    R. Combes, S. Magureanu, A. Proutière: Minimal Exploration in Structured Stochastic Bandits,
    NeurIPS 2017.
    """

    gamma: float = 0.0
    epsilon: float = 0.01

    name = "ossb"
    guarantee = "none claimed for this form; regret can grow where it need not"

    def prepare(self, problem: Problem) -> OSSBData:
        """Sort Θ into levels and solve the lower bound's program for each model."""
        return OSSBData(
            self.theta(problem), rates(problem, self.likelihood), 1 + self.gamma, self.epsilon
        )

    @staticmethod
    def plan(
        prepared: OSSBData, state: State, workspace: FitOnly, ahead: Ahead, random: Random
    ) -> Plan:
        reference = weigh(prepared.theta, state, workspace.fit)
        t = state.counters[CLOCK] + 1
        if _explored(prepared, state, reference, t):
            workspace.cycle[0] = prepared.theta.best[0, reference]
            return 1, certain_rounds(prepared, state, workspace, ahead)
        state.counters[_EXPLORATIONS] += 1
        least = 0
        for arm in range(1, state.plays.size):
            if state.plays[arm] < state.plays[least]:
                least = arm
        workspace.cycle[0] = least
        if state.plays[least] > prepared.epsilon * state.counters[_EXPLORATIONS]:
            smallest = math.inf
            for arm in range(state.plays.size):
                rate = prepared.rates.over_all[reference, arm]
                if rate > 0 and state.plays[arm] / rate < smallest:
                    smallest = state.plays[arm] / rate
                    workspace.cycle[0] = arm
        return 1, 1

    @staticmethod
    def holds_for(
        prepared: OSSBData, state: State, workspace: FitOnly, envelope: Envelope, rounds: int
    ) -> bool:
        fit = workspace.fit
        if not _explored(prepared, state, fit.reference[0], state.counters[CLOCK] + rounds):
            return False
        bracket(prepared.theta, envelope, fit, workspace.cycle, 1, rounds - 1)
        return stays_best(prepared.theta, fit, -1)


@jitted
def _explored(prepared: OSSBData, state: State, reference: int, t: int) -> bool:
    """Tell whether every arm but the best has been played as often as the lower bound asks."""
    for arm in range(prepared.theta.codes.shape[0]):
        needed = prepared.factor * prepared.rates.over_all[reference, arm] * math.log(t)
        if arm != prepared.theta.best[0, reference] and state.plays[arm] < needed:
            return False
    return True
