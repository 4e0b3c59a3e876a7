r"""Frugality: do not pay for what comes for free, and buy the rest where it is cheapest.

Let p(θ) be the posterior, θ̂ the model that has most of it, and the *leader* its best arm. An arm
*costs* what playing it is expected to lose, c_i = Σ_θ p(θ) Δ_i(θ). A *rival* is a model under which
the leader is not best; at *stake* with it is p(θ)·g(θ), g(θ) what the leader then loses per play.
A play of arm i *tells* a rival from what else is likely, at the rate of D_i(φ‖θ) nats: so it is
*worth*

    V_i = Σ_θ p(θ)·g(θ) Σ_φ p(φ)·D_i(φ‖θ),

nats weighed by what is at stake. (Where the largest D_i is more than 3, all are scaled down to it:
to be told more at once is of no more use to the next decision.) Play the arm of largest V_i/c_i,
the most for its cost, if that is at least 1/h(t), with h(t) = κ t^{1+δ} for how long it will be of
use; else the leader.

To play the leader costs next to nothing, so whatever it tells by itself is not paid for: waiting is
cheaper than trying. What only other arms tell is bought where it is cheapest, on whichever arm.

With two models and rewards that tell little each, the largest ratio of nats to cost minimises all
regret to come: R(p) solves min_i c_i(p) + D_i·p²(1 − p)²·R″(p) = 0.

**What is proven** (``docs/policies.md``): whenever an arm is played that is worse under θ°, either
p(θ°) < C/h(t), which has a summable probability, or some model that this very arm tells from θ° has
at least c/h(t)² times the posterior of θ°. So regret is O(log T), and bounded where no model agrees
with θ° on all its best arms and promises more.

**Several best arms.** Of several arms that are best under θ̂ the leader is the first whose cost is
within h(t)^{−2} of the least. A model that holds several arms to be equally good may get for free
what others would pay for. So after n plays that were paid for, which cost under θ̂ and which nobody
asked for, before the next, ask the models, θ̂ too. One under which all comes for free, that trusts
the leader and has more than e^{−√n} of the posterior of θ̂, asks for its other best arms, those that
tell it from the rival with most at stake. One that does not trust the leader and has more than
y_n = (1 + n/4)^{−2} asks for its best arms and the leader, those that tell it from θ̂. Of what is
asked for, play what is worth most for its cost, if it is worth at least y_n times as much for its
cost as what would be paid for. From play ``settle`` = 10⁶ on n counts from 25, and models that
trust the leader are asked whenever nothing is worth its cost. What they ask for is played if it
will be worth its cost by play 10¹⁸, which nobody makes, and for its cost is worth a tenth, times
the odds of who asks, of what is worth most. So what may be needed one day is settled early.

**With contexts** what is chosen is an arm for every context: cost and worth are averages over
contexts, by their shares, and the largest ratio is found by Dinkelbach's iteration. Models are
asked if that costs under θ̂ in any context, whichever came; what they ask for in a context is
weighed together with the leaders, who wait for it, in all others.

**When models may be wrong**, with ``false_alarm``: see `fpbandits.policies.shared.giving_up` if no
model fits, and `fpbandits.policies.shared.doubt` for what models claim of arms that are not played.
**When the truth changes** with probability ``change_rate`` before each play, the posterior leaks to
the prior at that rate, h stops growing at (1/√change_rate)^{1+δ}, and nothing is ever settled.

Models whose odds are below e^{−40}/h(t)² count for nothing while that is so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Bools, Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CLOCK, CONTEXT, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds
from fpbandits.engine.policy import Contexts
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.imed import imed_holds
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.doubt import doubted, trusted_until
from fpbandits.policies.shared.fit import Fit, new_fit
from fpbandits.policies.shared.giving_up import GIVEN_UP, blind_plan, gives_up, keeps_fitting
from fpbandits.policies.shared.leaking import leak
from fpbandits.policies.shared.levels import Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, alarm_of, bracket, weigh
from fpbandits.problem.problem import Problem

_PATIENCE = 4.0
"""How many plays are paid for before models that are less likely are asked."""

_HEAD_START = 25.0
"""As many plays count as paid for, beyond those that were, when all is to be settled."""

_FOR_EVER = 10**18
"""More plays than anyone makes."""

_NOT_TOO_SLOW = 0.1
"""What is asked for, to settle it, is worth at least so much for its cost, if who asks is right, of
what could be paid for instead: else to settle would cost more than all that is to be settled."""

_RULED_OUT = 10.0
"""What a reward that a model rules out counts for, in nats, where it is asked what an arm tells: an
infinite divergence would hide how seldom such a reward may come. But at least 2 more than what it
costs a model that does not: so that a divergence is never less than the chance of such a reward."""

_ENOUGH = 3.0
"""Nats: to be told more at once is of no more use to the next decision."""

_ROUNDING = 1 + 1e-11
_SETTLED = 1 + 1e-13

# Rows of the workspace: by model, the posterior, and what the leaders lose;
_POSTERIOR, _GAP = range(2)
# by arm, what it costs and is worth; what it costs at least, and what it may be worth; and sums;
_COST, _WORTH, _LEAST_COST, _MOST_WORTH, _ITSELF, _EXPECTED, _COSTS = range(7)
# by context, who leads, and an arm for each, found and tried.
_LEADER, _FOUND, _TRIED = range(3)


class FrugalData(NamedTuple):
    """Θ by level, options, shares of contexts, and what divergences are made of.

    Attributes
    ----------
    free
        Under which models everything comes for free: no other model agrees with them on all their
        best arms and promises more.
    base, cost, expected
        [arm, level], [arm, level, k], [arm, level, k]: a play costs base + Σ_k s_k·cost_k of
        log-likelihood, scaled so that no more than enough is told, and s_k is expected to be that.
    """

    theta: Theta
    delta: float
    kappa: float
    alarm: float
    trusted_until: float
    change_rate: float
    settle: float
    shares: Floats
    free: Bools
    base: Floats
    cost: Floats
    expected: Floats


class Rows(NamedTuple):
    """Rows of numbers by model, by arm and by context."""

    by_model: Floats
    by_arm: Floats
    by_context: Counts


class FrugalWork(NamedTuple):
    """How models fit, what follows from that, and a single number, θ̂."""

    cycle: Counts
    fit: Fit
    rows: Rows
    hat: Counts


@dataclass(frozen=True)
class Frugal(LikelihoodPolicy):
    """Buy information where it is cheapest, and none that comes for free.

    Parameters
    ----------
    delta : float, default 0.1
        δ of the time h(t) = κ t^{1+δ} for which information will be of use, 0 or more. A larger one
        explores more, and makes the tail of regret lighter. The guarantee needs more than 0.
    kappa : float, default 5.0
        κ of that time, more than 0: the same from the first play on.
    false_alarm : float, default 0.0
        With which probability, at most, right models may ever be given up, below 1. 0: models are
        never given up, and misfits are only counted.
    trust : float, default 250.0
        With false_alarm, how many plays pass until a model's claims of arms that are not played are
        doubted, times (K − 1)⁴ for K arms; 0 or more.
    likelihood : {"law", "means"}, default "law"
        Weigh models by the law of rewards, or, where that is not to be trusted, by means alone.
    change_rate : float, default 0.0
        Probability that the truth is drawn anew from the prior before a play, from 0 to 1. 0: it
        never changes.
    settle : float, default 1e6
        From which play on everything that may ever be worth its cost is settled early, 0 or more.

    References
    ----------
    This package's own; docs/policies.md has its proof.
    """

    delta: float = 0.1
    kappa: float = 5.0
    false_alarm: float = 0.0
    trust: float = 250.0
    change_rate: float = 0.0
    settle: float = 1e6

    name = "frugal"
    contexts = Contexts.TOGETHER
    guarantee = "O(log T), bounded where B(θ°) is empty"

    def prepare(self, problem: Problem) -> FrugalData:
        """Sort Θ into levels, and find what divergences between levels are made of."""
        theta = self.theta(problem)
        if theta.by_law:
            base, cost = _possible(theta.base), _possible(theta.cost)
            expected = np.zeros(cost.shape)
            for model in range(len(problem.models)):
                own = problem.rewards.expected(model)
                for arm, level in enumerate(theta.codes[:, model]):
                    expected[arm, level] = own[arm]
        else:
            win, base = _possible(theta.win), _possible(theta.loss)
            cost, expected = (win - base)[:, :, np.newaxis], theta.levels[:, :, np.newaxis]
        most = _most_told(theta, base, cost, expected)
        base, cost = base / most[:, np.newaxis], cost / most[:, np.newaxis, np.newaxis]
        return FrugalData(
            theta,
            self.delta,
            self.kappa,
            alarm_of(self.false_alarm),
            trusted_until(self.trust, problem.pairs),
            self.change_rate,
            self.settle if self.change_rate == 0 else math.inf,
            np.array(problem.shares or (1.0,)),
            _free(theta),
            np.ascontiguousarray(base),
            np.ascontiguousarray(cost),
            np.ascontiguousarray(expected),
        )

    def workspace(self, prepared: FrugalData, pairs: int) -> FrugalWork:
        models, contexts = prepared.theta.codes.shape[1], prepared.shares.size
        by_context = np.zeros((3, contexts), np.int64)
        rows, hat = Rows(np.zeros((2, models)), np.zeros((7, pairs)), by_context), np.zeros(1, int)
        return FrugalWork(np.zeros(pairs, np.int64), new_fit(prepared.theta), rows, hat)

    def extra_numbers(self, problem: Problem) -> int:
        """Remember how many plays were paid for, behind whatever else."""
        return super().extra_numbers(problem) + 1

    def margins(self, problem: Problem, state: State) -> Floats:
        """Return by how much ln of a model's odds is above that of 1/h(t)."""
        t, deficit = max(state.counters[CLOCK], 1), self.deficits(problem, state)
        horizon = math.log(max(self.kappa, 1e-100)) + (1 + self.delta) * math.log(t)
        if self.change_rate > 0:
            horizon = min(horizon, -(1 + self.delta) / 2 * math.log(self.change_rate))
            deficit = state.extra[: len(deficit)]
        elif problem.prior is not None:
            with np.errstate(divide="ignore"):
                deficit = deficit - np.log(problem.prior)
        margins: Floats = horizon - (deficit - deficit.min())
        return margins

    @staticmethod
    def plan(
        prepared: FrugalData, state: State, workspace: FrugalWork, ahead: Ahead, random: Random
    ) -> Plan:
        if state.counters[GIVEN_UP] == 1:  # no model fits: blind to Θ from here on
            may_follow = blind_plan(prepared.theta, state, workspace.cycle)
        else:
            may_follow = _decide(prepared, state, workspace)
        return 1, certain_rounds(prepared, state, workspace, ahead) if may_follow else 1

    @staticmethod
    def holds_for(
        prepared: FrugalData, state: State, workspace: FrugalWork, envelope: Envelope, rounds: int
    ) -> bool:
        theta, fit, alarm = prepared.theta, workspace.fit, prepared.alarm
        leader, more = workspace.cycle[0], rounds - 1
        if state.counters[GIVEN_UP] == 1:
            return imed_holds(state, envelope, leader, theta.normal, rounds)
        if alarm > 0 and not keeps_fitting(theta, alarm, state, fit, envelope, leader, more):
            return False
        bracket(theta, envelope, fit, workspace.cycle, 1, more)
        t = state.counters[CLOCK]
        last = t + more
        if t <= prepared.settle < last:
            return False
        now, end = _horizon(prepared, t), _horizon(prepared, last)
        if _is_settled(prepared, fit, now, end):
            return _leads_until(prepared, state, workspace, leader, end, last)
        return _keeps_leading(prepared, state, workspace, leader, now, end, last)


