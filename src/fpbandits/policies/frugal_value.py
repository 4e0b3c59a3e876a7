r"""What arms lose and what they tell: the parts of the rule in `fpbandits.policies.frugal`.

That module defines the symbols: posterior p, likeliest model θ̂, leader, g, stake, D̄, w, J, c and V.

The cost of a reward to a model is −ln of its likelihood; with statistics s it is
base + Σ_k s_k·cost_k. D_i(φ‖θ) is the expected cost to θ, less that to φ, of a reward drawn from φ.
So with nothing pending Σ_φ p(φ)·D_i(φ‖θ) follows from means over the posterior: of each statistic,
and of the expected cost to the model that the reward is drawn from.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Bools, Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.fit import Fit, new_fit
from fpbandits.policies.shared.levels import Theta
from fpbandits.problem.problem import Problem

_LIKELY = 0.2
"""While rewards are pending, a model is only compared with rivals whose posterior is at least this
much of the likeliest one's. These rivals stand for all others: comparing it with all models would
change regret by less than 1 %."""

_MOST_RIVALS = 32
"""The most rivals that a model is compared with then."""

_COST_OF_IMPOSSIBLE = 20.0
"""What a reward that is impossible under a model costs it, in nats, or 2 more than any possible one
if that is more: an infinite cost would hide how seldom such a reward comes."""


class FrugalData(NamedTuple):
    """Θ by level, the options of `Frugal`, the shares of contexts, and the costs of rewards.

    The levels of a pair are its different distributions, and ``theta.codes``, [pair, model], says
    which one a model has; ``theta.levels`` has their means. ``base``, [pair, level], and ``cost``,
    [pair, level, k], are in nats; ``expected`` is E[s_k], [pair, level, k].
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
    base: Floats
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
    stake, ruled_out
        By model, p(θ)·g(θ), and whether it fits too badly to be θ̂, with ``false_alarm``.
    told
        By pair, Σ_φ w(φ)·D(φ‖θ) of one model θ at a time.
    mean
        By pair, posterior means: of each statistic, and of a reward's cost to the model that it is
        drawn from, less its cost to θ̂.
    rivals
        The likely models that others are compared with while rewards are pending.
    leaders, chosen, tried
        By context, the leader, the arm of best ratio so far, and that of the present rate.
    """

    cycle: Counts
    fit: Fit
    decided: Counts
    now: Belief
    least: Belief
    most: Belief
    stake: Floats
    ruled_out: Bools
    told: Floats
    mean: Floats
    rivals: Counts
    leaders: Counts
    chosen: Counts
    tried: Counts


def new_work(prepared: FrugalData, pairs: int) -> FrugalWork:
    """Allocate a workspace."""
    models, cycle = prepared.theta.codes.shape[1], np.zeros(pairs, np.int64)
    decided = np.zeros(2, np.int64)
    now, least, most = (Belief(np.zeros(models), *np.zeros((2, pairs))) for _ in range(3))
    stake, ruled_out, told = np.zeros(models), np.zeros(models, bool), np.zeros(pairs)
    mean, rivals = np.zeros((pairs, prepared.cost.shape[2] + 1)), np.zeros(_MOST_RIVALS, np.int64)
    arms, fit = np.zeros((3, prepared.shares.size), np.int64), new_fit(prepared.theta)
    return FrugalWork(
        cycle, fit, decided, now, least, most, stake, ruled_out, told, mean, rivals, *arms
    )


def reward_costs(theta: Theta, problem: Problem) -> tuple[Floats, Floats, Floats]:
    """Return ``base``, ``cost`` and ``expected`` of `FrugalData`, for the policy's likelihood."""
    if not theta.by_law:  # a reward r costs r times what a 1 costs, and 1 − r times what a 0 costs
        of_1, of_0 = _finite(theta.win), _finite(theta.loss)
        return of_0, (of_1 - of_0)[:, :, np.newaxis], theta.levels[:, :, np.newaxis]
    expected, pairs = np.zeros(theta.cost.shape), np.arange(len(theta.codes))
    for model in range(len(problem.models)):
        expected[pairs, theta.codes[:, model]] = problem.rewards.expected(model)
    return _finite(theta.base), _finite(theta.cost), expected


