"""Doubt: arms get a chance that no model gives them, late and seldom.

A wrong model may fit all that is played under it, and never be found out: under its best arm
nothing contradicts it, and what it claims of the others is not put to the test. So with
``false_alarm``, where the leader would be played at time t, an arm is played instead whose own
rewards do not refute that it pays more than the leader is said to,

    n_i·kl(μ̂_i, v + ½/ln t) < ln(t/t₀),      t₀ = trust·(K − 1)⁴,

v being what θ̂ says of the leader and K the number of arms, or of pairs with contexts; of several,
the arm least refuted. An arm whose mean is above v + ½/ln t is not refuted ever. What is seen of it
then refutes the models instead, and they are given up (`fpbandits.policies.shared.giving_up`).

The clock is that of KL-UCB, but starts late: up to t₀ claims are trusted. Doubt is paid for by each
arm, so with more of them it comes later. It costs at most some Δ_i ln(T/t₀)/kl(μ_i, v + ½/ln T) per
arm, and with it regret is polylogarithmic whatever the truth is (``docs/policies.md``).
"""

from __future__ import annotations

import math

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import State
from fpbandits.policies.shared.deficit import mean_deficit
from fpbandits.policies.shared.levels import Theta

_MARGIN = 0.5


def trusted_until(trust: float, pairs: int) -> float:
    """Return t₀, up to when nothing is doubted."""
    return max(trust, 1e-3) * max(pairs - 1, 1) ** 4


@jitted
def doubted(
    theta: Theta, trusted: float, state: State, hat: int, context: int, leader: int, t: int
) -> int:
    """Return the arm to play in place of the leader: the leader itself if nothing is doubted.

    ``trusted`` is until when nothing is.

    Once an arm is, it stays so until it is played: what refutes it falls with t, and ln(t/t₀)
    grows. So who asks for the last of several plays of the leader has asked for all of them.
    """
    first = context * theta.arms
    if t <= trusted:
        return leader
    top = theta.top[context, hat]
    better = top + _MARGIN / math.log(max(t, 2))
    if not theta.normal:
        better = min(better, (1 + top) / 2)
    found, least = leader, math.log(t / trusted)
    for arm in range(theta.arms):
        n, total = state.plays[first + arm], state.sums[first + arm]
        refuted = mean_deficit(n, total, better, theta.normal) if total < n * better else 0.0
        if arm != leader and refuted < least and theta.eligible[first + arm]:
            found, least = arm, refuted
    return found
