r"""What policies that weigh the models against one another share.

Such a policy looks at the rewards through one number per model, its *misfit*: Σ_i of the misfit of
arm i's rewards with their law under θ. Three kinds are used, and each is a linear function of the
plays n and of sums over rewards, but for a term that all models share:

* linear: −ℓ(θ) = n·base + Σ_k s_k·cost_k, by the law of the problem's family and its sufficient
  statistics (`fpbandits.families.base`).
* likelihood: n·kl(S/n, q), with S the sum of rewards, q the mean and kl the divergence of Bernoulli
  laws. For 0/1 rewards this is −ln of the likelihood at mean q over its maximum, so it is the law.
  For other rewards in [0, 1] it is what the inequality behind the guarantees needs (see
  ``docs/policies.md``) and takes nothing but means: ``likelihood="means"``, for rewards whose law
  is not to be trusted.
* squares: n·(S/n − q)².

Of what a reward costs the models only differences count. So over a stretch of plays, the difference
in misfit between two models is linear in the plays j and the new sums, and lies between its values
at the corners of the envelope: `bracket` gives, for every model, how low and how high its misfit
can get, less that of a reference model.

Where two models have the same law on an arm, the arm adds exactly 0 to their difference: so a
model that looks like the reference on all arms played has a misfit that does not move by a bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import corners
from fpbandits.engine.policy import LEAST, Tally
from fpbandits.errors import InputError, wrong_value
from fpbandits.policies.shared.levels import (
    HIGH,
    LINEAR,
    LOW,
    NOW,
    SQUARES,
    Theta,
    ThetaPolicy,
    theta,
)
from fpbandits.policies.shared.memo import fits_in_contexts, weigh_in_contexts
from fpbandits.policies.shared.misfit import EQUAL, allowance, likelihood_misfit, surprise
from fpbandits.problem.problem import Problem

_ROUNDING = 1e-7
"""What is left to spare where rewards move a misfit."""


LAW, MEANS = "law", "means"


@dataclass(frozen=True)
class LikelihoodPolicy(ThetaPolicy):
    """A policy that weighs models by their likelihood: that of their laws, or of means alone."""

    likelihood: str = field(default=LAW, kw_only=True)
    """"law": of the rewards' own family; "means": as if they were 0 or 1, which for rewards in
    [0, 1] needs nothing but their means."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.likelihood, str) or self.likelihood not in (LAW, MEANS):
            wanted = f"be {LAW} or {MEANS}"
            raise wrong_value("likelihood", self.likelihood, wanted).at(self.name)
        rate, alarm = getattr(self, "change_rate", 0.0), getattr(self, "false_alarm", 0.0)
        if rate > 1:
            raise InputError(
                f"change_rate is {rate:g}: it is the probability of a change before each play, at "
                "most 1"
            ).at(self.name)
        if alarm >= 1:
            raise InputError(
                f"false_alarm is {alarm:g}: it is the probability of giving up models "
                "that are right, below 1, as 0.001"
            ).at(self.name)

    @property
    def looks_at_laws(self) -> bool:
        """Whether it weighs models by the laws of rewards."""
        return self.likelihood == LAW

    def theta(self, problem: Problem) -> Theta:
        """Sort Θ into levels of what this policy looks at."""
        if self.likelihood == LAW:
            return theta(problem, LINEAR)
        if not problem.rewards.bounded:
            raise InputError(
                f"likelihood={MEANS} takes rewards in a range, and "
                f"{problem.rewards.name} ones have none: leave it out"
            ).at(self.name)
        return theta(problem)

    def remembers(self, problem: Problem) -> int:
        """Keep two numbers per model, and two more, where beliefs are to `leak`."""
        return 2 * len(problem.models) + 2 if getattr(self, "change_rate", 0) else 0

    def prepare(self, problem: Problem) -> Any:
        own = {option.name: getattr(self, option.name) for option in fields(self)}
        del own["likelihood"]
        if "false_alarm" in own:
            own["alarm"] = alarm_of(own.pop("false_alarm"))
        return self.known_type(self.theta(problem), **own)

    def misfits(self, problem: Problem, tally: Tally) -> Floats:
        """Return the misfit of every model, less the least."""
        costs = problem.rewards.costs() if self.likelihood == LAW else None
        misfit = _of_means(problem, tally)
        if costs is not None:
            base, cost = costs
            misfit = base @ tally.plays + np.einsum("mak,ak->m", cost, tally.statistics)
        above: Floats = misfit - misfit.min()
        return above