def _finite(costs: Floats) -> Floats:
    """Replace infinite costs, written as `IMPOSSIBLE`, by a stand-in, [pair, level, …]."""
    possible = np.where(costs >= IMPOSSIBLE, 0.0, costs)
    stand_in = np.maximum(possible.max(axis=1, keepdims=True) + 2, _COST_OF_IMPOSSIBLE)
    return np.where(costs >= IMPOSSIBLE, stand_in, costs)


@jitted
def horizon(prepared: FrugalData, t: int) -> float:
    """Return h(t), for how many plays information will be of use; t counts decisions from 1."""
    h = prepared.kappa * float(t) ** (1 + prepared.delta)
    if prepared.horizon > 0:
        h = max(prepared.horizon - t + 1, 1.0)
    elif prepared.lifetime > 0:
        h = prepared.lifetime
    if prepared.change_rate > 0:
        h = min(h, prepared.change_rate ** (-(1 + prepared.delta) / 2))
    return float(min(max(h, 1e-100), 1e100))


@jitted
def negligible(h: float) -> float:
    """Return 40 + 2 ln h: a model that is less likely than θ̂ by so many nats is neglected.

    It has at most e^{−40}/h² of θ̂'s posterior. V is compared with c/h, and c itself may be of the
    order of 1/h.
    """
    return 40 + 2 * max(math.log(h), 0.0)


@jitted
def fill_posterior(prepared: FrugalData, work: FrugalWork, h: float) -> int:
    """Fill ``work.now.posterior``; return θ̂, the first of the likeliest models that fit.

    ``deficit`` and ``prior`` are −ln of likelihood and prior, less a constant. Some model is not
    ruled out: else the policy would have given up, and with transitions none ever is.
    """
    prior, deficit, posterior = prepared.theta.prior, work.fit.deficit, work.now.posterior
    # Where truths change, `changing.follow` has counted the prior already.
    weight = 0.0 if prepared.change_rate > 0 else 1.0
    least = math.inf
    for model in range(deficit.size):
        if not work.ruled_out[model]:
            least = min(least, deficit[model] + weight * prior[model])
    total, hat = 0.0, -1
    for model in range(deficit.size):
        above = deficit[model] + weight * prior[model] - least
        # Of the models that do not fit, only those that are likelier than θ̂ are left out: others do
        # no harm, and may be right after all.
        counts = above <= negligible(h) and (above > 0 or not work.ruled_out[model])
        posterior[model] = math.exp(-above) if counts else 0.0
        total += posterior[model]
        if hat < 0 and above <= EQUAL and not work.ruled_out[model]:
            hat = model
    for model in range(deficit.size):
        posterior[model] /= total
    return hat


