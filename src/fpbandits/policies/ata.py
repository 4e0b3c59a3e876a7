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

from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import furthest
from fpbandits.engine.policy import CLOCK, REFERENCE, Plan
from fpbandits.policies.shared.levels import LOW, NOW, Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, bracket, stays_best, weigh
from fpbandits.policies.shared.rates import Rates, rates
from fpbandits.problem.problem import Problem


class ATAKnown(NamedTuple):
    """Θ by level, the rates of exploration for every model, and c."""

    theta: Theta
    rates: Rates
    c: float


@dataclass(frozen=True)
class ATA(LikelihoodPolicy):
    """Certainty equivalence, with exploration at the lower bound's rate."""

    c: float = 1.0

    name = "ata"
    guarantee = "none claimed for this form"
    randomised = True

    def prepare(self, problem: Problem) -> ATAKnown:
        """Sort Θ into levels and solve the lower bound's program for each model."""
        sorted_theta = self.theta(problem)
        found = rates(problem, self.likelihood)
        totals = found.over_a.sum(axis=1, keepdims=True)
        # Where telling models apart takes next to no plays, all arms but the best are as good.
        shares = np.where(totals > 0, found.over_a / np.maximum(totals, 1e-300), 0.0)
        for truth in np.flatnonzero(totals[:, 0] == 0):
            shares[truth] = 1 / max(len(problem.arms) - 1, 1)
            shares[truth, sorted_theta.best[0, truth]] = 0.0
        return ATAKnown(sorted_theta, found._replace(over_a=shares), self.c)

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        reference = weigh(known.theta, tally, scratch)
        scratch.cycle[0] = known.theta.best[0, reference]
        t = tally.counters[CLOCK] + 1
        if _least_ratio(known, scratch.by_model[NOW], reference) <= math.log(known.c * t):
            left = random.random()
            for arm in range(known.theta.codes.shape[0]):
                share = known.rates.over_a[reference, arm]
                if share > 0:
                    scratch.cycle[0] = arm
                    left -= share
                    if left < 0:
                        break
            return 1, 1
        scratch.notes[REFERENCE] = reference
        return 1, furthest(known, tally, envelope, scratch, budget)

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        reference = scratch.notes[REFERENCE]
        bracket(known.theta, envelope, scratch, 1, rounds - 1, reference)
        end = math.log(known.c * (tally.counters[CLOCK] + rounds))
        if _least_ratio(known, scratch.by_model[LOW], reference) <= end:
            return False
        return stays_best(known.theta, scratch, reference, -1)


@jitted
def _least_ratio(known: Any, misfit: Any, reference: int) -> float:
    least = math.inf
    for place in range(known.rates.first[reference], known.rates.first[reference + 1]):
        least = min(least, misfit[known.rates.rivals[place]])
    return least
