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

from fpbandits.policies.base import CLOCK, REFERENCE, STAGE
from fpbandits.policies.compiling import jitted
from fpbandits.policies.envelope import furthest
from fpbandits.policies.likelihood import Theta, ThetaPolicy, bracket, stays_best, theta, weigh
from fpbandits.policies.rates import Rates, rates
from fpbandits.problem import Problem


class Prepared(NamedTuple):
    """Θ by level, the rates of exploration for every model, 1 + γ and ε."""

    theta: Theta
    rates: Rates
    factor: float
    epsilon: float


@dataclass(frozen=True)
class OSSB(ThetaPolicy):
    """OSSB with the estimate confined to Θ."""

    gamma: float = 0.0
    epsilon: float = 0.01

    name = "ossb"
    guarantee = "none claimed for this form; regret can grow where it need not"
    leaps = True

    def prepare(self, problem: Problem) -> Prepared:
        """Sort Θ into levels and solve the lower bound's program for each prepared."""
        return Prepared(theta(problem), rates(problem), 1 + self.gamma, self.epsilon)

    @staticmethod
    def plan(
        prepared: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any
    ) -> tuple[int, int]:
        reference = weigh(prepared.theta, tally, scratch)
        t = tally.counters[CLOCK] + 1
        if _explored(prepared, tally, reference, t):
            scratch.cycle[0] = prepared.theta.best[reference]
            rounds = 1
            if budget > 1:
                scratch.notes[REFERENCE] = reference
                rounds = furthest(prepared, tally, envelope, scratch, budget)
            return 1, rounds
        tally.counters[STAGE] += 1
        least = 0
        for arm in range(1, tally.plays.size):
            if tally.plays[arm] < tally.plays[least]:
                least = arm
        scratch.cycle[0] = least
        if tally.plays[least] > prepared.epsilon * tally.counters[STAGE]:
            smallest = math.inf
            for arm in range(tally.plays.size):
                rate = prepared.rates.over_all[reference, arm]
                if rate > 0 and tally.plays[arm] / rate < smallest:
                    smallest = tally.plays[arm] / rate
                    scratch.cycle[0] = arm
        return 1, 1

    @staticmethod
    def repeats(prepared: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        reference = scratch.notes[REFERENCE]
        if not _explored(prepared, tally, reference, tally.counters[CLOCK] + rounds):
            return False
        bracket(prepared.theta, tally, envelope, scratch, 1, rounds - 1, reference)
        return stays_best(prepared.theta, scratch, reference, -1)


@jitted
def _explored(prepared: Any, tally: Any, reference: int, t: int) -> bool:
    """Tell whether every arm but the best has been played as often as the lower bound asks."""
    for arm in range(prepared.theta.codes.shape[0]):
        needed = prepared.factor * prepared.rates.over_all[reference, arm] * math.log(t)
        if arm != prepared.theta.best[reference] and tally.plays[arm] < needed:
            return False
    return True
