"""BPR (Bubeck, Perchet, Rigollet 2013): bounded regret for who knows the largest mean and the gap.

Each arm once. Then, if the largest observed mean is at least μ* − Δ/2, play its arm; else draw an
arm with probability proportional to (μ* − μ̂_i)^−2. μ* and Δ come from Θ, where every model has the
same largest mean μ*; Δ is the least gap between it and a smaller mean, over all models. Where
models differ in their largest mean the policy does not apply, and is refused.

The leader is sure to be played while its lowest mean in the envelope is at least μ* − Δ/2 and above
the others' means. Draws are one at a time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from fpbandits.core.arrays import TOLERANCE
from fpbandits.engine.envelope import furthest, mean_ahead, spare
from fpbandits.engine.policy import Plan, Policy
from fpbandits.errors import InputError
from fpbandits.problem.problem import Problem
from fpbandits.theory.structure import Structure


class BPRKnown(NamedTuple):
    """The largest mean, the gap below it, and how many arms there are."""

    arms: int
    largest: float
    gap: float


class BPR(Policy):
    """BPR: told the largest mean and the smallest gap."""

    name = "bpr"
    knows = "the largest mean and the smallest gap, which all models must share"
    guarantee = "bounded regret, of order Σ (1/Δ_i)·ln(Δ_i/Δ)"
    randomised = True

    def prepare(self, problem: Problem) -> BPRKnown:
        """Find μ* and Δ, or say that there is no such number."""
        structure = Structure(problem)
        tops = structure.means.max(axis=1)
        if tops.max() - tops.min() > TOLERANCE:
            raise InputError(
                f"bpr needs one largest mean that all models share, and in {problem.name} it "
                f"lies between {tops.min():g} and {tops.max():g} on [0, 1]: choose another policy"
            )
        gaps = (tops[:, None] - structure.means)[~structure.best_arms]
        return BPRKnown(len(problem.arms), float(tops.max()), float(gaps.min(initial=1.0)))

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        highest = -math.inf
        for arm in range(known.arms):
            n = tally.plays[arm]
            # Live, an arm may have nothing told yet: it is played until something is.
            if n == 0:
                scratch.cycle[0] = arm
                return 1, 1
            if tally.sums[arm] / n > highest:
                highest = tally.sums[arm] / n
                scratch.cycle[0] = arm
        if highest < known.largest - known.gap / 2:
            total = 0.0
            for arm in range(known.arms):
                gap = known.largest - tally.sums[arm] / tally.plays[arm]
                total += 1 / (gap * gap)
            left = random.random() * total
            for arm in range(known.arms):
                scratch.cycle[0] = arm
                gap = known.largest - tally.sums[arm] / tally.plays[arm]
                left -= 1 / (gap * gap)
                if left < 0:
                    break
            return 1, 1
        return 1, furthest(known, tally, envelope, scratch, budget)

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        leader, more = scratch.cycle[0], rounds - 1
        low, _ = mean_ahead(tally, envelope, leader, more)
        low -= spare(low)
        if low < known.largest - known.gap / 2:
            return False
        for arm in range(known.arms):
            if arm != leader and tally.sums[arm] / tally.plays[arm] >= low:
                return False
        return True
