"""UCB-S (Lattimore, Munos 2014): optimism over the models that fit arm by arm.

After t plays a model θ fits if on every arm |μ̂_i − μ_i(θ)| ≤ √(α σ² ln t/n_i), with σ² = 1/4 for
rewards in [0, 1]. Play the arm with the largest mean that a fitting model gives any arm; the first
of equals. Where no model fits, play by UCB1's index, as the latent bandit of Maillard and Mannor
(2014) does. α > 2 is needed for logarithmic regret, and about 4 for bounded regret.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from fpbandits.arrays import TOLERANCE
from fpbandits.policies.base import (
    CLOCK,
    MISFITS,
    add_to_tally,
    furthest,
    implement,
    observe,
    plan,
    repeats,
)
from fpbandits.policies.likelihood import Theta, ThetaPolicy, box_ahead, box_now, theta
from fpbandits.problem import Problem


class UCBSModel(NamedTuple):
    """Θ by level, and α σ²."""

    theta: Theta
    scale: float


@dataclass(frozen=True)
class UCBS(ThetaPolicy):
    """UCB-S: optimism over the models that fit arm by arm."""

    alpha: float = 4.0

    name = "ucb-s"
    guarantee = "O(log T), and bounded regret where the best arm tells models apart"
    leaps = True

    def model(self, problem: Problem) -> UCBSModel:
        """Sort Θ into levels."""
        return UCBSModel(theta(problem), self.alpha / 4)


@implement(plan, UCBSModel)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    t = max(tally.counters[CLOCK], 1)
    box_now(model.theta, tally, desk, model.scale, t)
    arms, models = model.theta.codes.shape
    top = -1.0
    for parameter in range(models):
        if desk.by_model[0, parameter] >= 0:
            top = max(top, model.theta.top[parameter])
    if top < 0:
        if t > 1:
            tally.counters[MISFITS] += 1
        best_index = -1.0
        for arm in range(arms):
            n = tally.plays[arm]
            index = math.inf
            if n > 0:
                index = tally.sums[arm] / n + math.sqrt(2 * math.log(t) / n)
            if index > best_index:
                best_index = index
                desk.cycle[0] = arm
        return 1, 1
    desk.cycle[0] = arms
    for parameter in range(models):
        if desk.by_model[0, parameter] >= 0 and model.theta.top[parameter] >= top - TOLERANCE:
            desk.cycle[0] = min(desk.cycle[0], model.theta.best[parameter])
    rounds = 1
    if budget > 1 and tally.plays[desk.cycle[0]] > 0:
        desk.numbers[0, 0] = top
        rounds = furthest(model, tally, envelope, desk, budget)
    return 1, rounds


@implement(repeats, UCBSModel)
def _repeats(model: Any, tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    t, top, played = max(tally.counters[CLOCK], 1), desk.numbers[0, 0], desk.cycle[0]
    box_ahead(model.theta, tally, envelope, desk, model.scale, t, rounds - 1)
    sure = False
    for parameter in range(model.theta.best.size):
        if desk.by_model[2, parameter] < 0 or model.theta.top[parameter] < top - TOLERANCE:
            continue
        if model.theta.top[parameter] > top + TOLERANCE or model.theta.best[parameter] < played:
            return False
        if model.theta.best[parameter] == played and desk.by_model[1, parameter] >= 0:
            sure = True
    return sure


@implement(observe, UCBSModel)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    add_to_tally(tally, arm, plays, total)
    tally.counters[CLOCK] += plays
