"""Optimism over the likelihood set: believe the best that what was seen leaves open.

A model θ is *plausible* after t plays while its log-likelihood is within c(t) of the largest,

    max ℓ − ℓ(θ) ≤ c(t) = (1 + δ) ln t + b.

Among the plausible models take those whose best arm pays most; of the arms that are best under one
of them, play the one that carries the most posterior mass of those models (all arms that tie for
best under a model carry its mass; the first of equals).

e^{ℓ(θ) − ℓ(θ°)} is a martingale of mean 1 under θ°, so the truth is implausible at some time with
probability at most Σ_θ e^{−c(t)}, which is summable for δ > 0; ``docs/policies.md`` has the proof
that regret is then bounded where B(θ°) is empty and logarithmic otherwise.

The cycle is one arm. It is sure to be repeated if no model that could become plausible has a larger
top, each that has the same top has this arm among its best, and one such is sure to stay plausible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from numba.extending import register_jitable

from fpbandits.policies.base import (
    CLOCK,
    COMPILED,
    REACH,
    Policy,
    add_to_tally,
    furthest,
    implement,
    observe,
    plan,
    repeats,
)
from fpbandits.policies.theta import Theta, bracket, theta, weigh
from fpbandits.problem import Problem
from fpbandits.rewards import TOLERANCE


class OptimistModel(NamedTuple):
    """Θ by level, and the threshold's slope and offset."""

    theta: Theta
    slope: float
    offset: float


@dataclass(frozen=True)
class Optimist(Policy):
    """Optimism over the likelihood set."""

    delta: float = 0.1
    offset: float = 0.0

    name = "optimist"
    knows = "Θ: the mean of every arm under every parameter"
    guarantee = "bounded regret where B(θ°) is empty, else O(log T)"
    leaps = True

    def model(self, problem: Problem) -> OptimistModel:
        """Sort Θ into levels."""
        return OptimistModel(theta(problem), 1 + self.delta, self.offset)

    def room(self, model: OptimistModel) -> tuple[int, int]:
        """Room for every model and level."""
        return model.theta.codes.shape[1], model.theta.levels.shape[1]


@register_jitable(**COMPILED)
def _threshold(model: Any, t: int) -> float:
    threshold: float = model.slope * math.log(max(t, 1)) + model.offset
    return threshold


@implement(plan, OptimistModel)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    reference = weigh(model.theta, tally, desk)
    misfit, mass = desk.by_model[0], desk.numbers[0]
    arms, models = model.theta.codes.shape
    threshold = _threshold(model, tally.counters[CLOCK])
    top = 0.0
    for parameter in range(models):
        if misfit[parameter] <= threshold:
            top = max(top, model.theta.top[parameter])
    for arm in range(arms):
        mass[arm] = -1.0
    for parameter in range(models):
        if misfit[parameter] <= threshold and model.theta.top[parameter] >= top - TOLERANCE:
            weight = math.exp(-misfit[parameter])
            for arm in range(arms):
                if model.theta.is_best[arm, parameter]:
                    mass[arm] = max(mass[arm], 0.0) + weight
    desk.cycle[0] = 0
    for arm in range(1, arms):
        if mass[arm] > mass[desk.cycle[0]]:
            desk.cycle[0] = arm
    rounds = 1
    if budget > 1:
        desk.counts[0, 0] = reference
        desk.numbers[1, 0] = top
        rounds = furthest(model, tally, envelope, desk, budget, tally.counters[REACH])
        tally.counters[REACH] = rounds
    return 1, rounds


@implement(repeats, OptimistModel)
def _repeats(model: Any, tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    played, top, t = desk.cycle[0], desk.numbers[1, 0], tally.counters[CLOCK]
    bracket(model.theta, tally, envelope, desk, 1, rounds - 1, desk.counts[0, 0])
    low, high = desk.by_model[1], desk.by_model[2]
    now, end = _threshold(model, t), _threshold(model, t + rounds - 1)
    arms, models = model.theta.codes.shape
    least = 0.0
    for parameter in range(models):
        least = min(least, low[parameter])
    # A rival that comes first wins ties, so some model that stays must tell it from the arm.
    sure, told_apart = False, desk.counts[1]
    for arm in range(arms):
        told_apart[arm] = 0
    for parameter in range(models):
        if low[parameter] > end:
            continue
        if model.theta.top[parameter] > top + TOLERANCE:
            return False
        if model.theta.top[parameter] < top - TOLERANCE:
            continue
        if not model.theta.is_best[played, parameter]:
            return False
        if high[parameter] - least <= now:
            sure = True
            if high[parameter] < 20:
                for arm in range(played):
                    if not model.theta.is_best[arm, parameter]:
                        told_apart[arm] = 1
    for arm in range(played):
        sure = sure and told_apart[arm] == 1
    return sure


@implement(observe, OptimistModel)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    add_to_tally(tally, arm, plays, total)
    tally.counters[CLOCK] += plays
