"""Doubt: play arms that no model recommends, late and seldom, in case the models are wrong.

A wrong model may never be found out: the rewards of its best arm do not contradict it, and what it
says of the other arms is not put to the test. So with ``false_alarm``, where the leader would be
played at time t > t₀, an arm i is played instead if its own rewards do not refute that it pays b,
more than the leader does by the model:

    n_i·kl(μ̂_i, b) < ln(t/t₀),      b = v + ½/ln t,      t₀ = trust·(K − 1)⁴.

v is the mean of the leader by θ̂, and K the number of arms, with contexts of pairs. For rewards in
[0, 1] b is at most (1 + v)/2. trust is at least 10⁻³ and K − 1 at least 1 here, so that t₀ > 0; and
ln t is at least ln 2. An arm whose mean so far is b or more is not refuted. Of several arms the
least refuted is played, of equals the first. If it does pay more, its rewards refute the models,
which are then given up (`fpbandits.policies.shared.giving_up`).

The condition is that of KL-UCB, but from t₀ on: until then the models are trusted. Each arm adds to
the cost of doubt, so with more arms doubt begins later. It costs at most some
Δ_i ln(T/t₀)/kl(μ_i, v + ½/ln T) per arm, and with it regret is polylogarithmic whatever the truth
is (``docs/doubt.md``).
"""

from __future__ import annotations

import math

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import State
from fpbandits.policies.shared.deficit import mean_deficit
from fpbandits.policies.shared.levels import Theta

_MARGIN = 0.5
"""The ½ of ½/ln t."""


def trusted_until(trust: float, pairs: int) -> float:
    """Return t₀, until when no arm is in doubt."""
    return max(trust, 1e-3) * max(pairs - 1, 1) ** 4


@jitted
def arm_in_doubt(
    theta: Theta, trusted: float, state: State, hat: int, context: int, leader: int, t: int
) -> int:
    """Return the arm to play in place of the leader, or the leader if no arm is in doubt.

    ``trusted`` is t₀. An arm in doubt stays so until it is played, since kl(μ̂_i, b) falls with t
    and ln(t/t₀) grows: if none is at the last of several plays of the leader, none was before.
    """
    first = context * theta.arms
    if t <= trusted:
        return leader
    top = theta.top[context, hat]
    better = top + _MARGIN / math.log(max(t, 2))
    if not theta.normal:
        better = min(better, (1 + top) / 2)
    # The arm to play so far, and the deficit that another must stay below to replace it.
    found, least = leader, math.log(t / trusted)
    for arm in range(theta.arms):
        n, total = state.plays[first + arm], state.sums[first + arm]
        refuted = mean_deficit(n, total, better, theta.normal) if total < n * better else 0.0
        if arm != leader and refuted < least and theta.eligible[first + arm]:
            found, least = arm, refuted
    return found
