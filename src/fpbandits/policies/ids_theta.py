"""Information-directed sampling on Θ (Russo, Van Roy 2014): least regret for what is learned.

The posterior of a model is its prior times e^{ℓ(θ)}, normalised. Let W be the best arm of a model
drawn from it, the first of equals, and for each arm a

    Δ_a = E[max_i μ_i(θ) − μ_a(θ)], the expected regret of a play, and
    v_a = Var(E[μ_a(θ) | W]), how much the arm's mean varies with which arm is best.

Draw an arm from the distribution π on arms that minimises the ratio (Σ π_a Δ_a)²/Σ π_a v_a. Some
distribution on two arms does. For b and a with Δ_a > Δ_b and v_a > v_b the ratio is convex in the
probability q of a, and least at q = Δ_b/(Δ_a − Δ_b) − 2v_b/(v_a − v_b), if this is between 0 and 1;
otherwise one of the two alone is as good. The arm must be drawn: always playing the one arm of
least ratio gets stuck, since an arm that tells nothing is never that one, however likely it is
best.

This is the form by variances, as the mutual information of W and a reward has no closed form for
most families. For rewards in [0, 1] it is at least 2v_a (Pinsker), and (Σ π_a Δ_a)² is at most
L·Σ π_a v_a for the distribution π of W itself (Cauchy and Schwarz), hence for the minimiser. So
without contexts, and with the right prior, mean regret over that prior is at most √(½·L·H·T), H the
entropy of W at the start. For normal rewards nothing is claimed. v_a depends on means alone, the
posterior on whole distributions. With several contexts the posterior is that of all rewards, and
arms and W are those in the context at hand.

Departing from the source, a model less likely than e^{−80} times the likeliest counts as ruled out.
If all models that are left share their best arm, it is sure to be played until a bracket of
deficits says that another model could come back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CONTEXT, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds
from fpbandits.engine.policy import Contexts, Eligible
from fpbandits.policies.shared.belief import fill_posterior
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.fit import Fit, new_fit
from fpbandits.policies.shared.levels import Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, bracket, weigh

_RULED_OUT = 80.0
"""By how many nats a model must be less likely than the likeliest to be ruled out."""


class IDSThetaData(NamedTuple):
    """Θ by level, with the prior."""

    theta: Theta


class IDSThetaWork(NamedTuple):
    """How well models fit, their posterior, and what a play of each arm loses and tells.

    By arm, ``mass`` is P(W = arm), ``regret`` Δ and ``gain`` v; ``part`` is E[μ_a(θ); W = arm], for
    one arm a at a time, less a constant.
    """

    cycle: Counts
    fit: Fit
    posterior: Floats
    mass: Floats
    regret: Floats
    gain: Floats
    part: Floats


@dataclass(frozen=True)
class IDSTheta(LikelihoodPolicy):
    """Information-directed sampling from the posterior over models, by variances.

    Parameters
    ----------
    likelihood : {"law", "means"}, default "law"
        Take the posterior by the law of rewards, or, where that is not to be trusted, by means
        alone.

    References
    ----------
    D. Russo, B. Van Roy: Learning to Optimize via Information-Directed Sampling, NeurIPS 2014.
    """

    name = "ids-theta"
    prepared_type = IDSThetaData
    guarantee = "E[R(T)] ≤ √(½·L·H·T) over the prior, in [0, 1]"
    randomised = True
    contexts = Contexts.TOGETHER
    eligible = Eligible.MARKED

    def workspace(self, prepared: IDSThetaData, pairs: int) -> IDSThetaWork:
        cycle, posterior = np.zeros(pairs, np.int64), np.zeros(prepared.theta.codes.shape[1])
        return IDSThetaWork(cycle, new_fit(prepared.theta), posterior, *np.zeros((4, pairs)))

    @staticmethod
    def plan(
        prepared: IDSThetaData, state: State, workspace: IDSThetaWork, ahead: Ahead, random: Random
    ) -> Plan:
        theta, context = prepared.theta, state.counters[CONTEXT]
        weigh(theta, state, workspace.fit)
        likeliest, cost = 0, workspace.fit.deficit
        for model in range(cost.size):
            cost[model] += theta.prior[model]
            if cost[model] < cost[likeliest]:
                likeliest = model
        fill_posterior(cost, _RULED_OUT, workspace.posterior)
        leader = theta.best[context, likeliest]
        workspace.cycle[0] = leader
        mass, others = workspace.mass, 0.0
        mass.fill(0.0)
        for model in range(theta.best.shape[1]):
            mass[theta.best[context, model]] += workspace.posterior[model]
        for arm in range(theta.arms):
            if arm != leader:
                others += mass[arm]
        if others == 0:
            return 1, certain_rounds(prepared, state, workspace, ahead)
        for arm in range(theta.arms):
            _fill_regret_and_gain(theta, workspace, context, arm, likeliest)
        _draw(theta.arms, workspace, random)
        return 1, 1

    @staticmethod
    def holds_for(
        prepared: IDSThetaData,
        state: State,
        workspace: IDSThetaWork,
        envelope: Envelope,
        rounds: int,
    ) -> bool:
        theta, fit, leader = prepared.theta, workspace.fit, workspace.cycle[0]
        bracket(theta, envelope, fit, workspace.cycle, 1, rounds - 1)
        with_leader, others = math.inf, math.inf
        for model in range(theta.best.shape[1]):
            if theta.best[0, model] == leader:
                with_leader = min(with_leader, fit.highest[model])
            else:
                others = min(others, fit.lowest[model])
        return others > with_leader + _RULED_OUT + EQUAL


@jitted
def _fill_regret_and_gain(
    theta: Theta, workspace: IDSThetaWork, context: int, arm: int, likeliest: int
) -> None:
    """Fill in Δ and v of an arm.

    The mean under the likeliest model is subtracted from all means: if models of nearly all weight
    agree, nothing is then lost to rounding.
    """
    mass, part = workspace.mass, workspace.part
    best, top, weight = theta.best[context], theta.top[context], workspace.posterior
    pair = context * theta.arms + arm
    codes, levels = theta.codes[pair], theta.levels[pair]
    usual = levels[codes[likeliest]]
    part.fill(0.0)
    regret, mean = 0.0, 0.0
    for model in range(weight.size):
        q = levels[codes[model]]
        regret += weight[model] * max(0.0, top[model] - q)
        mean += weight[model] * (q - usual)
        part[best[model]] += weight[model] * (q - usual)
    gain = 0.0
    for other in range(theta.arms):
        if mass[other] > 0:
            apart = part[other] / mass[other] - mean
            gain += mass[other] * (apart * apart)
    workspace.regret[arm] = regret if theta.eligible[pair] else math.inf
    workspace.gain[arm] = gain


@jitted
def _draw(arms: int, workspace: IDSThetaWork, random: Random) -> None:
    """Draw an arm from the distribution on one or two arms of least ratio, into the cycle.

    Of equal ratios the first counts, and those of one arm come before those of two.
    """
    regret, gain = workspace.regret, workspace.gain
    least, often, seldom, chance = math.inf, workspace.cycle[0], 0, 0.0
    for arm in range(arms):
        ratio = math.inf if regret[arm] > 0 else 0.0  # if it tells nothing
        if gain[arm] > 0:
            ratio = regret[arm] * regret[arm] / gain[arm]
        if ratio < least * (1 - EQUAL):
            least, often = ratio, arm
    for b in range(arms):
        for a in range(arms):
            more, further = regret[a] - regret[b], gain[a] - gain[b]
            if more <= 0 or further <= 0:
                continue
            q = regret[b] / more - 2 * gain[b] / further
            if not 0 < q < 1:
                continue
            loss = regret[b] + q * more
            ratio = loss * loss / (gain[b] + q * further)
            if ratio < least * (1 - EQUAL):
                least, often, seldom, chance = ratio, b, a, q
    workspace.cycle[0] = often
    if chance > 0 and random.random() < chance:
        workspace.cycle[0] = seldom