def _free(theta: Theta) -> Bools:
    """Tell for which models no other agrees on all their best arms and promises more."""
    free = np.ones(theta.codes.shape[1], bool)
    for model in range(len(free)):
        arms = np.flatnonzero(theta.is_best[:, model])
        # A model that agrees on these and does not hold them best has something better somewhere.
        others = np.flatnonzero(theta.codes[arms[0]] == theta.codes[arms[0], model])
        for arm in arms[1:]:
            others = others[theta.codes[arm, others] == theta.codes[arm, model]]
        free[model] = theta.is_best[np.ix_(arms, others)].all()
    return free


def _possible(costs: Floats) -> Floats:
    """Put in for what is `IMPOSSIBLE` what it counts for, [arm, level, …]."""
    possible = np.where(costs >= IMPOSSIBLE, 0.0, costs)
    counts = np.maximum(possible.max(axis=1, keepdims=True) + 2, _RULED_OUT)
    return np.where(costs >= IMPOSSIBLE, counts, costs)


def _most_told(theta: Theta, base: Floats, cost: Floats, expected: Floats) -> Floats:
    """Return by how much the largest D(φ‖θ) of every pair is more than enough; at least 1."""
    most = np.ones(len(base))
    for pair, count in enumerate(theta.counts):
        mean = expected[pair, :count]
        costs = base[pair, :count] + mean @ cost[pair, :count].T  # [φ, θ]
        apart = costs - np.diag(costs)[:, np.newaxis]
        most[pair] = max(apart.max() / _ENOUGH, 1.0)
    return most