def alarm_of(false_alarm: float) -> float:
    """Return how much misfit raises an alarm that is false with this probability; 0: none does."""
    return -math.log(false_alarm) if false_alarm > 0 else 0.0


def _of_means(problem: Problem, tally: Tally) -> Floats:
    from scipy.special import rel_entr

    played = tally.plays > 0
    n, total = tally.plays[played], tally.sums[played]
    q = problem.rewards.unit_means[:, played]
    misfit: Floats = (rel_entr(total, n * q) + rel_entr(n - total, n * (1 - q))).sum(axis=1)
    return misfit


@jitted
def weigh(theta: Any, tally: Any, scratch: Any) -> int:
    """Fill by_model[NOW] with every model's misfit less the least; return the first that has it.

    by_level[NOW] holds each level's misfit less that of the best model's level, and values[LEAST]
    the least misfit itself, which means nothing where it is `LINEAR`. With several contexts neither
    is there.
    """
    if theta.best.shape[0] > 1:
        return weigh_in_contexts(theta, tally, scratch)
    misfit, table = scratch.by_model[NOW], scratch.by_level[NOW]
    arms, models = theta.codes.shape
    for model in range(models):
        misfit[model] = 0.0
    for arm in range(arms):
        n = tally.plays[arm]
        if n == 0:
            continue
        total = tally.sums[arm]
        for level in range(theta.counts[arm]):
            q = theta.levels[arm, level]
            if theta.kind == SQUARES:
                table[arm, level] = n * ((total / n - q) * (total / n - q))
            elif theta.kind == LINEAR:
                costs = n * theta.base[arm, level]
                for k in range(theta.cost.shape[2]):
                    costs += tally.statistics[arm, k] * theta.cost[arm, level, k]
                table[arm, level] = costs
            else:
                table[arm, level] = likelihood_misfit(n, total, q)
        for model in range(models):
            misfit[model] += table[arm, theta.codes[arm, model]]
    least = math.inf
    for model in range(models):
        least = min(least, misfit[model])
    scratch.values[LEAST] = least
    reference = 0
    while misfit[reference] > least + EQUAL:
        reference += 1
    # Once more, arm by arm against the best model: equal levels cancel exactly.
    for model in range(models):
        misfit[model] = 0.0
    for arm in range(arms):
        if tally.plays[arm] == 0:
            continue
        own = table[arm, theta.codes[arm, reference]]
        for level in range(theta.counts[arm]):
            table[arm, level] -= own
        for model in range(models):
            misfit[model] += table[arm, theta.codes[arm, model]]
    return reference


@jitted
def nothing_fits(theta: Any, tally: Any, scratch: Any, reference: int, alarm: float) -> bool:
    """Tell whether the means of every model surprise by more than ``alarm`` + Σ ln(n_i + 1).

    Under θ° its own surprise does so, at whatever time, with probability at most e^{−alarm}: a
    mixture of likelihoods over means, uniform ones for rewards in [0, 1], normal ones of a reward's
    own deviation for normal rewards, is a supermartingale from 1 when divided by that of θ°, and at
    least e^{surprise}/Π(n_i + 1); then it is Ville's inequality.
    """
    several = theta.best.shape[0] > 1
    if several and fits_in_contexts(theta, tally, scratch, reference, alarm):
        return False
    limit = alarm + allowance(tally)
    if theta.kind != LINEAR and not several:
        return bool(scratch.values[LEAST] > limit)
    if _fits(theta, tally, reference, limit):  # as a rule, and then no one else matters
        return False
    nobody = True
    for model in range(theta.best.shape[1]):
        nobody = nobody and not _fits(theta, tally, model, limit)
    return nobody


@jitted
def _fits(theta: Any, tally: Any, model: int, limit: float) -> bool:
    total = 0.0
    for arm in range(tally.plays.size):
        if tally.plays[arm] > 0:
            q = theta.levels[arm, theta.codes[arm, model]]
            total += surprise(theta, tally.plays[arm], tally.sums[arm], q)
    return total <= limit


