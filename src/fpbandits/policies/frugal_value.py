r"""What arms lose and what they tell: the parts of the rule in `fpbandits.policies.frugal`.

D_i(φ‖θ) is what rewards of φ cost θ less what they cost φ, and a reward of statistics s costs
base + Σ_k s_k·cost_k. So with nothing pending Σ_φ p(φ)·D_i(φ‖θ) is made of means over the
posterior: of each statistic, and of what rewards cost the model that they come from.
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

_LIKELY, _MOST_LIKELY = 0.2, 32
"""While rewards are pending, a model is weighed against those that are at least so likely beside
the likeliest one, and so many of them at most: all of them change regret by less than 1 %."""

_RULED_OUT = 20.0
"""Nats that a reward counts for which a model rules out: an infinite divergence would hide how
seldom such a reward may come. At least 2 more than any other cost, so that no D is negative."""


class FrugalData(NamedTuple):
    """Θ by level, options, shares of contexts; costs of rewards, and E[s_k], [pair, level, k]."""

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
    """A posterior by model; by pair of context and arm, expected loss c and information value V."""

    posterior: Floats
    loss: Floats
    value: Floats


class FrugalWork(NamedTuple):
    """The belief of now and its limits; by model, stakes and who is ruled out; by context, arms.

    ``decided`` holds θ̂ and t of the last decision, for the stability check.
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
    """Make a workspace."""
    models, cycle = prepared.theta.codes.shape[1], np.zeros(pairs, np.int64)
    decided = np.zeros(2, np.int64)
    now, least, most = (Belief(np.zeros(models), *np.zeros((2, pairs))) for _ in range(3))
    stake, ruled_out, told = np.zeros(models), np.zeros(models, bool), np.zeros(pairs)
    mean, rivals = np.zeros((pairs, prepared.cost.shape[2] + 1)), np.zeros(_MOST_LIKELY, np.int64)
    arms, fit = np.zeros((3, prepared.shares.size), np.int64), new_fit(prepared.theta)
    return FrugalWork(
        cycle, fit, decided, now, least, most, stake, ruled_out, told, mean, rivals, *arms
    )


def reward_costs(theta: Theta, problem: Problem) -> tuple[Floats, Floats, Floats]:
    """Return base, cost and what statistics are expected, by the likelihood that policies weigh."""
    if not theta.by_law:
        win, loss = _possible(theta.win), _possible(theta.loss)
        return loss, (win - loss)[:, :, np.newaxis], theta.levels[:, :, np.newaxis]
    expected, pairs = np.zeros(theta.cost.shape), np.arange(len(theta.codes))
    for model in range(len(problem.models)):
        expected[pairs, theta.codes[:, model]] = problem.rewards.expected(model)
    return _possible(theta.base), _possible(theta.cost), expected


def _possible(costs: Floats) -> Floats:
    """Replace infinite costs by a finite stand-in, [pair, level, …]."""
    possible = np.where(costs >= IMPOSSIBLE, 0.0, costs)
    stand_in = np.maximum(possible.max(axis=1, keepdims=True) + 2, _RULED_OUT)
    return np.where(costs >= IMPOSSIBLE, stand_in, costs)


@jitted
def horizon(prepared: FrugalData, t: int) -> float:
    """Return h(t), for how many plays information will be of use, at decision t from 1 on."""
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
    """Return beyond which log-odds a model counts for nothing: those of e^{−40}/h²."""
    return 40 + 2 * max(math.log(h), 0.0)


@jitted
def fill_posterior(prepared: FrugalData, work: FrugalWork, h: float) -> int:
    """Fill the posterior of now; return the first model that has most of it."""
    prior, deficit, posterior = prepared.theta.prior, work.fit.deficit, work.now.posterior
    weight = 0.0 if prepared.change_rate > 0 else 1.0  # beliefs that leak hold the prior already
    least = math.inf
    for model in range(deficit.size):
        if not work.ruled_out[model]:
            least = min(least, deficit[model] + weight * prior[model])
    total, hat = 0.0, -1
    for model in range(deficit.size):
        above = deficit[model] + weight * prior[model] - least
        counts = above <= negligible(h) and not work.ruled_out[model]
        posterior[model] = math.exp(-above) if counts else 0.0
        total += posterior[model]
        if hat < 0 and counts and above <= EQUAL:
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
        if belief.posterior[model] > 0:  # soon few are left
            for pair in range(belief.loss.size):
                belief.loss[pair] += belief.posterior[model] * gap(theta, pair, model)


