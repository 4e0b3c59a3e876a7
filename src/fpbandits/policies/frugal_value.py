r"""The information value of every arm: the parts of the rule in `fpbandits.policies.frugal`.

That module defines the symbols: posterior p, likeliest model θ̂, leader, g, D̄, w, W, J, c and V.

The cost of a reward to a model is −ln of its likelihood, Σ_k s_k·cost_k with statistics s, the
first of which is 1. D_i(φ‖θ) is the expected cost to θ, less that to φ, of a reward drawn from φ:

    D_i(φ‖θ) = Σ_k E_φ[s_k]·(cost_k(θ) − cost_k(φ))
             = D_i(φ‖θ̂) + Σ_k E_φ[s_k]·(cost_k(θ) − cost_k(θ̂)).

So with nothing pending, means over the posterior of D_i(φ‖θ̂) and of each statistic give
Σ_φ p(φ)·D_i(φ‖θ) for every θ. It is exactly 0 for arms on which all agree.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Bools, Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.belief import gap
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.fit import Fit
from fpbandits.policies.shared.levels import Theta
from fpbandits.problem.problem import Problem

_LIKELY = 0.2
"""While rewards are pending, a model is only compared with rivals whose posterior is at least this
much of the likeliest one's. These rivals stand for all others: comparing it with all models would
change regret by less than 1 %."""

MOST_RIVALS = 32
"""The most rivals that a model is compared with then."""

_COST_OF_IMPOSSIBLE = 20.0
"""What a reward that is impossible under a model costs it, in nats, or 2 more than any possible one
if that is more: an infinite cost would hide how seldom such a reward comes."""


class FrugalData(NamedTuple):
    """Θ by level, the options of `Frugal`, and the shares of contexts.

    Some options are not as given: ``alarm`` is −ln of ``false_alarm``, or 0 for none,
    ``trusted_until`` is t₀ of `fpbandits.policies.shared.doubt`, and if the truth moves by a
    ``chain``, ``change_rate`` is the rate at which that forgets.

    By [pair, level, k], ``cost`` is cost_k in nats, and ``expected`` E[s_k]; a level is the index
    of one of the different distributions, or means, of a pair.
    """

    theta: Theta
    delta: float
    kappa: float
    horizon: float
    lifetime: float
    alarm: float
    trusted_until: float
    change_rate: float
    chain: Floats | None
    shares: Floats
    cost: Floats
    expected: Floats


class Belief(NamedTuple):
    """The posterior by model; by pair of a context and an arm, expected loss c and value V."""

    posterior: Floats
    loss: Floats
    value: Floats


class FrugalWork(NamedTuple):
    """What a decision computes.

    Attributes
    ----------
    cycle, fit
        The arm to play, the first entry of ``cycle``, and how well models fit the rewards.
    decided
        θ̂ and t of the last decision, for the stability check.
    now, least, most
        The belief, and its lower and upper limits during the plays ahead
        (`fpbandits.policies.frugal_leap`).
    unfit
        By model, whether it fits too badly to be θ̂, with ``false_alarm``.
    leaders
        By context, the leader.
    mean
        By pair, sums weighted by the posterior: of each statistic, the first of which is 1, and of
        D(φ‖θ̂).
    told
        By pair, Σ_φ w_θ(φ)·D(φ‖θ) of one model θ at a time.
    rivals
        The likely models that others are compared with while rewards are pending, then −1.
    """

    cycle: Counts
    fit: Fit
    decided: Counts
    now: Belief
    least: Belief
    most: Belief
    unfit: Bools
    leaders: Counts
    mean: Floats
    told: Floats
    rivals: Counts


def reward_costs(theta: Theta, problem: Problem) -> tuple[Floats, Floats]:
    """Return ``cost`` and ``expected`` of `FrugalData`, for the policy's likelihood."""
    if not theta.by_law:  # a reward r costs r times what a 1 costs, and 1 − r times what a 0 costs
        of_1, of_0 = _finite(theta.win), _finite(theta.loss)
        expected = np.stack([np.ones(theta.levels.shape), theta.levels], axis=2)
        return np.stack([of_0, of_1 - of_0], axis=2), expected
    cost = np.concatenate([theta.base[:, :, np.newaxis], theta.cost], axis=2)
    expected, pairs = np.ones(cost.shape), np.arange(len(theta.codes))
    for model in range(len(problem.models)):
        expected[pairs, theta.codes[:, model], 1:] = problem.rewards.expected(model)
    return _finite(cost), expected


