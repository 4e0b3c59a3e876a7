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

from numba.extending import register_jitable

from fpbandits.policies.base import (
    CLOCK,
    COMPILED,
    STAGE,
    add_to_tally,
    furthest,
    implement,
    observe,
    plan,
    repeats,
)
from fpbandits.policies.likelihood import Theta, ThetaPolicy, bracket, stays_best, theta, weigh
from fpbandits.policies.rates import Exploration, exploration
from fpbandits.problem import Problem


class OSSBModel(NamedTuple):
    """Θ by level, exploration for every model, 1 + γ and ε."""

    theta: Theta
    exploration: Exploration
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

    def model(self, problem: Problem) -> OSSBModel:
        """Sort Θ into levels and solve the lower bound's program for each model."""
        return OSSBModel(theta(problem), exploration(problem), 1 + self.gamma, self.epsilon)


@register_jitable(**COMPILED)
def _explored(model: Any, tally: Any, reference: int, t: int) -> bool:
    """Tell whether every arm but the best has been played as often as the lower bound asks."""
    for arm in range(model.theta.codes.shape[0]):
        needed = model.factor * model.exploration.over_all[reference, arm] * math.log(t)
        if arm != model.theta.best[reference] and tally.plays[arm] < needed:
            return False
    return True


@implement(plan, OSSBModel)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    reference = weigh(model.theta, tally, desk)
    t = tally.counters[CLOCK] + 1
    if _explored(model, tally, reference, t):
        desk.cycle[0] = model.theta.best[reference]
        rounds = 1
        if budget > 1:
            desk.counts[0, 0] = reference
            rounds = furthest(model, tally, envelope, desk, budget)
        return 1, rounds
    tally.counters[STAGE] += 1
    least = 0
    for arm in range(1, tally.plays.size):
        if tally.plays[arm] < tally.plays[least]:
            least = arm
    desk.cycle[0] = least
    if tally.plays[least] > model.epsilon * tally.counters[STAGE]:
        smallest = math.inf
        for arm in range(tally.plays.size):
            rate = model.exploration.over_all[reference, arm]
            if rate > 0 and tally.plays[arm] / rate < smallest:
                smallest = tally.plays[arm] / rate
                desk.cycle[0] = arm
    return 1, 1


@implement(repeats, OSSBModel)
def _repeats(model: Any, tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    reference = desk.counts[0, 0]
    if not _explored(model, tally, reference, tally.counters[CLOCK] + rounds):
        return False
    bracket(model.theta, tally, envelope, desk, 1, rounds - 1, reference)
    return stays_best(model.theta, desk, reference, -1)


@implement(observe, OSSBModel)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    add_to_tally(tally, arm, plays, total)
    tally.counters[CLOCK] += plays