@jitted
def bracket(
    theta: Any, envelope: Any, scratch: Any, length: int, more: int, reference: int
) -> None:
    """Enclose every model's misfit, less the reference's, while ``more`` further rounds are played.

    by_model[NOW] holds what `weigh` left there; [LOW] and [HIGH] get the lowest and highest value
    for 0 … ``more`` further plays of each of the first ``length`` arms of the cycle.
    """
    now, low, high = scratch.by_model[NOW], scratch.by_model[LOW], scratch.by_model[HIGH]
    lowest, highest = scratch.by_level[LOW], scratch.by_level[HIGH]
    models = theta.codes.shape[1]
    for model in range(models):
        low[model] = now[model]
        high[model] = now[model]
    for place in range(length):
        arm = scratch.cycle[place]
        low_plays, low_sum, high_plays, high_sum, least, most = corners(envelope, arm, more)
        own = theta.codes[arm, reference]
        for level in range(theta.counts[arm]):
            if level == own:
                lowest[arm, level] = 0.0
                highest[arm, level] = 0.0
                continue
            if theta.kind == LINEAR:
                a, b, c, d = _linear_corners(theta, envelope, arm, level, own, more)
            else:
                win = theta.win[arm, level] - theta.win[arm, own]
                loss = theta.loss[arm, level] - theta.loss[arm, own]
                a = low_sum * win + (low_plays - low_sum) * loss
                b = high_sum * win + (high_plays - high_sum) * loss
                c = least * win + (more - least) * loss
                d = most * win + (more - most) * loss
            spare = _ROUNDING + 1e-12 * max(abs(c), abs(d))
            lowest[arm, level] = min(min(0.0, a), min(b, min(c, d))) - spare
            highest[arm, level] = max(max(0.0, a), max(b, max(c, d))) + spare
        for model in range(models):
            low[model] += lowest[arm, theta.codes[arm, model]]
            high[model] += highest[arm, theta.codes[arm, model]]


@jitted
def _linear_corners(
    theta: Any, envelope: Any, arm: int, level: int, own: int, more: int
) -> tuple[float, float, float, float]:
    """Return between which values the difference in −ℓ of two levels stays, for ``more`` plays.

    A play adds y = base + Σ_k cost_k·s_k to it. After j ≤ m plays the sum of these is within W of
    j·E[y], with W = √(m·spread)·Σ_k |cost_k|, as each statistic's sum is near to its expectation;
    and where rewards are in a range it is between j·min y and j·max y. There each statistic counts
    how often a value came: together they make up the plays, so any number may be taken from all
    costs. Between the corners both limits are straight lines.
    """
    base = theta.base[arm, level] - theta.base[arm, own]
    values = theta.cost.shape[2]
    mean = base
    for k in range(values):
        mean += envelope.expected[arm, k] * (theta.cost[arm, level, k] - theta.cost[arm, own, k])
    middle = mean if envelope.bounded else 0.0
    lowest, highest, total = math.inf, -math.inf, 0.0
    for k in range(values):
        if envelope.bounded and envelope.expected[arm, k] == 0:
            continue  # such a value never comes
        cost = theta.cost[arm, level, k] - theta.cost[arm, own, k]
        total += abs(cost - middle)
        lowest, highest = min(lowest, base + cost), max(highest, base + cost)
    deviation = math.sqrt(more * envelope.spread) * total
    if not envelope.bounded:
        return -deviation, deviation, more * mean - deviation, more * mean + deviation
    if lowest == highest:
        return 0.0, 0.0, more * mean, more * mean
    down = more if deviation >= more * (mean - lowest) else deviation / (mean - lowest)
    up = more if deviation >= more * (highest - mean) else deviation / (highest - mean)
    return (
        down * lowest,
        up * highest,
        max(more * lowest, more * mean - deviation),
        min(more * highest, more * mean + deviation),
    )


@jitted
def stays_best(theta: Any, scratch: Any, reference: int, arm: int) -> bool:
    """Tell from a `bracket` whether no model but those with best arm ``arm`` can fit best.

    With ``arm`` −1, whether the reference itself stays the one that fits best. The first of equals
    counts, and equals stay equal where no reward moves them.
    """
    low, high = scratch.by_model[LOW], scratch.by_model[HIGH]
    for model in range(theta.best.shape[1]):
        if model == reference or (arm >= 0 and theta.best[0, model] == arm):
            continue
        equal = low[model] == high[model] == 0 and model > reference
        if low[model] <= EQUAL and not equal:
            return False
    return True