def _finite(costs: Floats) -> Floats:
    """Replace infinite costs, written as `IMPOSSIBLE`, by a stand-in, [pair, level, …]."""
    possible = np.where(costs >= IMPOSSIBLE, 0.0, costs)
    stand_in = np.maximum(possible.max(axis=1, keepdims=True) + 2, _COST_OF_IMPOSSIBLE)
    return np.where(costs >= IMPOSSIBLE, stand_in, costs)


@jitted
def h_of(prepared: FrugalData, t: int) -> float:
    """Return h(t), the plays for which information will be of use; t counts decisions from 1."""
    h = prepared.kappa * float(t) ** (1 + prepared.delta)
    if prepared.horizon > 0:
        h = max(prepared.horizon - t + 1, 1.0)
    elif prepared.lifetime > 0:
        h = prepared.lifetime
    if prepared.change_rate > 0:
        h = min(h, prepared.change_rate ** (-(1 + prepared.delta) / 2))
    return float(min(max(h, 1e-100), 1e100))


@jitted
def cutoff(h: float) -> float:
    """Return 40 + 2 ln h: a model that is less likely than θ̂ by so many nats is neglected.

    It has at most e^{−40}/h² of θ̂'s posterior. V is compared with c/h, and c itself may be of the
    order of 1/h.
    """
    return 40 + 2 * max(math.log(h), 0.0)


@jitted
def lead(theta: Theta, loss: Floats, hat: int, leaders: Counts) -> None:
    """Fill ``leaders``: of the best arms under θ̂ in a context, the first of least loss.

    Only eligible arms are marked as best, and in every context there is one.
    """
    for context in range(leaders.size):
        first, leader = context * theta.arms, -1
        for pair in range(first, first + theta.arms):
            if theta.is_best[pair, hat] and (leader < 0 or loss[pair] < loss[leader] * (1 - EQUAL)):
                leader = pair
        leaders[context] = leader - first


@jitted
def information_value(
    prepared: FrugalData, work: FrugalWork, belief: Belief, hat: int, pending: Counts | None
) -> None:
    """Fill in V of every pair, the sum of p·g·W·D̄/(1 + D̄) over models.

    The belief may be a lower or upper limit of the posterior, which does not sum to 1. With nothing
    pending V grows with every entry of it.
    """
    theta, posterior, value, told = prepared.theta, belief.posterior, belief.value, work.told
    if pending is not None:  # if it is None, this is not even compiled
        _fill_rivals(posterior, hat, pending, work.rivals)
    _fill_means(prepared, posterior, hat, work.mean)
    value.fill(0.0)
    for model in range(posterior.size):
        if posterior[model] == 0:
            continue
        stake = 0.0
        for context in range(work.leaders.size):
            leader = context * theta.arms + work.leaders[context]
            weight = posterior[model] * prepared.shares[context]
            stake += weight * gap(theta, leader, model)
        if stake > 0:
            if pending is not None and work.rivals[0] >= 0:
                total = _fill_told_if_pending(prepared, work, posterior, pending, model)
            else:
                total = _fill_told(prepared, work, posterior, hat, model)
            for pair in range(value.size):
                if told[pair] > 0:  # it is W·D̄, and ``total`` is W
                    value[pair] += stake * total * told[pair] / (total + told[pair])


@jitted
def _fill_means(prepared: FrugalData, posterior: Floats, hat: int, mean: Floats) -> None:
    """Fill in ``mean``; mean[0, 0] is the sum of the posterior."""
    cost, expected, codes = prepared.cost, prepared.expected, prepared.theta.codes
    mean.fill(0.0)
    for model in range(posterior.size):
        if posterior[model] > 0:
            for pair in range(len(mean)):
                level, last = codes[pair, model], cost.shape[2]
                nats = _divergence(cost, expected, pair, level, codes[pair, hat])
                for k in range(last):
                    mean[pair, k] += posterior[model] * expected[pair, level, k]
                mean[pair, last] += posterior[model] * nats


