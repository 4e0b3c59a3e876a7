"""FP-LLR: FP-UCB's episodes with a joint likelihood test instead of a radius for each arm.

Play each arm of A once. Then, in episodes k = 1, 2, …, a model θ is consistent while

    max ℓ − ℓ(θ) ≤ 2 ln k + ln |Θ|,

and each arm that is best under some consistent θ is played once. e^{ℓ(θ) − ℓ(θ°)} is a martingale
of mean 1 under θ°, so θ° is inconsistent in episode k with probability at most 1/k²: the split into
bounded and logarithmic regret is that of FP-UCB, with a far smaller constant.

**With contexts** there are no episodes: k counts the plays, and of the arms that are best in the
context at hand under some consistent model the one that was played there least comes next.

The cycle is an episode. It is sure to be repeated if every model that could become consistent has
its best arm in it, and each arm in it has some model that is sure to stay.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import furthest
from fpbandits.engine.policy import (
    CLOCK,
    CONTEXT,
    LENGTH,
    REFERENCE,
    Contexts,
    Plan,
    Tally,
    count,
)
from fpbandits.policies.shared.levels import HIGH, LOW, NOW, Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, bracket, weigh
from fpbandits.policies.shared.misfit import EQUAL
from fpbandits.problem.problem import Problem


class FPLLRKnown(NamedTuple):
    """Θ by level, the arms of A, and ln |Θ|."""

    theta: Theta
    arms: Counts
    offset: float


class FPLLR(LikelihoodPolicy):
    """FP-UCB with a joint likelihood test."""

    name = "fp-llr"
    contexts = Contexts.TOGETHER
    guarantee = "bounded regret where B(θ°) is empty, else O(log T)"

    def prepare(self, problem: Problem) -> FPLLRKnown:
        """Sort Θ into levels."""
        sorted_theta = self.theta(problem)
        arms = np.unique(sorted_theta.best)
        return FPLLRKnown(sorted_theta, arms, math.log(sorted_theta.best.shape[1]))

    def margins(self, problem: Problem, tally: Tally) -> Floats:
        """Return what is left of the threshold."""
        k = max(tally.counters[CLOCK], 1)
        threshold = 2 * math.log(k) + math.log(len(problem.models))
        margins: Floats = threshold - self.misfits(problem, tally)
        return margins

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        k = tally.counters[CLOCK]
        if known.theta.best.shape[0] > 1:
            return _plan_in_context(known, tally, scratch)
        if k == 0:
            for place in range(known.arms.size):
                scratch.cycle[place] = known.arms[place]
            tally.counters[CLOCK] = 1
            return known.arms.size, 1
        reference = weigh(known.theta, tally, scratch)
        playing, threshold = scratch.marks[0], _threshold(known, k)
        for arm in range(playing.size):
            playing[arm] = 0
        for model in range(known.theta.best.shape[1]):
            if scratch.by_model[NOW, model] <= threshold + EQUAL:
                playing[known.theta.best[0, model]] = 1
        length = 0
        for arm in range(playing.size):
            if playing[arm] == 1:
                scratch.cycle[length] = arm
                length += 1
        rounds = 1
        if budget >= 2 * length:
            scratch.notes[REFERENCE] = reference
            scratch.notes[LENGTH] = length
            rounds = furthest(known, tally, envelope, scratch, budget // length)
        tally.counters[CLOCK] = k + rounds
        return length, rounds

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        playing, sure, k = scratch.marks[0], scratch.marks[1], tally.counters[CLOCK]
        bracket(
            known.theta,
            envelope,
            scratch,
            scratch.notes[LENGTH],
            rounds - 1,
            scratch.notes[REFERENCE],
        )
        low, high = scratch.by_model[LOW], scratch.by_model[HIGH]
        now, end = _threshold(known, k), _threshold(known, k + rounds - 1)
        least = 0.0
        for model in range(known.theta.best.shape[1]):
            least = min(least, low[model])
        for arm in range(playing.size):
            sure[arm] = 0
        for model in range(known.theta.best.shape[1]):
            arm = known.theta.best[0, model]
            if low[model] <= end + EQUAL and playing[arm] == 0:
                return False
            if high[model] - least <= now:
                sure[arm] = 1
        certain = True
        for arm in range(playing.size):
            certain = certain and playing[arm] == sure[arm]
        return certain

    @staticmethod
    def observe(known: Any, tally: Any, arm: int, plays: int, total: float, random: Any) -> None:
        count(tally, arm, plays, total)  # the clock counts episodes


@jitted
def _plan_in_context(known: Any, tally: Any, scratch: Any) -> Plan:
    weigh(known.theta, tally, scratch)
    context, arms = tally.counters[CONTEXT], known.theta.arms
    tally.counters[CLOCK] += 1
    threshold, fewest = _threshold(known, tally.counters[CLOCK]), -1
    for model in range(known.theta.best.shape[1]):
        if scratch.by_model[NOW, model] <= threshold + EQUAL:
            arm = known.theta.best[context, model]
            plays = tally.plays[context * arms + arm]
            if fewest < 0 or plays < fewest or (plays == fewest and arm < scratch.cycle[0]):
                fewest = plays
                scratch.cycle[0] = arm
    return 1, 1


@jitted
def _threshold(known: Any, k: int) -> float:
    threshold: float = 2 * math.log(k) + known.offset
    return threshold
