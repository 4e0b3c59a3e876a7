"""Beliefs in a truth that changes: one filter for a change rate and for transitions.

With ``change_rate`` = r the truth is drawn anew from the prior with probability r before each play:
the belief before a play is (1 − r) times the posterior after the last one, plus r times the prior.
If the problem has ``transitions``, beliefs move by these (`fpbandits.problem.chain`).
"""

from __future__ import annotations

import math

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CLOCK, State
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.levels import Theta
from fpbandits.problem.problem import Problem

BEGUN = 1.0
"""The last of a policy's extra numbers once `follow` has filtered; before, it is 0."""

GIVEN = 2.0
"""The last of a policy's extra numbers if the agent filters: it counts late rewards as of their
decisions, which `follow` does not know."""


def numbers_kept(problem: Problem) -> int:
    """Return how many numbers `follow` keeps if the truth moves by transitions.

    The beliefs; by pair, plays, sum and statistics of the rewards counted so far; the clock; and
    `BEGUN` or `GIVEN`.
    """
    return len(problem.models) + problem.pairs * (2 + problem.rewards.statistics) + 2


def without_infinity(theta: Theta) -> Theta:
    """Let a reward that is impossible under a model cost it some hundred nats at most.

    `follow` takes differences of sums over all rewards, and infinity would hide all later rewards.
    """
    costs = theta.win, theta.loss, theta.base, theta.cost
    win, loss, base, cost = (np.where(c >= IMPOSSIBLE, 700.0, c) for c in costs)
    levels = theta.levels if theta.normal else theta.levels.clip(1e-300, 1 - 1e-16)
    return theta._replace(levels=levels, win=win, loss=loss, base=base, cost=cost)


@jitted
def follow(
    theta: Theta,
    prior: Floats,
    state: State,
    deficit: Floats,
    change_rate: float,
    chain: Floats | None,
) -> None:
    """Fill ``deficit`` with −ln of beliefs in the truth of the next play; the least becomes 0.

    Without a ``chain``, ``deficit`` has the deficits of all rewards, as `weigh` left them.
    ``state.extra`` keeps the beliefs, what was counted by then, and the clock.
    """
    beliefs, models = state.extra, deficit.size
    last = beliefs.size - 1
    if chain is not None:
        if beliefs[last] == GIVEN:
            for model in range(models):
                deficit[model] = beliefs[model]
            return
        _weigh_new_rewards(theta, state, deficit)
    plays = state.counters[CLOCK] - beliefs[last - 1]
    mass = 0.0
    for model in range(models):
        mass += math.exp(-prior[model])
    unchanged = (1 - change_rate) ** plays
    least = math.inf
    for model in range(models):
        moved = beliefs[model] if beliefs[last] > 0 else prior[model]
        if chain is None:
            before = beliefs[models + model]
            # Earlier versions kept infinite costs.
            moved += deficit[model] - before if before < 1e-12 * IMPOSSIBLE else 0.0
            beliefs[models + model] = deficit[model]
        else:
            moved += deficit[model]
        beliefs[model] = moved
        least = min(least, moved)
    total = 0.0
    for model in range(models):
        total += math.exp(least - beliefs[model])
    if chain is None:
        for model in range(models):
            belief = unchanged * math.exp(least - beliefs[model]) / total
            belief += (1 - unchanged) * math.exp(-prior[model]) / mass
            beliefs[model] = belief
    else:
        for model in range(models):
            beliefs[model] = math.exp(least - beliefs[model]) / total
        for _ in range(int(plays)):
            _move(chain, beliefs, deficit)
    highest = 0.0
    for model in range(models):
        highest = max(highest, beliefs[model])
    for model in range(models):
        belief = beliefs[model] / highest
        beliefs[model] = -math.log(belief) if belief > 0 else IMPOSSIBLE
        deficit[model] = beliefs[model]
    beliefs[last - 1] = state.counters[CLOCK]
    beliefs[last] = BEGUN


@jitted
def _weigh_new_rewards(theta: Theta, state: State, deficit: Floats) -> None:
    """Fill ``deficit`` with −ln of how likely the rewards since the last plan are, by model.

    It is not a difference of two sums over all rewards: after a reward that a model rules out,
    these are infinite.
    """
    models, statistics = deficit.size, state.statistics.shape[1]
    deficit.fill(0.0)
    for pair in range(state.plays.size):
        seen = state.extra[models + pair * (2 + statistics) :]
        plays, total = state.plays[pair] - seen[0], state.sums[pair] - seen[1]
        if plays > 0:
            for model in range(models):
                level = theta.codes[pair, model]
                if theta.by_law:
                    deficit[model] += plays * theta.base[pair, level]
                    for k in range(statistics):
                        added = state.statistics[pair, k] - seen[2 + k]
                        deficit[model] += added * theta.cost[pair, level, k]
                else:
                    deficit[model] += total * theta.win[pair, level]
                    deficit[model] += (plays - total) * theta.loss[pair, level]
            seen[0], seen[1] = state.plays[pair], state.sums[pair]
            for k in range(statistics):
                seen[2 + k] = state.statistics[pair, k]


@jitted
def _move(chain: Floats, beliefs: Floats, moved: Floats) -> None:
    """Move beliefs by one play; ``moved`` is a workspace with an entry per model."""
    models = moved.size
    moved.fill(0.0)
    for model in range(models):
        if beliefs[model] > 0:
            for to in range(models):
                moved[to] += beliefs[model] * chain[model, to]
    for model in range(models):
        beliefs[model] = moved[model]