@jitted
def lead(prepared: FrugalData, work: FrugalWork, hat: int) -> None:
    """Note the leader of every context: of the best arms under θ̂, the first that loses least."""
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
    """Fill in V of every pair: it grows with every entry of the posterior."""
    theta, (posterior, _, value), stake, told = prepared.theta, belief, work.stake, work.told
    for model in range(stake.size):
        stake[model] = 0.0
        if posterior[model] > 0:
            for context in range(prepared.shares.size):
                pair = context * theta.arms + work.leaders[context]
                weight = posterior[model] * prepared.shares[context]
                stake[model] += weight * gap(theta, pair, model)
    rivals = 0
    if pending is not None:  # else the rest of it is not even compiled
        rivals = _rivals(posterior, hat, pending, work.rivals)
    total = _means(prepared, posterior, hat, work.mean)
    value.fill(0.0)
    for model in range(stake.size):
        if stake[model] > 0:
            others = total - posterior[model]
            _tell(prepared, total, hat, work.mean, model, told)
            if pending is not None and rivals > 0:
                others = _tell_beside_pending(prepared, work, posterior, pending, rivals, model)
            for pair in range(value.size):
                if told[pair] > 0:
                    value[pair] += stake[model] * others * told[pair] / (others + told[pair])


@jitted
def _means(prepared: FrugalData, posterior: Floats, hat: int, mean: Floats) -> float:
    """Fill in the posterior means, costs less those of θ̂; return how much posterior there is."""
    base, cost, codes, last = prepared.base, prepared.cost, prepared.theta.codes, mean.shape[1] - 1
    mean.fill(0.0)
    total = 0.0
    for model in range(posterior.size):
        if posterior[model] > 0:
            total += posterior[model]
            for pair in range(len(mean)):
                level, own = codes[pair, model], codes[pair, hat]
                itself = base[pair, level] - base[pair, own]
                for k in range(last):
                    statistic = prepared.expected[pair, level, k]
                    mean[pair, k] += posterior[model] * statistic
                    itself += statistic * (cost[pair, level, k] - cost[pair, own, k])
                mean[pair, last] += posterior[model] * itself
    return total


@jitted
def _tell(
    prepared: FrugalData, total: float, hat: int, mean: Floats, model: int, told: Floats
) -> None:
    """Fill ``told`` with Σ_φ p(φ)·D(φ‖θ), exactly 0 for arms on which all models agree."""
    base, cost, codes, last = prepared.base, prepared.cost, prepared.theta.codes, mean.shape[1] - 1
    for pair in range(told.size):
        level, own = codes[pair, model], codes[pair, hat]
        told[pair] = total * (base[pair, level] - base[pair, own]) - mean[pair, last]
        for k in range(last):
            told[pair] += mean[pair, k] * (cost[pair, level, k] - cost[pair, own, k])


@jitted
def _rivals(posterior: Floats, hat: int, pending: Counts, rivals: Counts) -> int:
    """Note likely models, evenly drawn if there are too many; return how many, 0: none pending."""
    outstanding, likely, found = 0, 0, 0
    for pair in range(pending.size):
        outstanding += pending[pair]
    if outstanding == 0:
        return 0
    for model in range(posterior.size):
        likely += posterior[model] >= _LIKELY * posterior[hat]
    number, most = 0, rivals.size
    for model in range(posterior.size):
        if posterior[model] >= _LIKELY * posterior[hat]:
            # Multiples of the golden ratio, modulo 1, are spread evenly whatever is periodic.
            if found < most and (number * 0.6180339887498949) % 1.0 * likely < most:
                rivals[found] = model
                found += 1
            number += 1
    return found


@jitted
def _tell_beside_pending(
    prepared: FrugalData,
    work: FrugalWork,
    posterior: Floats,
    pending: Counts,
    rivals: int,
    model: int,
) -> float:
    """Fill ``told`` with Σ_φ w(φ)·D(φ‖θ); return Σ_φ w(φ)."""
    others, told = 0.0, work.told
    told.fill(0.0)
    for rival in work.rivals[:rivals]:
        soon = 0.0
        for pair in range(pending.size):
            if pending[pair] > 0:
                both = _divergence(prepared, pair, rival, model)
                soon += pending[pair] * (both + _divergence(prepared, pair, model, rival))
        weight = posterior[rival] * math.exp(-soon / 8) if rival != model else 0.0
        others += weight
        for pair in range(pending.size):
            told[pair] += weight * _divergence(prepared, pair, rival, model)
    return others


@jitted
def _divergence(prepared: FrugalData, pair: int, model: int, other: int) -> float:
    """Return D(model‖other) of a pair."""
    base, cost, codes = prepared.base, prepared.cost, prepared.theta.codes
    own, level = codes[pair, model], codes[pair, other]
    told = base[pair, level] - base[pair, own]
    for k in range(cost.shape[2]):
        told += prepared.expected[pair, own, k] * (cost[pair, level, k] - cost[pair, own, k])
    return float(max(told, 0.0))


@jitted
def choose(prepared: FrugalData, work: FrugalWork, h: float) -> bool:
    """Choose an arm for every context, of largest ΣV/Σc; tell whether it is at least 1/h.

    Dinkelbach's iteration: for a rate, the arms that maximise V − rate·c in each context have a
    ratio of at least that rate, unless none has; it is the next rate.
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
