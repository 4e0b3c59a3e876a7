"""UCB-C (Gupta, Chaudhari, Mukherjee, Joshi, Yağan): UCB among the arms that could be best.

After t plays a model θ fits if on every arm |μ̂_i − μ_i(θ)| ≤ √(2ασ² ln t/n_i), with σ² = 1/4. The
arms that are best under a fitting model are competitive (all arms, where no model fits). Among them
play the one with the largest μ̂_i + √(2ασ² ln t/n_i), the first of equals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from fpbandits.policies.base import (
    CLOCK,
    MISFITS,
    add_to_tally,
    furthest,
    implement,
    mean_range,
    observe,
    plan,
    repeats,
    strays,
)
from fpbandits.policies.likelihood import Theta, ThetaPolicy, box_ahead, box_now, theta
from fpbandits.problem import Problem


class UCBCModel(NamedTuple):
    """Θ by level, and 2ασ²."""

    theta: Theta
    scale: float


@dataclass(frozen=True)
class UCBC(ThetaPolicy):
    """UCB-C: UCB among the competitive arms."""

    alpha: float = 3.0

    name = "ucb-c"
    guarantee = "O(log T); O(1) plays of arms that are not competitive (α > 3)"
    leaps = True

    def model(self, problem: Problem) -> UCBCModel:
        """Sort Θ into levels."""
        return UCBCModel(theta(problem), self.alpha / 2)


@implement(plan, UCBCModel)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    t = max(tally.counters[CLOCK], 1)
    box_now(model.theta, tally, desk, model.scale, t)
    competitive = desk.counts[0]
    arms, models = model.theta.codes.shape
    for arm in range(arms):
        competitive[arm] = 0
    nothing_fits = True
    for parameter in range(models):
        if desk.by_model[0, parameter] >= 0:
            competitive[model.theta.best[parameter]] = 1
            nothing_fits = False
    if nothing_fits and t > 1:
        tally.counters[MISFITS] += 1
    best_index = -1.0
    for arm in range(arms):
        n = tally.plays[arm]
        index = math.inf
        if n > 0:
            index = tally.sums[arm] / n + math.sqrt(model.scale * math.log(t) / n)
        if (nothing_fits or competitive[arm] == 1) and index > best_index:
            best_index = index
            desk.cycle[0] = arm
    rounds = 1
    if budget > 1 and not nothing_fits and best_index < math.inf:
        rounds = furthest(model, tally, envelope, desk, budget)
    return 1, rounds


@implement(repeats, UCBCModel)
def _repeats(model: Any, tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    t, played, more = max(tally.counters[CLOCK], 1), desk.cycle[0], rounds - 1
    box_ahead(model.theta, tally, envelope, desk, model.scale, t, more)
    n = tally.plays[played]
    low, _ = mean_range(
        n, tally.sums[played], envelope.means[played], more, strays(envelope, played, more)
    )
    least = low + math.sqrt(model.scale * math.log(t) / (n + more)) - 1e-15
    sure, rival = False, desk.counts[1]
    for arm in range(rival.size):
        rival[arm] = 0
    for parameter in range(model.theta.best.size):
        arm = model.theta.best[parameter]
        if arm == played:
            sure = sure or desk.by_model[1, parameter] >= 0
        elif desk.by_model[2, parameter] >= 0:
            rival[arm] = 1
    for arm in range(rival.size):
        if rival[arm] == 1:
            plays = tally.plays[arm]
            if plays == 0:
                return False
            index = tally.sums[arm] / plays + math.sqrt(model.scale * math.log(t + more) / plays)
            if index >= least:
                return False
    return sure


@implement(observe, UCBCModel)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    add_to_tally(tally, arm, plays, total)
    tally.counters[CLOCK] += plays