@jitted
def gap(theta: Theta, pair: int, model: int) -> float:
    """Return what an arm loses per play under a model, in its context."""
    if theta.is_best[pair, model]:
        return 0.0
    mean = theta.levels[pair, theta.codes[pair, model]]
    return float(theta.top[pair // theta.arms, model] - mean)


@jitted
def expected_loss(theta: Theta, belief: Belief) -> None:
    """Fill in c of every pair of a context and an arm; infinity if it is not eligible."""
    for pair in range(belief.loss.size):
        belief.loss[pair] = 0.0 if theta.eligible[pair] else math.inf
    for model in range(belief.posterior.size):
        if belief.posterior[model] > 0:  # after some plays, few models have any
            for pair in range(belief.loss.size):
                belief.loss[pair] += belief.posterior[model] * gap(theta, pair, model)


@jitted
def lead(prepared: FrugalData, work: FrugalWork, hat: int) -> None:
    """Fill ``work.leaders``: of the best arms under θ̂ in a context, the first of least loss.

    Only eligible arms are marked as best, and in every context there is one.
    """
    arms, is_best, loss = prepared.theta.arms, prepared.theta.is_best, work.now.loss
    for context in range(prepared.shares.size):
        leader = -1
        for pair in range(context * arms, (context + 1) * arms):
            if is_best[pair, hat] and (leader < 0 or loss[pair] < loss[leader] * (1 - EQUAL)):
                leader = pair
        work.leaders[context] = leader - context * arms


@jitted
def information_value(
    prepared: FrugalData, work: FrugalWork, belief: Belief, hat: int, pending: Counts | None
) -> None:
    """Fill in V of every pair, the sum of stake·w·D̄/(1 + D̄) over models.

    The belief may be a lower or upper limit of the posterior, which does not sum to 1. With nothing
    pending V grows with every entry of it.
    """
    theta, (posterior, _, value), stake, told = prepared.theta, belief, work.stake, work.told
    for model in range(stake.size):
        stake[model] = 0.0
        if posterior[model] > 0:
            for context in range(prepared.shares.size):
                pair = context * theta.arms + work.leaders[context]
                weight = posterior[model] * prepared.shares[context]
                stake[model] += weight * gap(theta, pair, model)
    count = 0  # of rivals
    if pending is not None:  # if it is None, this is not even compiled
        count = _fill_rivals(posterior, hat, pending, work.rivals)
    total = _fill_means(prepared, posterior, hat, work.mean)
    value.fill(0.0)
    for model in range(stake.size):
        if stake[model] > 0:
            others = total - posterior[model]
            if pending is not None and count > 0:
                others = _fill_told_if_pending(
                    prepared, work, posterior, pending, count, model, others
                )
            else:
                _fill_told(prepared, total, hat, work.mean, model, told)
            for pair in range(value.size):
                if told[pair] > 0:  # others is w, and told w·D̄
                    value[pair] += stake[model] * others * told[pair] / (others + told[pair])


@jitted
def _fill_means(prepared: FrugalData, posterior: Floats, hat: int, mean: Floats) -> float:
    """Fill in ``mean``; return the sum of the posterior, which is not 1 for a limit of it."""
    base, cost, codes, last = prepared.base, prepared.cost, prepared.theta.codes, mean.shape[1] - 1
    mean.fill(0.0)
    total = 0.0
    for model in range(posterior.size):
        if posterior[model] > 0:
            total += posterior[model]
            for pair in range(len(mean)):
                level, of_hat = codes[pair, model], codes[pair, hat]
                to_itself = base[pair, level] - base[pair, of_hat]
                for k in range(last):
                    statistic = prepared.expected[pair, level, k]
                    mean[pair, k] += posterior[model] * statistic
                    to_itself += statistic * (cost[pair, level, k] - cost[pair, of_hat, k])
                mean[pair, last] += posterior[model] * to_itself
    return total


@jitted
def _fill_told(
    prepared: FrugalData, total: float, hat: int, mean: Floats, model: int, told: Floats
) -> None:
    """Fill ``told`` with Σ_φ p(φ)·D(φ‖θ).

    Costs are taken relative to those to θ̂, so that it is exactly 0 for arms on which all agree.
    """
    base, cost, codes, last = prepared.base, prepared.cost, prepared.theta.codes, mean.shape[1] - 1
    for pair in range(told.size):
        level, of_hat = codes[pair, model], codes[pair, hat]
        told[pair] = total * (base[pair, level] - base[pair, of_hat]) - mean[pair, last]
        for k in range(last):
            told[pair] += mean[pair, k] * (cost[pair, level, k] - cost[pair, of_hat, k])


@jitted
def _fill_rivals(posterior: Floats, hat: int, pending: Counts, rivals: Counts) -> int:
    """Fill ``rivals`` with likely models, evenly spread if there are too many; return how many.

    It is 0 if nothing is pending.
    """
    all_pending, likely, chosen = 0, 0, 0
    for pair in range(pending.size):
        all_pending += pending[pair]
    if all_pending == 0:
        return 0
    for model in range(posterior.size):
        likely += posterior[model] >= _LIKELY * posterior[hat]
    number, most = 0, rivals.size
    for model in range(posterior.size):
        if posterior[model] >= _LIKELY * posterior[hat]:
            # Multiples of the golden ratio, modulo 1, are evenly spread and follow no period.
            if chosen < most and (number * 0.6180339887498949) % 1.0 * likely < most:
                rivals[chosen] = model
                chosen += 1
            number += 1
    return chosen


@jitted
def _fill_told_if_pending(
    prepared: FrugalData,
    work: FrugalWork,
    posterior: Floats,
    pending: Counts,
    count: int,
    model: int,
    of_others: float,
) -> float:
    """Fill ``told`` with Σ_φ w(φ)·D(φ‖θ) over the rivals φ; return Σ_φ w(φ).

    Both are scaled so that the ``count`` rivals stand for all models but θ. ``of_others`` is the
    posterior of all these.
    """
    others, of_rivals, told = 0.0, 0.0, work.told
    told.fill(0.0)
    for rival in work.rivals[:count]:
        if rival == model:
            continue
        nats = 0.0  # Σ_j m_j·J_j(θ, φ)
        for pair in range(pending.size):
            if pending[pair] > 0:
                one_way = _divergence(prepared, pair, rival, model)
                nats += pending[pair] * (one_way + _divergence(prepared, pair, model, rival))
        weight = posterior[rival] * math.exp(-nats / 8)
        of_rivals += posterior[rival]
        others += weight
        for pair in range(pending.size):
            told[pair] += weight * _divergence(prepared, pair, rival, model)
    scale = of_others / of_rivals if of_rivals > 0 else 0.0
    for pair in range(pending.size):
        told[pair] *= scale
    return others * scale


@jitted
def _divergence(prepared: FrugalData, pair: int, model: int, other: int) -> float:
    """Return D(model‖other) of a pair, in nats."""
    base, cost, codes = prepared.base, prepared.cost, prepared.theta.codes
    of_model, of_other = codes[pair, model], codes[pair, other]
    nats = base[pair, of_other] - base[pair, of_model]
    for k in range(cost.shape[2]):
        difference = cost[pair, of_other, k] - cost[pair, of_model, k]
        nats += prepared.expected[pair, of_model, k] * difference
    return float(max(nats, 0.0))


@jitted
def choose(prepared: FrugalData, work: FrugalWork, h: float) -> bool:
    """Choose an arm for every context, of largest ΣV/Σc; tell whether that ratio is at least 1/h.

    By Dinkelbach's iteration from the rate 1/h: choose in each context the arm that maximises
    V − rate·c. If the ratio of these is at least the rate, it is the next rate; else no choice
    reaches the rate.
    """
    arms, rate, is_worthy, belief = prepared.theta.arms, 1 / h, False, work.now
    while True:
        lost, gained = 0.0, 0.0
        for context in range(prepared.shares.size):
            best, most = -1, -math.inf
            for pair in range(context * arms, (context + 1) * arms):
                net = belief.value[pair] - rate * belief.loss[pair]
                if net > most:
                    best, most = pair, net
            work.tried[context] = best - context * arms
            lost += prepared.shares[context] * belief.loss[best]
            gained += prepared.shares[context] * belief.value[best]
        if gained <= 0 or gained < rate * lost:
            return is_worthy
        is_worthy = True
        for context in range(prepared.shares.size):
            work.chosen[context] = work.tried[context]
        if lost == 0 or gained <= rate * lost * (1 + EQUAL):
            return True
        rate = gained / lost
