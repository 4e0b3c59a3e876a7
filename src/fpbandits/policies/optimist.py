"""Optimism over the likelihood set: believe the best that what was seen leaves open.

A model θ is *plausible* after t plays while its log-likelihood is within c(t) of the largest,

    max ℓ − ℓ(θ) ≤ c(t) = (1 + δ) ln t + b.

Among the plausible models take those whose best arm pays most; of the arms that are best under one
of them, play the one that carries the most posterior mass of those models (all arms that tie for
best under a model carry its mass; the first of equals).

e^{ℓ(θ) − ℓ(θ°)} is a martingale of mean 1 under θ°, so the truth is implausible at time t or later
with probability at most Σ_θ e^{−c(t)}, which is summable for δ > 0; ``docs/policies.md`` has the
proof that regret is then bounded where B(θ°) is empty, if θ° has a unique best arm, and else
logarithmic. With several best arms under θ° it can grow although B(θ°) is empty, where FP-UCB's
does not. Its tail can be heavy, of index 1 + δ: then its variance is infinite, and means over runs
mislead.

**When no model fits**: see `fpbandits.policies.shared.giving_up`.

**When the truth changes** with probability r = ``change_rate`` before each play, to a model drawn
from the prior, −ℓ is replaced by −ln of beliefs that leak to the prior at that rate, and the
threshold stops growing at t = 1/√r. A model that was ruled out gains belief by the leak alone, and
comes back after some 1/√r plays: about as rarely as trying it costs no more than not to notice that
it has become true.

**With contexts** the likelihood is that of all rewards, in whatever context, and a model promises
what its best arm pays in the context at hand.

The cycle is one arm. It is sure to be repeated if no model that could become plausible has a larger
top, each that has the same top has this arm among its best, and one such is sure to stay plausible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from fpbandits.core.arrays import TOLERANCE, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import furthest
from fpbandits.engine.policy import (
    CLOCK,
    CONTEXT,
    REFERENCE,
    STAGE,
    TOP,
    Contexts,
    Plan,
    Tally,
)
from fpbandits.policies.imed import imed_repeats
from fpbandits.policies.shared.giving_up import blind_plan, gives_up, keeps_fitting
from fpbandits.policies.shared.leaking import leak
from fpbandits.policies.shared.levels import HIGH, LOW, NOW, Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, bracket, weigh
from fpbandits.policies.shared.misfit import EQUAL
from fpbandits.problem.problem import Problem


class OptimistKnown(NamedTuple):
    """Θ by level, δ and b of the threshold, x of the alarm, and how often the truth changes."""

    theta: Theta
    delta: float
    offset: float
    alarm: float
    change_rate: float


@dataclass(frozen=True)
class Optimist(LikelihoodPolicy):
    """Optimism over the likelihood set."""

    delta: float = 0.1
    offset: float = 0.7
    false_alarm: float = 0.0
    change_rate: float = 0.0

    name = "optimist"
    contexts = Contexts.TOGETHER
    known_type = OptimistKnown
    guarantee = "bounded regret where B(θ°) is empty and θ° has one best arm, else O(log T)"

    def margins(self, problem: Problem, tally: Tally) -> Floats:
        """Return what is left of the threshold."""
        t, misfit = max(tally.counters[CLOCK], 1), self.misfits(problem, tally)
        if self.change_rate > 0:
            t, misfit = min(t, self.change_rate**-0.5), tally.beliefs[: len(misfit)]
        threshold = (1 + self.delta) * math.log(t) + self.offset
        margins: Floats = threshold - misfit
        return margins

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        if tally.counters[STAGE] == 1:  # no model fits: blind to Θ from here on
            may_follow = blind_plan(known, tally, scratch)
        else:
            may_follow = _decide(known, tally, scratch)
        return 1, furthest(known, tally, envelope, scratch, budget) if may_follow else 1

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        if tally.counters[STAGE] == 1:
            return imed_repeats(tally, envelope, scratch, known.theta.normal, rounds)
        if known.alarm > 0 and not keeps_fitting(known, tally, envelope, scratch, rounds - 1):
            return False
        played, top, t = scratch.cycle[0], scratch.values[TOP], tally.counters[CLOCK]
        bracket(known.theta, envelope, scratch, 1, rounds - 1, scratch.notes[REFERENCE])
        low, high = scratch.by_model[LOW], scratch.by_model[HIGH]
        now, end = _threshold(known, t), _threshold(known, t + rounds - 1)
        arms, models = known.theta.codes.shape
        least = 0.0
        for model in range(models):
            least = min(least, low[model])
        # A rival that comes first wins ties, so some model that stays must tell it from the arm.
        sure, told_apart = False, scratch.marks[0]
        for arm in range(arms):
            told_apart[arm] = 0
        for model in range(models):
            if low[model] > end + EQUAL:
                continue
            if known.theta.top[0, model] > top + TOLERANCE:
                return False
            if known.theta.top[0, model] < top - TOLERANCE:
                continue
            if not known.theta.is_best[played, model]:
                return False
            if high[model] - least <= now:
                sure = True
                # What is surely there must weigh more than what counts as equal.
                weight = high[model] - least + known.theta.prior[model]
                if weight + math.log(models) < 20:
                    for arm in range(played):
                        if not known.theta.is_best[arm, model]:
                            told_apart[arm] = 1
        for arm in range(played):
            sure = sure and told_apart[arm] == 1
        return sure


@jitted
def _decide(known: Any, tally: Any, scratch: Any) -> bool:
    """Put the arm to play into the cycle, and tell whether the same may follow."""
    reference = weigh(known.theta, tally, scratch)
    if gives_up(known, tally, scratch, reference):
        return False
    if known.change_rate > 0:
        leak(known.theta.prior, tally, scratch, known.change_rate)
    misfit, mass = scratch.by_model[NOW], scratch.numbers[0]
    arms, models = known.theta.arms, known.theta.codes.shape[1]
    tops = known.theta.top[tally.counters[CONTEXT]]
    first = tally.counters[CONTEXT] * arms  # of the pairs in this context
    threshold = _threshold(known, tally.counters[CLOCK])
    top = -math.inf
    for model in range(models):
        if misfit[model] <= threshold + EQUAL:
            top = max(top, tops[model])
    for arm in range(arms):
        mass[arm] = -1.0
    for model in range(models):
        if misfit[model] <= threshold + EQUAL and tops[model] >= top - TOLERANCE:
            weight = math.exp(-misfit[model] - known.theta.prior[model])
            for arm in range(arms):
                if known.theta.is_best[first + arm, model]:
                    mass[arm] = max(mass[arm], 0.0) + weight
    scratch.cycle[0] = 0
    for arm in range(1, arms):
        if mass[arm] > max(mass[scratch.cycle[0]], 0.0) * (1 + EQUAL):
            scratch.cycle[0] = arm
    scratch.notes[REFERENCE] = reference
    scratch.values[TOP] = top
    return bool(known.change_rate == 0)


@jitted
def _threshold(known: Any, t: int) -> float:
    plays = max(float(t), 1.0)
    if known.change_rate > 0:
        plays = min(plays, known.change_rate**-0.5)
    threshold: float = (1 + known.delta) * math.log(plays) + known.offset
    return threshold
