"""Optimism over the likelihood set: believe the best model that the rewards allow.

A model θ is *plausible* after t plays while its log-likelihood is within c(t) of the largest,

    max ℓ − ℓ(θ) ≤ c(t) = (1 + δ) ln t + b.

Among the plausible models take those whose best arm pays most; of the arms that are best under one
of them, play the one that carries the most posterior mass of those models (all arms that tie for
best under a model carry its mass). Of equal masses, the first arm counts.

Let θ° be the true model, and B(θ°) the models that look like θ° while its best arm is played, but
have a better arm. e^{ℓ(θ) − ℓ(θ°)} is a martingale of mean 1 under θ°, so the truth is implausible
at time t or later with probability at most |Θ| e^{−c(t)}, whose sum over t is finite for δ > 0;
``docs/optimist.md`` has the proof that regret is then bounded where B(θ°) is empty, if θ° has a
unique best arm, and else logarithmic. With several best arms under θ° it can grow although B(θ°) is
empty, where FP-UCB's does not. The tail of regret can be heavy, of index 1 + δ: for δ ≤ 1 its
variance is then infinite, and means over runs mislead.

**When no model fits**: see `fpbandits.policies.shared.giving_up`.

**When the truth changes** with probability r = ``change_rate`` before each play, to a model drawn
from the prior, −ℓ is replaced by −ln of beliefs that leak to the prior at that rate, and the
threshold stops growing at t = 1/√r. A model that was ruled out gains belief by the leak alone, and
comes back after some 1/√r plays: if it is tried that often, trying it costs about as much as not
noticing that it has become true. If the truth moves by the problem's transitions, beliefs move by
these, and r is the rate at which the chain forgets.

**With contexts** the likelihood is that of all rewards, in whatever context, and a model promises
what its best arm pays in the context at hand.

The cycle is one arm. It is sure to be repeated if no model that could become plausible has a larger
top, each that has the same top has this arm among its best, and one such is sure to stay plausible;
if each earlier arm, which would win a tie, is not best under one of those that are sure to stay;
and if, with an alarm, the model that fits best is sure to keep fitting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import TOLERANCE, Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CLOCK, CONTEXT, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds
from fpbandits.engine.policy import Contexts, Eligible
from fpbandits.policies.imed import imed_holds
from fpbandits.policies.shared.changing import follow
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.fit import Fit, minimum, new_fit
from fpbandits.policies.shared.giving_up import (
    GIVEN_UP,
    gives_up,
    keeps_fitting,
    plan_without_models,
)
from fpbandits.policies.shared.levels import Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, bracket, weigh


class OptimistData(NamedTuple):
    """Θ by level, δ and b of the threshold, when to give up Θ, and how the truth changes.

    Attributes
    ----------
    alarm
        −ln of ``false_alarm``, or 0 for none.
    change_rate
        r: the option, or the rate at which ``chain`` forgets. 0: the truth never changes.
    chain
        The problem's transitions, [from, to], if beliefs follow them.
    """

    theta: Theta
    delta: float
    offset: float
    alarm: float
    change_rate: float
    chain: Floats | None


class OptimistWork(NamedTuple):
    """How well models fit; and what the plausible models of the largest top mean say of arms.

    Attributes
    ----------
    mass
        By arm, the posterior mass of those models under which it is best; −1, which
        counts as 0, if there are none.
    told_apart
        By arm, 1 if under some model that is sure to stay plausible it is not best, else 0;
        `holds_for` fills it for the arms before the one that is played.
    top
        That largest top mean, as an array of one.
    """

    cycle: Counts
    fit: Fit
    mass: Floats
    told_apart: Counts
    top: Floats


@dataclass(frozen=True)
class Optimist(LikelihoodPolicy):
    """Optimism over the likelihood set.

    Parameters
    ----------
    likelihood : {"law", "means"}, default "law"
        Weigh models by the law of rewards, or, where that is not to be trusted, by means alone.
    delta : float, default 0.1
        δ of the threshold (1 + δ) ln t + b on a model's log-likelihood deficit, 0 or more. A larger
        one keeps models for longer: more exploration, and a lighter tail of regret. The guarantee
        needs more than 0.
    offset : float, default 0.7
        b of that threshold, 0 or more: the same from the first play on.
    false_alarm : float, default 0.0
        With which probability, at most, right models may ever be given up, below 1; see `Frugal`.
        0: models are never given up, and misfits are only counted.
    change_rate : float, default 0.0
        Probability that the truth is drawn anew from the prior before a play, from 0 to 1, in place
        of the problem's transitions. 0: it moves by these, and without any it never changes.

    References
    ----------
    This package's own; docs/optimist.md has its proof.
    """

    delta: float = 0.1
    offset: float = 0.7
    false_alarm: float = 0.0
    change_rate: float = 0.0

    name = "optimist"
    revision = 3
    contexts = Contexts.TOGETHER
    eligible = Eligible.MARKED
    prepared_type = OptimistData
    guarantee = "bounded regret where B(θ°) is empty and θ° has one best arm, else O(log T)"

    def workspace(self, prepared: OptimistData, pairs: int) -> OptimistWork:
        cycle, told_apart = np.zeros((2, pairs), np.int64)
        fit = new_fit(prepared.theta)
        return OptimistWork(cycle, fit, np.zeros(pairs), told_apart, np.zeros(1))

    @staticmethod
    def plan(
        prepared: OptimistData, state: State, workspace: OptimistWork, ahead: Ahead, random: Random
    ) -> Plan:
        if state.counters[GIVEN_UP] == 1:  # no model fits: blind to Θ from here on
            may_follow = plan_without_models(prepared.theta, state, workspace.cycle)
        else:
            may_follow = _decide(prepared, state, workspace)
        rounds = certain_rounds(prepared, state, workspace, ahead) if may_follow else 1
        return 1, rounds

    @staticmethod
    def holds_for(
        prepared: OptimistData,
        state: State,
        workspace: OptimistWork,
        envelope: Envelope,
        rounds: int,
    ) -> bool:
        theta, fit, played, more = prepared.theta, workspace.fit, workspace.cycle[0], rounds - 1
        if state.counters[GIVEN_UP] == 1:
            return imed_holds(state, envelope, played, theta.normal, rounds)
        alarm = prepared.alarm
        best = fit.reference[0]
        if alarm > 0 and not keeps_fitting(theta, alarm, state, best, envelope, played, more):
            return False
        top, t = workspace.top[0], state.counters[CLOCK]
        bracket(theta, envelope, fit, workspace.cycle, 1, more)
        low, high = fit.lowest, fit.highest
        now, end = _threshold(prepared, t), _threshold(prepared, t + more)
        # Limits are of deficits to today's best-fitting model; a better one may come, by ``least``.
        models, least = low.size, minimum(low)
        # An arm before ``played`` wins ties, so under some model that stays it must not be best.
        sure, told_apart = False, workspace.told_apart
        told_apart.fill(0)
        for model in range(models):
            if low[model] > end + EQUAL:
                continue
            # Row 0 is the only context: with several, no plan is repeated.
            if theta.top[0, model] > top + TOLERANCE:
                return False
            if theta.top[0, model] < top - TOLERANCE:
                continue
            if not theta.is_best[played, model]:
                return False
            if high[model] - least <= now:
                sure = True
                # That model's share of the mass must be larger than a difference that counts as a
                # tie, which e⁻²⁰ is.
                nats = high[model] - least + theta.prior[model]
                if nats + math.log(models) < 20:
                    for arm in range(played):
                        if not theta.is_best[arm, model]:
                            told_apart[arm] = 1
        for arm in range(played):
            sure = sure and told_apart[arm] == 1
        return sure


@jitted
def _decide(prepared: OptimistData, state: State, workspace: OptimistWork) -> bool:
    """Put the arm to play into the cycle; tell whether a plan may be for more than one round."""
    theta, deficit, mass = prepared.theta, workspace.fit.deficit, workspace.mass
    weigh(theta, state, workspace.fit)
    # By transitions no model fits all rewards, and an alarm is refused. A ``change_rate`` that the
    # user gave may come with an alarm, which then looks at all rewards.
    moves = prepared.chain is not None
    if not moves and gives_up(theta, prepared.alarm, state, workspace.fit, workspace.cycle):
        return False
    if prepared.change_rate > 0:
        follow(theta, theta.prior, state, deficit, prepared.change_rate, prepared.chain)
    arms, models = theta.arms, theta.codes.shape[1]
    tops = theta.top[state.counters[CONTEXT]]
    first = state.counters[CONTEXT] * arms  # of the pairs in this context
    threshold = _threshold(prepared, state.counters[CLOCK])
    top = -math.inf
    for model in range(models):
        if deficit[model] <= threshold + EQUAL:
            top = max(top, tops[model])
    mass.fill(-1.0)
    for model in range(models):
        if deficit[model] <= threshold + EQUAL and tops[model] >= top - TOLERANCE:
            weight = math.exp(-deficit[model] - theta.prior[model])
            for arm in range(arms):
                if theta.is_best[first + arm, model]:
                    mass[arm] = max(mass[arm], 0.0) + weight
    # Begin with the first eligible arm; those that are not eligible carry no mass.
    workspace.cycle[0] = 0
    while not theta.eligible[first + workspace.cycle[0]]:
        workspace.cycle[0] += 1
    for arm in range(workspace.cycle[0] + 1, arms):
        if mass[arm] > max(mass[workspace.cycle[0]], 0.0) * (1 + EQUAL):
            workspace.cycle[0] = arm
    workspace.top[0] = top
    return prepared.change_rate == 0


@jitted
def _threshold(prepared: OptimistData, t: int) -> float:
    """Return c(t); under a change rate r it stops growing at t = 1/√r."""
    plays = max(float(t), 1.0)
    if prepared.change_rate > 0:
        plays = min(plays, prepared.change_rate**-0.5)
    return (1 + prepared.delta) * math.log(plays) + prepared.offset