@jitted
def _fill_told(
    prepared: FrugalData, work: FrugalWork, posterior: Floats, hat: int, model: int
) -> float:
    """Fill ``told`` with Σ_φ w_θ(φ)·D(φ‖θ); return W_θ. With nothing pending, w_θ(φ) = p(φ)."""
    cost, codes, mean, told = prepared.cost, prepared.theta.codes, work.mean, work.told
    for pair in range(told.size):
        level, of_hat, last = codes[pair, model], codes[pair, hat], cost.shape[2]
        told[pair] = mean[pair, last]
        for k in range(last):
            told[pair] += mean[pair, k] * (cost[pair, level, k] - cost[pair, of_hat, k])
    return float(mean[0, 0] - posterior[model])


@jitted
def _fill_rivals(posterior: Floats, hat: int, pending: Counts, rivals: Counts) -> None:
    """Fill ``rivals`` with likely models, evenly spread if there are too many; then with −1.

    If nothing is pending, there are none.
    """
    all_pending, likely, chosen, number = 0, 0, 0, 0
    rivals.fill(-1)
    for pair in range(pending.size):
        all_pending += pending[pair]
    enough, most = _LIKELY * posterior[hat], rivals.size
    for model in range(posterior.size):
        likely += posterior[model] >= enough
    for model in range(posterior.size):
        if all_pending > 0 and posterior[model] >= enough:
            # Multiples of the golden ratio, modulo 1, are evenly spread and follow no period: about
            # ``most`` of the likely models are taken.
            if chosen < most and ((number * 0.6180339887498949) % 1.0) * likely < most:
                rivals[chosen] = model
                chosen += 1
            number += 1


@jitted
def _fill_told_if_pending(
    prepared: FrugalData, work: FrugalWork, posterior: Floats, pending: Counts, model: int
) -> float:
    """Do as `_fill_told` with rewards pending, where rivals φ stand for all models but θ."""
    cost, expected, codes = prepared.cost, prepared.expected, prepared.theta.codes
    total, rival_mass, told = 0.0, 0.0, work.told
    told.fill(0.0)
    for rival in work.rivals:
        if rival < 0 or rival == model:
            continue
        nats = 0.0  # Σ_j m_j·J_j(θ, φ)
        for pair in range(pending.size):
            if pending[pair] > 0:
                rival_level, level = codes[pair, rival], codes[pair, model]
                one_way = max(_divergence(cost, expected, pair, rival_level, level), 0.0)
                the_other = max(_divergence(cost, expected, pair, level, rival_level), 0.0)
                nats += pending[pair] * (one_way + the_other)
        weight = posterior[rival] * math.exp(-nats / 8)
        rival_mass += posterior[rival]
        total += weight
        for pair in range(pending.size):
            rival_level, level = codes[pair, rival], codes[pair, model]
            told[pair] += weight * max(_divergence(cost, expected, pair, rival_level, level), 0.0)
    others = work.mean[0, 0] - posterior[model]
    scale = others / rival_mass if rival_mass > 0 else 0.0
    for pair in range(pending.size):
        told[pair] *= scale
    return total * scale


@jitted
def _divergence(cost: Floats, expected: Floats, pair: int, level: int, other: int) -> float:
    """Return D of one level of a pair to another; rounding may leave it a little below 0."""
    nats = 0.0
    for k in range(cost.shape[2]):
        nats += expected[pair, level, k] * (cost[pair, other, k] - cost[pair, level, k])
    return nats


@jitted
def choose(arms: int, shares: Floats, belief: Belief, context: int, h: float) -> int:
    """Choose an arm for every context, of largest ΣV/Σc; return that of the context at hand.

    If the ratio is below 1/h, return −1. By Dinkelbach's iteration from the rate 1/h: choose in
    each context the arm that maximises V − rate·c. If the ratio of these is at least the rate, it
    is the next rate; else no choice reaches the rate.
    """
    rate, chosen = 1 / h, -1
    while True:
        lost, gained, tried = 0.0, 0.0, -1
        for each in range(shares.size):
            best, most = -1, -math.inf
            for pair in range(each * arms, (each + 1) * arms):
                net = belief.value[pair] - rate * belief.loss[pair]
                if net > most:
                    best, most = pair, net
            lost += shares[each] * belief.loss[best]
            gained += shares[each] * belief.value[best]
            if each == context:
                tried = best - each * arms
        if gained <= 0 or gained < rate * lost:
            return chosen
        chosen = tried
        if lost == 0 or gained <= rate * lost * (1 + EQUAL):
            return chosen
        rate = gained / lost
