"""IMED (Honda, Takemura 2015): the arm whose being best would surprise least.

Each arm once; then the arm with the smallest n_i·kl(μ̂_i, μ̂*) + ln n_i, where μ̂* is the largest
observed mean and kl the Bernoulli divergence, for normal rewards theirs; the first of equals.

How long will the leader, the arm of the largest mean, surely be played? Its own number is ln n, at
most that of the end. While its mean stays above those of the others, theirs are least at its lowest
mean in the envelope.
"""

from __future__ import annotations

import math
from typing import Any

from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import furthest, mean_ahead, spare
from fpbandits.engine.policy import Arms, BlindPolicy, Plan
from fpbandits.policies.shared.misfit import EQUAL, mean_misfit


class IMEDKnown(Arms):
    """What IMED knows."""


class IMED(BlindPolicy):
    """IMED: asymptotically optimal, and blind to Θ."""

    name = "imed"
    known_type = IMEDKnown
    guarantee = "E[R(T)] = (1 + o(1)) ln T Σ Δ_i/kl(μ_i, μ*) for Bernoulli rewards"

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        rounds = 1
        if imed_plan(tally, scratch, known.normal) and budget > 1:
            rounds = furthest(known, tally, envelope, scratch, budget)
        return 1, rounds

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        return imed_repeats(tally, envelope, scratch, known.normal, rounds)


@jitted
def imed_plan(tally: Any, scratch: Any, normal: bool) -> bool:
    """Put the arm that IMED plays into the cycle, and tell whether it is the leader."""
    leader, highest = 0, -math.inf
    for arm in range(tally.plays.size):
        n = tally.plays[arm]
        # Live, an arm may have nothing told yet: it is played until something is.
        if n == 0:
            scratch.cycle[0] = arm
            return False
        if tally.sums[arm] / n > highest:
            leader, highest = arm, tally.sums[arm] / n
    least = math.inf
    for arm in range(tally.plays.size):
        n = tally.plays[arm]
        surprise = math.log(n)
        if tally.sums[arm] / n < highest:
            surprise += mean_misfit(n, tally.sums[arm], highest, normal)
        if surprise < least - EQUAL:
            least = surprise
            scratch.cycle[0] = arm
    return bool(scratch.cycle[0] == leader)


@jitted
def imed_repeats(tally: Any, envelope: Any, scratch: Any, normal: bool, rounds: int) -> bool:
    """Tell whether IMED is sure to play the leader so many times."""
    leader, more = scratch.cycle[0], rounds - 1
    n = tally.plays[leader]
    low, _ = mean_ahead(tally, envelope, leader, more)
    low -= spare(low)
    own = math.log(n + more) + 3 * EQUAL
    for arm in range(tally.plays.size):
        if arm != leader:
            plays, total = tally.plays[arm], tally.sums[arm]
            if total / plays >= low:
                return False
            if math.log(plays) + mean_misfit(plays, total, low, normal) <= own:
                return False
    return True