@jitted
def _decide(prepared: FrugalData, state: State, workspace: FrugalWork) -> bool:
    """Put the arm to play into the cycle, and tell whether the same may follow."""
    theta, fit, rows = prepared.theta, workspace.fit, workspace.rows
    weigh(theta, state, fit)
    if gives_up(theta, prepared.alarm, state, fit, workspace.cycle):
        return False
    if prepared.change_rate > 0:
        leak(theta.prior, state, fit.deficit, prepared.change_rate)
    horizon = _horizon(prepared, state.counters[CLOCK])
    hat = _posterior(prepared, fit.deficit, rows.by_model[_POSTERIOR], horizon)
    _costs(prepared, rows)
    _leaders(prepared, rows, hat, horizon)
    _gaps(prepared, rows)
    _worths(prepared, rows, rows.by_model[_POSTERIOR], rows.by_arm[_WORTH], hat)
    context = state.counters[CONTEXT]
    if _choose(prepared, rows, horizon):
        arm = _before_paying(prepared, state, rows, hat, context)
    else:
        arm = _settling(prepared, state, rows, hat, context)
    if prepared.alarm > 0 and arm == rows.by_context[_LEADER, context]:
        arm = doubted(
            prepared.theta, prepared.trusted_until, state, hat, context, arm, state.counters[CLOCK]
        )
    workspace.cycle[0] = arm
    if prepared.change_rate > 0 or arm != rows.by_context[_LEADER, context]:
        return False
    workspace.hat[0] = hat
    return True


