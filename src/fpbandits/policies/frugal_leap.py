"""For how long the leader is sure to be played: the stability check behind leaps of `Frugal`.

While the leader alone is played each model's likelihood stays within limits, and so does its
posterior. Expected loss c and information value V grow with every entry of the posterior, so the
limits of the posterior give limits of them. The leader stays if it leads whichever model may become
likeliest, and every other arm is not worth its cost, or less worth it than the leader.

Where the leader tells nothing that counts, the limits are the posterior of now, bit for bit: then a
leap ends exactly where h(t) makes another arm worth its cost.
"""

from __future__ import annotations

import math

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import Envelope, State
from fpbandits.policies.frugal_value import (
    FrugalData,
    FrugalWork,
    expected_loss,
    gap,
    horizon,
    information_value,
    negligible,
)
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.doubt import doubted
from fpbandits.policies.shared.giving_up import keeps_fitting
from fpbandits.policies.shared.likelihood import bracket

_ROUNDING = 1 + 1e-13


@jitted
def keeps_leading(
    prepared: FrugalData, state: State, work: FrugalWork, envelope: Envelope, more: int
) -> bool:
    """Tell whether the arm of the cycle, the leader, is sure to be played ``more`` times again."""
    theta, leader, low, high = prepared.theta, work.cycle[0], work.fit.lowest, work.fit.highest
    hat, first = work.decided[0], work.decided[1]
    now, then = horizon(prepared, first), horizon(prepared, first + more)
    bracket(theta, envelope, work.fit, work.cycle, 1, more)
    for model in range(low.size):
        low[model] += theta.prior[model]
        high[model] += theta.prior[model]
        if prepared.alarm > 0 and not keeps_fitting(
            theta, prepared.alarm, state, model, envelope, leader, more
        ):
            high[model] = math.inf  # it may be ruled out
    surely = _limit_posterior(work, now, then)
    if surely == math.inf:
        return False
    most, least, work.leaders[0] = work.most, work.least, leader
    for belief in (least, most):  # in a loop, so that they are compiled once
        expected_loss(theta, belief)
        information_value(prepared, work, belief, hat, None)
    for model in range(low.size):
        if low[model] <= surely + 2 * EQUAL and not _leads(prepared, state, work, model, more):
            return False
    for arm in range(theta.arms):
        unworthy = most.value[arm] * max(now, then) * _ROUNDING < least.loss[arm]
        outdone = (
            most.value[arm] * most.loss[leader] * (1 + 3 * EQUAL)
            < least.value[leader] * least.loss[arm]
        )
        if arm != leader and most.value[arm] > 0 and not unworthy and not outdone:
            return False
    return True


@jitted
def _limit_posterior(work: FrugalWork, now: float, then: float) -> float:
    """Turn limits of −ln of prior and likelihood into those of the posterior.

    Returns below what the least of these is sure to stay; infinity if nothing is sure.
    """
    low, high = work.fit.lowest, work.fit.highest
    least, most = work.least.posterior, work.most.posterior
    lowest, surely = math.inf, math.inf
    for model in range(low.size):
        lowest, surely = min(lowest, low[model]), min(surely, high[model])
    if surely > lowest + 40:
        return math.inf
    largest, smallest = 0.0, 0.0
    for model in range(low.size):
        above, below = low[model] - surely, high[model] - lowest
        most[model] = math.exp(-above) if above <= negligible(max(now, then)) else 0.0
        counts = below <= negligible(min(now, then))
        least[model] = math.exp(surely - high[model]) if counts else 0.0
        largest, smallest = largest + most[model], smallest + least[model]
    for model in range(low.size):
        most[model] = min(most[model] / smallest, 1.0)
        least[model] /= largest
    return surely


@jitted
def _leads(prepared: FrugalData, state: State, work: FrugalWork, model: int, more: int) -> bool:
    """Tell whether the leader is sure to be played if this model is likeliest and no arm worthy."""
    theta, leader, last = prepared.theta, work.cycle[0], work.decided[1] + more
    if not theta.is_best[leader, model]:
        return False
    trusted = prepared.trusted_until
    if prepared.alarm > 0 and doubted(theta, trusted, state, model, 0, leader, last) != leader:
        return False
    for arm in range(theta.arms):
        if arm == leader or not theta.is_best[arm, model]:
            continue
        beyond = 0.0  # what this arm is expected to lose beyond the leader, at least
        for other in range(work.stake.size):
            worse = gap(theta, arm, other) - gap(theta, leader, other)
            limit = work.least if worse > 0 else work.most
            beyond += worse * limit.posterior[other]
        if beyond < (2 * EQUAL * work.most.loss[arm] if arm < leader else 0.0):
            return False
    return True
