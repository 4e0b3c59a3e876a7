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
from typing import Any, NamedTuple

from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import furthest
from fpbandits.engine.policy import CLOCK, REFERENCE, STAGE, Plan
from fpbandits.policies.shared.levels import Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, bracket, stays_best, weigh
from fpbandits.policies.shared.rates import Rates, rates
from fpbandits.problem.problem import Problem


class OSSBKnown(NamedTuple):
    """Θ by level, the rates of exploration for every model, 1 + γ and ε."""

    theta: Theta
    rates: Rates
    factor: float
    epsilon: float


@dataclass(frozen=True)
class OSSB(LikelihoodPolicy):
    """OSSB with the estimate confined to Θ."""

    gamma: float = 0.0
    epsilon: float = 0.01

    name = "ossb"
    guarantee = "none claimed for this form; regret can grow where it need not"

    def prepare(self, problem: Problem) -> OSSBKnown:
        """Sort Θ into levels and solve the lower bound's program for each model."""
        return OSSBKnown(
            self.theta(problem), rates(problem, self.likelihood), 1 + self.gamma, self.epsilon
        )

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        reference = weigh(known.theta, tally, scratch)
        t = tally.counters[CLOCK] + 1
        if _explored(known, tally, reference, t):
            scratch.cycle[0] = known.theta.best[0, reference]
            rounds = 1
            if budget > 1:
                scratch.notes[REFERENCE] = reference
                rounds = furthest(known, tally, envelope, scratch, budget)
            return 1, rounds
        tally.counters[STAGE] += 1
        least = 0
        for arm in range(1, tally.plays.size):
            if tally.plays[arm] < tally.plays[least]:
                least = arm
        scratch.cycle[0] = least
        if tally.plays[least] > known.epsilon * tally.counters[STAGE]:
            smallest = math.inf
            for arm in range(tally.plays.size):
                rate = known.rates.over_all[reference, arm]
                if rate > 0 and tally.plays[arm] / rate < smallest:
                    smallest = tally.plays[arm] / rate
                    scratch.cycle[0] = arm
        return 1, 1

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        reference = scratch.notes[REFERENCE]
        if not _explored(known, tally, reference, tally.counters[CLOCK] + rounds):
            return False
        bracket(known.theta, envelope, scratch, 1, rounds - 1, reference)
        return stays_best(known.theta, scratch, reference, -1)


@jitted
def _explored(known: Any, tally: Any, reference: int, t: int) -> bool:
    """Tell whether every arm but the best has been played as often as the lower bound asks."""
    for arm in range(known.theta.codes.shape[0]):
        needed = known.factor * known.rates.over_all[reference, arm] * math.log(t)
        if arm != known.theta.best[0, reference] and tally.plays[arm] < needed:
            return False
    return True
