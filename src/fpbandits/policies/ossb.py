"""OSSB (Combes, Magureanu, Proutière 2017): track the exploration of the lower bound.

θ̂ is the model of maximum likelihood, of equals the first. c_x(θ̂) is how often arm x is played per
unit of ln t in the solution of the lower bound's program for θ̂, over all arms. If every arm x other
than a*(θ̂) has n_x ≥ (1 + γ) c_x(θ̂) ln t, play a*(θ̂). Else a counter s goes up by one: if some arm
has at most ε·s plays, play the least played arm, and otherwise the arm with the smallest
n_x/c_x(θ̂); of equals the first.

The original estimates means freely; here the estimate is a model of Θ. Where c(θ̂) = 0 nothing
makes the policy leave a wrong θ̂ that agrees with the rewards of its best arm, so regret need not be
bounded where it could be.
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
    """Θ by level; plays of each arm per unit of ln t, for every model; 1 + γ; ε."""

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
        Arms are explored 1 + gamma times as often as the lower bound asks; 0 or more.
    epsilon : float, default 0.01
        The least share of the explorations that each arm gets, whatever the lower bound says of it;
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
        sorted_theta = self.theta(problem)
        solved = rates(problem, self.likelihood, everywhere=True)
        return OSSBData(sorted_theta, solved, 1 + self.gamma, self.epsilon)

    @staticmethod
    def plan(
        prepared: OSSBData, state: State, workspace: FitOnly, ahead: Ahead, random: Random
    ) -> Plan:
        hat = weigh(prepared.theta, state, workspace.fit)
        t = state.counters[CLOCK] + 1
        if _is_explored(prepared, state, hat, t):
            workspace.cycle[0] = prepared.theta.best[0, hat]
            return 1, certain_rounds(prepared, state, workspace, ahead)
        state.counters[_EXPLORATIONS] += 1
        least_played = 0
        for arm in range(1, state.plays.size):
            if state.plays[arm] < state.plays[least_played]:
                least_played = arm
        workspace.cycle[0] = least_played
        if state.plays[least_played] > prepared.epsilon * state.counters[_EXPLORATIONS]:
            smallest = math.inf
            for arm in range(state.plays.size):
                rate = prepared.rates.plays[hat, arm]
                if rate > 0 and state.plays[arm] / rate < smallest:
                    smallest = state.plays[arm] / rate
                    workspace.cycle[0] = arm
        return 1, 1

    @staticmethod
    def holds_for(
        prepared: OSSBData, state: State, workspace: FitOnly, envelope: Envelope, rounds: int
    ) -> bool:
        fit = workspace.fit
        if not _is_explored(prepared, state, fit.reference[0], state.counters[CLOCK] + rounds):
            return False
        bracket(prepared.theta, envelope, fit, workspace.cycle, 1, rounds - 1)
        return stays_best(prepared.theta, fit, -1)  # −1: θ̂ itself stays the one that fits best


@jitted
def _is_explored(prepared: OSSBData, state: State, hat: int, t: int) -> bool:
    """Tell whether every arm but a*(θ̂) has been played as often as the lower bound asks by t."""
    for arm in range(prepared.theta.arms):
        needed = prepared.factor * prepared.rates.plays[hat, arm] * math.log(t)
        if arm != prepared.theta.best[0, hat] and state.plays[arm] < needed:
            return False
    return True
