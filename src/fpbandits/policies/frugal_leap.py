"""The stability check of `Frugal`: whether the leader is sure to be played some more times.

While only the leader is played, the likelihood of every model stays within limits, and so does its
posterior. Expected loss c and information value V grow with every entry of the posterior, so the
limits of the posterior give limits of c and V. The leader is sure to be played if it leads under
every model that may become the likeliest, and every other arm is not worth its cost or has a lower
V/c than the leader.

Where the leader's rewards tell nothing, both limits are the present posterior, bit for bit: then a
leap ends exactly where h(t) makes another arm worth its cost.
"""

from __future__ import annotations

import math

from fpbandits.core.arrays import Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import Envelope, State
from fpbandits.policies.frugal_value import (
    FrugalData,
    FrugalWork,
    cutoff,
    h_of,
    information_value,
)
from fpbandits.policies.shared.belief import expected_loss, gap
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.doubt import arm_in_doubt
from fpbandits.policies.shared.fit import minimum
from fpbandits.policies.shared.giving_up import keeps_fitting
from fpbandits.policies.shared.likelihood import bracket

_ROUNDING = 1 + 1e-13
"""A factor for V·h, which rounding may make a little too small."""


@jitted
def keeps_leading(
    prepared: FrugalData, state: State, work: FrugalWork, envelope: Envelope, more: int
) -> bool:
    """Tell whether the arm of the cycle, the leader, is sure to be played ``more`` times again."""
    theta, leader, low, high = prepared.theta, work.cycle[0], work.fit.lowest, work.fit.highest
    hat, t = work.decided[0], work.decided[1]
    h_now, h_then = h_of(prepared, t), h_of(prepared, t + more)
    bracket(theta, envelope, work.fit, work.cycle, 1, more)
    for model in range(low.size):
        if prepared.alarm > 0 and not keeps_fitting(
            theta, prepared.alarm, state, model, envelope, leader, more
        ):
            high[model] = math.inf  # it may be ruled out
    lower, upper = work.least, work.most
    least_high = _limit_posterior(low, high, lower.posterior, upper.posterior, h_now, h_then)
    if least_high == math.inf:
        return False
    for belief in (lower, upper):  # in a loop, so that the calls are compiled once
        expected_loss(theta, belief.posterior, 0, belief.loss)
        information_value(prepared, work, belief, hat, None)  # None: nothing is pending
    for model in range(low.size):
        may_be_likeliest = low[model] <= least_high + 2 * EQUAL
        if may_be_likeliest and not _leads(prepared, state, work, model, more):
            return False
    for arm in range(theta.arms):
        is_unworthy = upper.value[arm] * max(h_now, h_then) * _ROUNDING < lower.loss[arm]
        is_outdone = (  # V/c is lower than the leader's
            upper.value[arm] * upper.loss[leader] * (1 + 3 * EQUAL)
            < lower.value[leader] * lower.loss[arm]
        )
        if arm != leader and upper.value[arm] > 0 and not is_unworthy and not is_outdone:
            return False
    return True


@jitted
def _limit_posterior(
    low: Floats, high: Floats, least: Floats, most: Floats, h_now: float, h_then: float
) -> float:
    """Turn limits of −ln(prior × likelihood), less a constant, into limits of the posterior.

    The likeliest model has the least of these numbers. Returns the upper limit of that least
    number, or infinity if the limits are too wide to be of use.
    """
    least_low, least_high = minimum(low), minimum(high)
    if least_high > least_low + cutoff(1.0):
        return math.inf
    least_sum, most_sum = 0.0, 0.0
    for model in range(low.size):
        # How far the model is from the likeliest one: at least, and at most.
        nearest, farthest = low[model] - least_high, high[model] - least_low
        may_count = nearest <= cutoff(max(h_now, h_then))
        most[model] = math.exp(-nearest) if may_count else 0.0
        must_count = farthest <= cutoff(min(h_now, h_then))
        least[model] = math.exp(least_high - high[model]) if must_count else 0.0
        least_sum += least[model]
        most_sum += most[model]
    for model in range(low.size):
        most[model] = min(most[model] / least_sum, 1.0)
        least[model] /= most_sum
    return least_high


@jitted
def _leads(prepared: FrugalData, state: State, work: FrugalWork, model: int, more: int) -> bool:
    """Tell whether the leader is sure to lead, undoubted, while this model is likeliest."""
    theta, leader, last = prepared.theta, work.cycle[0], work.decided[1] + more
    if not theta.is_best[leader, model]:
        return False
    if prepared.alarm > 0:
        played = arm_in_doubt(theta, prepared.trusted_until, state, model, 0, leader, last)
        if played != leader:
            return False
    for arm in range(theta.arms):
        if arm == leader or not theta.is_best[arm, model]:
            continue
        excess = 0.0  # how much more than the leader this arm is expected to lose, at least
        for other in range(theta.prior.size):
            difference = gap(theta, arm, other) - gap(theta, leader, other)
            limit = work.least if difference > 0 else work.most
            excess += difference * limit.posterior[other]
        # Of equal losses the first arm leads, so an earlier arm must lose more than rounding.
        if excess < (2 * EQUAL * work.most.loss[arm] if arm < leader else 0.0):
            return False
    return True