@jitted
def _horizon(prepared: FrugalData, t: int) -> float:
    """Return h(t)."""
    horizon: float = prepared.kappa * max(float(t), 1.0) ** (1 + prepared.delta)
    if prepared.change_rate > 0:
        horizon = min(horizon, prepared.change_rate ** (-(1 + prepared.delta) / 2))
    return min(max(horizon, 1e-100), 1e100)


@jitted
def _posterior(prepared: FrugalData, deficit: Floats, posterior: Floats, horizon: float) -> int:
    """Fill ``posterior``; return the first model that has most of it."""
    prior = prepared.theta.prior
    weight = 0.0 if prepared.change_rate > 0 else 1.0  # beliefs that leak hold the prior already
    least = math.inf
    for model in range(deficit.size):
        least = min(least, deficit[model] + weight * prior[model])
    total, limit, hat = 0.0, _limit(horizon), -1
    for model in range(deficit.size):
        above = deficit[model] + weight * prior[model] - least
        posterior[model] = math.exp(-above) if above <= limit else 0.0
        total += posterior[model]
        if hat < 0 and above <= EQUAL:
            hat = model
    for model in range(deficit.size):
        posterior[model] /= total
    return hat


@jitted
def _limit(horizon: float) -> float:
    """Return beyond which log-odds a model counts for nothing."""
    return 40 + 2 * max(math.log(horizon), 0.0)


