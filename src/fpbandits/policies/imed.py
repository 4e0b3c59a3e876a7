"""IMED (Honda, Takemura 2015): the arm whose being best would surprise least.

Each arm once; then the arm with the smallest n_i·kl(μ̂_i, μ̂*) + ln n_i, where μ̂* is the largest
observed mean and kl the Bernoulli divergence; the first of equals.

How long will the leader, the arm of the largest mean, surely be played? Its own number is ln n, at
most that of the end. While its mean stays above those of the others, theirs are least at its lowest
mean in the envelope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from numba.extending import register_jitable

from fpbandits.policies.base import (
    COMPILED,
    Policy,
    add_to_tally,
    furthest,
    implement,
    mean_range,
    observe,
    plan,
    repeats,
    strays,
)
from fpbandits.policies.likelihood import EQUAL, likelihood_misfit
from fpbandits.problem import Problem


class IMEDModel(NamedTuple):
    """IMED knows how many arms there are, and nothing else."""

    arms: int


@dataclass(frozen=True)
class IMED(Policy):
    """IMED: asymptotically optimal, and blind to Θ."""

    name = "imed"
    knows = "the number of arms"
    guarantee = "E[R(T)] = (1 + o(1)) ln T Σ Δ_i/kl(μ_i, μ*) for Bernoulli rewards"
    leaps = True

    def model(self, problem: Problem) -> IMEDModel:
        """Return the number of arms."""
        return IMEDModel(len(problem.arms))


@register_jitable(**COMPILED)
def imed_plan(tally: Any, desk: Any) -> bool:
    """Put the arm that IMED plays into the cycle, and tell whether it is the leader."""
    leader, highest = 0, -1.0
    for arm in range(tally.plays.size):
        n = tally.plays[arm]
        # Live, an arm may have nothing told yet: it is played until something is.
        if n == 0:
            desk.cycle[0] = arm
            return False
        if tally.sums[arm] / n > highest:
            leader, highest = arm, tally.sums[arm] / n
    least = math.inf
    for arm in range(tally.plays.size):
        n = tally.plays[arm]
        surprise = math.log(n)
        if tally.sums[arm] / n < highest:
            surprise += likelihood_misfit(n, tally.sums[arm], highest)
        if surprise < least - EQUAL:
            least = surprise
            desk.cycle[0] = arm
    return bool(desk.cycle[0] == leader)


@register_jitable(**COMPILED)
def imed_repeats(tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    """Tell whether IMED is sure to play the leader so many times."""
    leader, more = desk.cycle[0], rounds - 1
    n = tally.plays[leader]
    low, _ = mean_range(
        n,
        tally.sums[leader],
        envelope.means[leader],
        more,
        strays(envelope, leader, more),
    )
    low -= 1e-15
    own = math.log(n + more) + 3 * EQUAL
    for arm in range(tally.plays.size):
        if arm != leader:
            plays, total = tally.plays[arm], tally.sums[arm]
            if total / plays >= low:
                return False
            if math.log(plays) + likelihood_misfit(plays, total, low) <= own:
                return False
    return True


@implement(plan, IMEDModel)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    rounds = 1
    if imed_plan(tally, desk) and budget > 1:
        rounds = furthest(model, tally, envelope, desk, budget)
    return 1, rounds


@implement(repeats, IMEDModel)
def _repeats(model: Any, tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    return imed_repeats(tally, envelope, desk, rounds)


@implement(observe, IMEDModel)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    add_to_tally(tally, arm, plays, total)
