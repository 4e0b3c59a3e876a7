"""ATA, after Agrawal, Teneketzis and Anantharam (1989): explore at the lower bound's rate.

θ̂ is the model of maximum likelihood, the first of equals. If no model looks like θ̂ while a*(θ̂) is
played and has a better arm, play a*(θ̂). Else let Λ be the least log-likelihood ratio of θ̂ against
such a model: if Λ > ln(c·t), play a*(θ̂), and otherwise an arm drawn in proportion to the plays that
attain Theorem 2's bound for θ̂, over the arms of A.

This is a reconstruction: the original's schedule of estimation is more involved, and its theorem
is asymptotic. No guarantee is claimed for this form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from fpbandits.policies.base import (
    CLOCK,
    COMPILED,
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


class ATAModel(NamedTuple):
    """Θ by level, exploration for every model, and c."""

    theta: Theta
    exploration: Exploration
    c: float


@dataclass(frozen=True)
class ATA(ThetaPolicy):
    """Certainty equivalence, with exploration at the lower bound's rate."""

    c: float = 1.0

    name = "ata"
    guarantee = "none claimed for this form"
    leaps = True
    randomised = True

    def model(self, problem: Problem) -> ATAModel:
        """Sort Θ into levels and solve the lower bound's program for each model."""
        found = exploration(problem)
        totals = found.over_a.sum(axis=1, keepdims=True)
        # Where telling models apart takes next to no plays, all arms but the best are as good.
        shares = np.where(totals > 0, found.over_a / np.maximum(totals, 1e-300), 0.0)
        sorted_theta = theta(problem)
        for true in np.flatnonzero(totals[:, 0] == 0):
            shares[true] = 1 / max(len(problem.arms) - 1, 1)
            shares[true, sorted_theta.best[true]] = 0.0
        return ATAModel(sorted_theta, found._replace(over_a=shares), self.c)


@register_jitable(**COMPILED)
def _least_ratio(model: Any, misfit: Any, reference: int) -> float:
    least = math.inf
    for place in range(model.exploration.first[reference], model.exploration.first[reference + 1]):
        least = min(least, misfit[model.exploration.rivals[place]])
    return least


@implement(plan, ATAModel)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    reference = weigh(model.theta, tally, desk)
    desk.cycle[0] = model.theta.best[reference]
    t = tally.counters[CLOCK] + 1
    if _least_ratio(model, desk.by_model[0], reference) <= math.log(model.c * t):
        left = generator.random()
        for arm in range(model.theta.codes.shape[0]):
            share = model.exploration.over_a[reference, arm]
            if share > 0:
                desk.cycle[0] = arm
                left -= share
                if left < 0:
                    break
        return 1, 1
    desk.counts[0, 0] = reference
    return 1, furthest(model, tally, envelope, desk, budget)


@implement(repeats, ATAModel)
def _repeats(model: Any, tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    reference = desk.counts[0, 0]
    bracket(model.theta, tally, envelope, desk, 1, rounds - 1, reference)
    end = math.log(model.c * (tally.counters[CLOCK] + rounds))
    if _least_ratio(model, desk.by_model[1], reference) <= end:
        return False
    return stays_best(model.theta, desk, reference, -1)


@implement(observe, ATAModel)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    add_to_tally(tally, arm, plays, total)
    tally.counters[CLOCK] += plays