@jitted
def _costs(prepared: FrugalData, rows: Rows) -> None:
    """Fill by_arm[_COST] with what every pair of a context and an arm is expected to lose."""
    posterior, cost, theta = rows.by_model[_POSTERIOR], rows.by_arm[_COST], prepared.theta
    arms = theta.arms
    for pair in range(cost.size):
        cost[pair] = 0.0
    for model in range(posterior.size):
        if posterior[model] > 0:  # soon few are left
            for pair in range(cost.size):
                if not theta.is_best[pair, model]:
                    mean = theta.levels[pair, theta.codes[pair, model]]
                    cost[pair] += posterior[model] * (theta.top[pair // arms, model] - mean)


@jitted
def _leaders(prepared: FrugalData, rows: Rows, hat: int, horizon: float) -> None:
    """Note the leader of every context: of the best arms under θ̂, the first that costs least."""
    cost, arms = rows.by_arm[_COST], prepared.theta.arms
    for context in range(prepared.shares.size):
        least = math.inf
        for pair in range(context * arms, (context + 1) * arms):
            if prepared.theta.is_best[pair, hat]:
                least = min(least, cost[pair])
        leader = context * arms
        while not (
            prepared.theta.is_best[leader, hat] and cost[leader] <= least + 1 / (horizon * horizon)
        ):
            leader += 1
        rows.by_context[_LEADER, context] = leader - context * arms


@jitted
def _gaps(prepared: FrugalData, rows: Rows) -> None:
    """Fill by_model[_GAP] with what the leaders lose per play under every model."""
    theta, gap = prepared.theta, rows.by_model[_GAP]
    for model in range(gap.size):
        gap[model] = 0.0
    for context in range(prepared.shares.size):
        pair = context * theta.arms + rows.by_context[_LEADER, context]
        for model in range(gap.size):
            if not theta.is_best[pair, model]:
                mean = theta.levels[pair, theta.codes[pair, model]]
                gap[model] += prepared.shares[context] * (theta.top[context, model] - mean)


@jitted
def _worths(prepared: FrugalData, rows: Rows, posterior: Floats, worth: Floats, hat: int) -> None:
    """Fill ``worth`` with V of every pair.

    D(φ‖θ) is what θ costs rewards of φ less what φ does, base + Σ_k E_φ[s_k]·cost_k: so the double
    sum is made of single ones. Costs are counted from those of θ̂: what all agree on is exactly 0.
    """
    theta, gap = prepared.theta, rows.by_model[_GAP]
    mass, stakes = 0.0, 0.0
    for model in range(gap.size):
        mass += posterior[model]
        stakes += posterior[model] * gap[model]
    for pair in range(worth.size):
        worth[pair] = 0.0
    if stakes == 0:
        return
    itself, expected, costs = (rows.by_arm[_ITSELF], rows.by_arm[_EXPECTED], rows.by_arm[_COSTS])
    for pair in range(worth.size):
        itself[pair] = 0.0
    for model in range(gap.size):
        if posterior[model] > 0:
            stake = posterior[model] * gap[model]
            for pair in range(worth.size):
                own, level = theta.codes[pair, hat], theta.codes[pair, model]
                if level != own:
                    base = prepared.base[pair, level] - prepared.base[pair, own]
                    worth[pair] += stake * base
                    itself[pair] += posterior[model] * base
    for pair in range(worth.size):
        worth[pair] *= mass
    for k in range(prepared.cost.shape[2]):
        for pair in range(worth.size):
            expected[pair] = 0.0
            costs[pair] = 0.0
        for model in range(gap.size):
            if posterior[model] > 0:
                stake = posterior[model] * gap[model]
                for pair in range(worth.size):
                    own, level = theta.codes[pair, hat], theta.codes[pair, model]
                    statistic = posterior[model] * prepared.expected[pair, level, k]
                    expected[pair] += statistic
                    if level != own:
                        cost = prepared.cost[pair, level, k] - prepared.cost[pair, own, k]
                        costs[pair] += stake * cost
                        itself[pair] += statistic * cost
        for pair in range(worth.size):
            worth[pair] += expected[pair] * costs[pair]
    for pair in range(worth.size):
        worth[pair] = max(worth[pair] - stakes * itself[pair], 0.0)


@jitted
def _choose(prepared: FrugalData, rows: Rows, horizon: float) -> bool:
    """Put into by_context[_FOUND] what is worth most for its cost; tell whether anything is."""
    cost, worth, arms = rows.by_arm[_COST], rows.by_arm[_WORTH], prepared.theta.arms
    found, tried = rows.by_context[_FOUND], rows.by_context[_TRIED]
    if prepared.shares.size == 1:
        best = -1
        for arm in range(arms):
            worthy = worth[arm] > 0 and worth[arm] * horizon >= cost[arm]
            if worthy and (
                best < 0 or worth[arm] * cost[best] > worth[best] * cost[arm] * (1 + EQUAL)
            ):
                best = arm
        found[0] = best
        return best >= 0
    rate, worthy = 1 / horizon, False
    while True:
        spent, gained = 0.0, 0.0
        for context in range(prepared.shares.size):
            best, most = -1, -math.inf
            for pair in range(context * arms, (context + 1) * arms):
                net = worth[pair] - rate * cost[pair]
                if net > most:
                    best, most = pair, net
            tried[context] = best - context * arms
            spent += prepared.shares[context] * cost[best]
            gained += prepared.shares[context] * worth[best]
        if gained <= 0 or gained < rate * spent:
            return worthy
        worthy = True
        for context in range(prepared.shares.size):
            found[context] = tried[context]
        if spent == 0 or gained <= rate * spent * (1 + EQUAL):
            return True
        rate = gained / spent


@jitted
def _settling(prepared: FrugalData, state: State, rows: Rows, hat: int, context: int) -> int:
    """Return the arm to play where nothing is worth its cost: the leader, or what is to settle."""
    found, asked = rows.by_context[_FOUND], rows.by_context[_TRIED]
    leader, t = int(rows.by_context[_LEADER, context]), state.counters[CLOCK]
    if t <= prepared.settle:
        return leader
    ever = _ever(prepared)
    if not _choose(prepared, rows, ever):
        return leader
    if (
        prepared.alarm > 0
        and doubted(prepared.theta, prepared.trusted_until, state, hat, context, leader, t)
        != leader
    ):
        return leader  # which is in doubt: that comes first
    share = _ask(prepared, rows, hat, _heard_if_trusting(_paid(prepared, state)), 1.0)
    spent, gained = _balance(prepared, rows, asked)
    will_be = share > 0 and gained * ever >= spent
    if will_be and _is_enough(prepared, rows, asked, found, _NOT_TOO_SLOW * share):
        return int(asked[context])
    return leader


@jitted
def _ever(prepared: FrugalData) -> float:
    """Return h for ever."""
    return _horizon(prepared, _FOR_EVER)


@jitted
def _before_paying(prepared: FrugalData, state: State, rows: Rows, hat: int, context: int) -> int:
    """Return the arm to play: as found, or as models ask for if that costs under θ̂."""
    theta, found, asked = prepared.theta, rows.by_context[_FOUND], rows.by_context[_TRIED]
    pays = False
    for place in range(prepared.shares.size):
        pays = pays or not theta.is_best[place * theta.arms + found[place], hat]
    paid = _paid(prepared, state)
    asks = pays and _ask(prepared, rows, hat, _heard_if_trusting(paid), _part(paid)) > 0
    if asks and _is_enough(prepared, rows, asked, found, _part(paid)):
        return int(asked[context])
    if not theta.is_best[context * theta.arms + found[context], hat]:
        state.extra[-1] += 1
    return int(found[context])


@jitted
def _paid(prepared: FrugalData, state: State) -> float:
    """Return n."""
    ahead = _HEAD_START if state.counters[CLOCK] > prepared.settle else 0.0
    return float(state.extra[-1] + ahead)


@jitted
def _heard_if_trusting(paid: float) -> float:
    """Return which part of the posterior of θ̂ a model has that is asked if it trusts the leader."""
    return math.exp(-math.sqrt(paid))


@jitted
def _part(paid: float) -> float:
    """Return y_n."""
    part = 1 + paid / _PATIENCE
    return 1 / (part * part)


@jitted
def _is_enough(prepared: FrugalData, rows: Rows, asked: Counts, found: Counts, part: float) -> bool:
    """Tell whether what is asked for is worth at least a part, for its cost, of what was found."""
    spent, gained = _balance(prepared, rows, found)
    asked_spent, asked_gained = _balance(prepared, rows, asked)
    return bool(asked_gained * spent >= part * gained * asked_spent)


@jitted
def _balance(prepared: FrugalData, rows: Rows, chosen: Counts) -> tuple[float, float]:
    """Return what an arm for each context costs, and what it is worth."""
    spent, gained = 0.0, 0.0
    for context in range(prepared.shares.size):
        pair = context * prepared.theta.arms + chosen[context]
        spent += prepared.shares[context] * rows.by_arm[_COST, pair]
        gained += prepared.shares[context] * rows.by_arm[_WORTH, pair]
    return spent, gained


@jitted
def _ask(
    prepared: FrugalData, rows: Rows, hat: int, heard_if_trusting: float, heard_else: float
) -> float:
    """Put into by_context[_TRIED] what models ask for; return how likely who asks is beside θ̂.

    That is an arm in one context, and the leaders elsewhere, which is worth most for its cost.
    """
    arms, posterior, gap = (prepared.theta.arms, rows.by_model[_POSTERIOR], rows.by_model[_GAP])
    leaders, asked, rival = rows.by_context[_LEADER], rows.by_context[_TRIED], hat
    for model in range(posterior.size):
        if posterior[model] * gap[model] > posterior[rival] * gap[rival] * (1 + EQUAL):
            rival = model
    for context in range(prepared.shares.size):
        asked[context] = leaders[context]
    best, least, most, share = -1, 0.0, 0.0, 0.0
    for pair in range(prepared.shares.size * arms):
        context = pair // arms
        leader = context * arms + leaders[context]
        who = _is_asked(prepared, rows, pair, leader, hat, rival, heard_if_trusting, heard_else)
        if who == 0:
            continue
        asked[context] = pair - context * arms
        spent, gained = _balance(prepared, rows, asked)
        asked[context] = leaders[context]
        if best < 0 or gained * least > most * spent * (1 + EQUAL):
            best, least, most, share = pair, spent, gained, who
    if best >= 0:
        asked[best // arms] = best % arms
    return share


@jitted
def _is_asked(
    prepared: FrugalData,
    rows: Rows,
    pair: int,
    leader: int,
    hat: int,
    rival: int,
    heard_if_trusting: float,
    heard_else: float,
) -> float:
    """Return how likely, beside θ̂, a model is that asks for this pair, or 0 if none does."""
    theta, posterior, share = prepared.theta, rows.by_model[_POSTERIOR], 0.0
    for model in range(posterior.size):
        trusts = rows.by_model[_GAP, model] == 0
        heard = heard_if_trusting if trusts else heard_else
        if posterior[model] <= heard * posterior[hat] * (1 + EQUAL):
            continue
        if trusts and not prepared.free[model]:
            continue
        # Where both trust the leader, what it tells has been weighed already.
        asks = theta.is_best[pair, model] if pair != leader else not trusts
        against = rival if trusts else hat
        if asks and theta.codes[pair, against] != theta.codes[pair, model]:
            share = max(share, posterior[model] / posterior[hat])
    return share


@jitted
def _may_be_asked(
    prepared: FrugalData,
    state: State,
    most: Floats,
    least: Floats,
    leader: int,
    arm: int,
    slower: float,
) -> bool:
    """Tell whether this arm may be played for a model that trusts the leader and asks for it.

    Posteriors are between ``least`` and ``most``; at least so many times ``slower`` is this arm
    than what was found.
    """
    theta, hat_least, hat_most = prepared.theta, 0.0, 0.0
    for model in range(least.size):
        hat_least, hat_most = max(hat_least, least[model]), max(hat_most, most[model])
    heard = _heard_if_trusting(_paid(prepared, state)) * hat_least
    for model in range(most.size):
        trusts = theta.is_best[leader, model] and prepared.free[model]
        heeded = most[model] * _ROUNDING > heard
        fast = _NOT_TOO_SLOW * least[model] * slower <= hat_most * _ROUNDING
        if trusts and theta.is_best[arm, model] and heeded and fast:
            return True
    return False


@jitted
def _cost(theta: Theta, posterior: Floats, arm: int) -> float:
    """Return what an arm is expected to lose."""
    cost = 0.0
    for model in range(posterior.size):
        if not theta.is_best[arm, model]:
            gap = theta.top[0, model] - theta.levels[arm, theta.codes[arm, model]]
            cost += posterior[model] * gap
    return cost


@jitted
def _is_settled(prepared: FrugalData, fit: Fit, now: float, end: float) -> bool:
    """Tell from a `bracket` whether the posterior is sure to stay, h(t) from ``now`` to ``end``.

    So it is where the leader tells apart only what counts for nothing. By then crossings of h(t)
    are all that happens, and they are to be met exactly: an enclosure that is unsure of the last
    10^{−11} of the way would go through it play by play, ten thousand of them at t = 10^15.
    """
    low, high, prior = fit.lowest, fit.highest, prepared.theta.prior
    surely = math.inf
    for model in range(low.size):
        surely = min(surely, high[model] + prior[model])
    counts, ignored = _limit(now), _limit(end)
    for model in range(low.size):
        above = low[model] + prior[model] - surely
        if above <= ignored and (low[model] != high[model] or above > counts):
            return False
    return True


@jitted
def _leads_until(
    prepared: FrugalData, state: State, workspace: FrugalWork, leader: int, end: float, last: int
) -> bool:
    """Tell whether the leader is played up to t = ``last``, h(t) = ``end``, on this posterior."""
    hat = workspace.hat[0]
    if (
        prepared.alarm > 0
        and doubted(prepared.theta, prepared.trusted_until, state, hat, 0, leader, last) != leader
    ):
        return False
    cost, worth = workspace.rows.by_arm[_COST], workspace.rows.by_arm[_WORTH]
    for arm in range(prepared.theta.arms):
        if prepared.theta.is_best[arm, hat] and cost[leader] > cost[arm] + 1 / (end * end):
            return False  # another of the best arms would lead
        if arm == leader or worth[arm] == 0:
            continue
        unworthy = worth[arm] * end * _SETTLED < cost[arm]
        outdone = worth[arm] * cost[leader] * (1 + 3 * EQUAL) < worth[leader] * cost[arm]
        if not unworthy and not outdone:
            return False
    return True


@jitted
def _keeps_leading(
    prepared: FrugalData,
    state: State,
    workspace: FrugalWork,
    leader: int,
    now: float,
    end: float,
    last: int,
) -> bool:
    """Tell from a `bracket` whether the leader is sure to be played, h(t) from ``now`` to ``end``.

    Every posterior is enclosed, and with it what arms cost and are worth. It is enough that
    whichever model may become θ̂ has this leader, and that each other arm is not worth its cost, or
    less worth than the leader for what it costs.
    """
    theta, arms, rows = prepared.theta, prepared.theta.arms, workspace.rows
    low, high, reference = workspace.fit.lowest, workspace.fit.highest, workspace.fit.reference[0]
    surely = math.inf  # the least energy is at most that
    for model in range(low.size):
        low[model] += theta.prior[model]
        high[model] += theta.prior[model]
        surely = min(surely, high[model])
    most, least, limit = 0.0, 0.0, _limit(end)
    for model in range(low.size):
        if low[model] < surely - 600:
            return False
        if low[model] <= surely + 2 * EQUAL and not theta.is_best[leader, model]:
            return False
        most += math.exp(surely - low[model])
        least += math.exp(surely - high[model])
    # Who may become θ̂ is marked, and energies give way to the most and least of posteriors.
    hats = rows.by_model[_GAP]
    for model in range(low.size):
        hats[model] = 1.0 if low[model] <= surely + 2 * EQUAL else 0.0
        ignored = low[model] - surely > limit
        low[model] = 0.0 if ignored else min(math.exp(surely - low[model]) / least, 1.0)
        high[model] = math.exp(surely - high[model]) / most
    cost, dear = rows.by_arm[_LEAST_COST], _cost(theta, low, leader)
    for arm in range(arms):
        cost[arm] = _cost(theta, high, arm)
    for model in range(low.size):
        if hats[model] > 0:
            if (
                prepared.alarm > 0
                and doubted(prepared.theta, prepared.trusted_until, state, model, 0, leader, last)
                != leader
            ):
                return False
            for arm in range(arms):
                if arm != leader and theta.is_best[arm, model]:
                    if arm < leader and cost[arm] <= (dear + 1 / (now * now)) * _ROUNDING:
                        return False
                    if dear * _ROUNDING > cost[arm] + 1 / (end * end):
                        return False
    rows.by_context[_LEADER, 0] = leader
    _gaps(prepared, rows)
    worth = rows.by_arm[_MOST_WORTH]
    _worths(prepared, rows, high, worth, reference)
    least_worth = worth[leader]
    # Late, models are asked unless the leader is worth its cost; what is then found is at least:
    asks, found = last > prepared.settle and least_worth * now <= dear * _ROUNDING, 0.0
    for arm in range(arms):
        if asks and worth[arm] > 0:
            at_most = _cost(theta, low, arm)
            found = max(found, worth[arm] / at_most if at_most > 0 else math.inf)
    _worths(prepared, rows, low, worth, reference)
    for arm in range(arms):
        if arm == leader or worth[arm] == 0:
            continue
        if asks and worth[arm] * _ever(prepared) * _ROUNDING >= cost[arm]:
            slower = found / (worth[arm] / cost[arm]) if cost[arm] > 0 else 0.0
            if _may_be_asked(prepared, state, low, high, leader, arm, slower):
                return False
        unworthy = worth[arm] * end * _ROUNDING < cost[arm]
        outdone = worth[arm] * dear * (1 + 3 * EQUAL) < least_worth * cost[arm]
        if not unworthy and not outdone:
            return False
    return True
