"""FP-LLR: FP-UCB's episodes with a joint likelihood test instead of a radius for each arm.

Play each arm of A once. Then, in episodes k = 1, 2, …, a model θ is consistent while

    max ℓ − ℓ(θ) ≤ 2 ln k + ln |Θ|,

and each arm that is best under some consistent θ is played once. e^{ℓ(θ) − ℓ(θ°)} is a martingale
of mean 1 under θ°, so θ° is inconsistent in episode k with probability at most 1/k²: the split into
bounded and logarithmic regret is that of FP-UCB, with a far smaller constant.

The cycle is an episode. It is sure to be repeated if every model that could become consistent has
its best arm in it, and each arm in it has some model that is sure to stay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable

from fpbandits.arrays import Counts, Floats
from fpbandits.policies.base import (
    CLOCK,
    COMPILED,
    Tally,
    add_to_tally,
    furthest,
    implement,
    observe,
    plan,
    repeats,
)
from fpbandits.policies.likelihood import EQUAL, Theta, ThetaPolicy, bracket, misfits, theta, weigh
from fpbandits.problem import Problem


class FPLLRModel(NamedTuple):
    """Θ by level, the arms of A, and ln |Θ|."""

    theta: Theta
    arms: Counts
    offset: float


@dataclass(frozen=True)
class FPLLR(ThetaPolicy):
    """FP-UCB with a joint likelihood test."""

    name = "fp-llr"
    guarantee = "bounded regret where B(θ°) is empty, else O(log T)"
    leaps = True

    def model(self, problem: Problem) -> FPLLRModel:
        """Sort Θ into levels."""
        sorted_theta = theta(problem)
        arms = np.unique(sorted_theta.best)
        return FPLLRModel(sorted_theta, arms, math.log(len(sorted_theta.best)))

    def margins(self, problem: Problem, tally: Tally) -> Floats:
        """Return what is left of the threshold."""
        k = max(tally.counters[CLOCK], 1)
        threshold = 2 * math.log(k) + math.log(len(problem.parameters))
        margins: Floats = threshold - misfits(problem, tally)
        return margins


@register_jitable(**COMPILED)
def _threshold(model: Any, k: int) -> float:
    threshold: float = 2 * math.log(k) + model.offset
    return threshold


@implement(plan, FPLLRModel)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    k = tally.counters[CLOCK]
    if k == 0:
        for place in range(model.arms.size):
            desk.cycle[place] = model.arms[place]
        tally.counters[CLOCK] = 1
        return model.arms.size, 1
    reference = weigh(model.theta, tally, desk)
    playing, threshold = desk.counts[0], _threshold(model, k)
    for arm in range(playing.size):
        playing[arm] = 0
    for parameter in range(model.theta.best.size):
        if desk.by_model[0, parameter] <= threshold + EQUAL:
            playing[model.theta.best[parameter]] = 1
    length = 0
    for arm in range(playing.size):
        if playing[arm] == 1:
            desk.cycle[length] = arm
            length += 1
    rounds = 1
    if budget >= 2 * length:
        desk.counts[1, 0] = reference
        desk.counts[2, 0] = length
        rounds = furthest(model, tally, envelope, desk, budget // length)
    tally.counters[CLOCK] = k + rounds
    return length, rounds


@implement(repeats, FPLLRModel)
def _repeats(model: Any, tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    playing, sure, k = desk.counts[0], desk.counts[3], tally.counters[CLOCK]
    bracket(model.theta, tally, envelope, desk, desk.counts[2, 0], rounds - 1, desk.counts[1, 0])
    low, high = desk.by_model[1], desk.by_model[2]
    now, end = _threshold(model, k), _threshold(model, k + rounds - 1)
    least = 0.0
    for parameter in range(model.theta.best.size):
        least = min(least, low[parameter])
    for arm in range(playing.size):
        sure[arm] = 0
    for parameter in range(model.theta.best.size):
        arm = model.theta.best[parameter]
        if low[parameter] <= end + EQUAL and playing[arm] == 0:
            return False
        if high[parameter] - least <= now:
            sure[arm] = 1
    certain = True
    for arm in range(playing.size):
        certain = certain and playing[arm] == sure[arm]
    return certain


@implement(observe, FPLLRModel)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    add_to_tally(tally, arm, plays, total)
