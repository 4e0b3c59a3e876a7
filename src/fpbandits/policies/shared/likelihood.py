r"""What policies share that weigh models by their likelihood.

Such a policy looks at the rewards through one number per model, its log-likelihood deficit: how
much less likely the rewards are under θ than they could be, in nats, summed over arms. There are
two kinds. Each is, up to a term that all models share, linear in the plays n of an arm and in sums
over its rewards:

* by law: −ℓ(θ) = n·base + Σ_k s_k·cost_k, by the reward distribution of the problem's family and
  its sufficient statistics s (`fpbandits.families.base`).
* by means: n·kl(S/n, q), with S the sum of rewards, q the mean and kl the divergence of Bernoulli
  distributions. For 0/1 rewards this is −ln of the likelihood at mean q over its maximum, and the
  two kinds are the same. For other rewards in [0, 1] it depends on means alone, and the inequality
  behind the guarantees holds for it (see ``docs/optimist.md``): ``likelihood="means"`` is for
  rewards whose distribution is not to be trusted.

Only differences between models matter. Over a stretch of plays, the difference in deficit between
two models is linear in the plays j and the new sums, and lies between its values at the corners of
the envelope: `bracket` gives, for every model, limits of its deficit less that of a reference
model.

If two models have the same distribution on an arm, the arm adds exactly 0 to their difference: the
deficit of a model that looks like the reference on all arms played does not change by a bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import Envelope, Prepared, State, Workspace
from fpbandits.engine.envelope import corners
from fpbandits.engine.options import options
from fpbandits.errors import InputError, wrong_value
from fpbandits.policies.shared.changing import numbers_kept, without_infinity
from fpbandits.policies.shared.deficit import EQUAL, allowance, bernoulli_deficit, surprise
from fpbandits.policies.shared.fit import Fit, FitOnly, first_best, minimum, new_fit
from fpbandits.policies.shared.levels import Theta, ThetaPolicy, theta
from fpbandits.policies.shared.memo import cost_by_law, fits_in_contexts, weigh_in_contexts
from fpbandits.problem.chain import forgetting_rate
from fpbandits.problem.problem import Problem

_ROUNDING = 1e-7
"""A margin for rounding in limits of a deficit, in nats."""

LAW = "law"
"""The option ``likelihood`` of policies that weigh models by the distributions of rewards."""

MEANS = "means"
"""The option ``likelihood`` of policies that weigh models by means alone."""


@dataclass(frozen=True)
class LikelihoodPolicy(ThetaPolicy):
    """A policy that weighs models by their likelihood: by law, or by means alone."""

    likelihood: str = field(default=LAW, kw_only=True)

    prepared_type: ClassVar[Callable[..., Prepared]]
    """The policy's own type of named tuple: a field ``theta``, and one for each other option."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.likelihood, str) or self.likelihood not in (LAW, MEANS):
            wanted = f"be {LAW} or {MEANS}"
            raise wrong_value("likelihood", self.likelihood, wanted).at(self.name)
        if self._change_rate > 1:
            raise InputError(
                f"change_rate is {self._change_rate:g}: it is the probability of a change before "
                "each play, at most 1"
            ).at(self.name)
        if self._false_alarm >= 1:
            raise InputError(
                f"false_alarm is {self._false_alarm:g}: it is the probability of giving up models "
                "that are right, below 1, as 0.001"
            ).at(self.name)

    # Not every policy has these options; without one, it is 0.

    @property
    def _change_rate(self) -> float:
        return float(getattr(self, "change_rate", 0.0))

    @property
    def _false_alarm(self) -> float:
        return float(getattr(self, "false_alarm", 0.0))

    @property
    def looks_at_laws(self) -> bool:
        """Whether it weighs models by the distributions of rewards."""
        return self.likelihood == LAW

    def theta(self, problem: Problem) -> Theta:
        """Sort Θ into levels: of distributions, or of means."""
        if self.likelihood == MEANS and not problem.rewards.bounded:
            raise InputError(
                f"likelihood={MEANS} takes rewards in a range, and "
                f"{problem.rewards.name} ones have none: leave it out"
            ).at(self.name)
        sorted_ = theta(problem, by_law=self.looks_at_laws)
        return without_infinity(sorted_) if self._change_rate else sorted_

    def extra_numbers(self, problem: Problem) -> int:
        """Return how many numbers `changing.follow` keeps, if the truth changes."""
        if self.follows(problem):
            return numbers_kept(problem)
        return 2 * len(problem.models) + 2 if self._change_rate else 0

    def follows(self, problem: Problem) -> bool:
        can_follow = hasattr(self, "change_rate") and not self._change_rate
        return can_follow and problem.transitions is not None

    def changes(self, problem: Problem) -> tuple[float, Floats | None]:
        """Return the rate at which beliefs fade, and the chain that they follow, if any."""
        if not self.follows(problem):
            return self._change_rate, None
        if self.likelihood == MEANS or self._false_alarm:
            raise InputError(
                f"the truth of {problem.name} moves by its transitions, which takes no "
                f"likelihood={MEANS} and no false_alarm: leave them out, or give a change_rate"
            ).at(self.name)
        return forgetting_rate(problem), np.array(problem.transitions)

    def prepare(self, problem: Problem) -> Prepared:
        return type(self).prepared_type(**self.prepared_values(problem))

    def prepared_values(self, problem: Problem) -> dict[str, Any]:
        """Return Θ by level, and the options as the rules take them, by the names of fields."""
        values: dict[str, Any] = {name: getattr(self, name) for name in options(self)}
        del values["likelihood"]
        if "change_rate" in values:
            values["change_rate"], values["chain"] = self.changes(problem)
        if "false_alarm" in values:
            values["alarm"] = alarm_of(values.pop("false_alarm"))
        values["theta"] = self.theta(problem)
        return values

    def workspace(self, prepared: Prepared, pairs: int) -> Workspace:
        return FitOnly(np.zeros(pairs, np.int64), new_fit(prepared.theta))

    def renew(self, workspace: Workspace) -> None:
        """Reset the reference model, so that decisions do not depend on the last workspace use."""
        workspace.fit.reference[0] = 0


def alarm_of(false_alarm: float) -> float:
    """Return the deficit that raises an alarm, false with this probability; 0 for no alarm."""
    return -math.log(false_alarm) if false_alarm > 0 else 0.0


@jitted
def weigh(theta: Theta, state: State, fit: Fit) -> int:
    """Fill ``fit.deficit``; return the first model that fits best, also in ``fit.reference``.

    ``fit.by_level`` gets each level's deficit less that of the best model's level. ``fit.least``
    gets the best model's deficit to the observed means, unless models are weighed by law. With
    several contexts neither is filled.
    """
    if theta.best.shape[0] > 1:
        return weigh_in_contexts(theta, state, fit)
    for arm in range(theta.arms):
        n, total = state.plays[arm], state.sums[arm]
        if n == 0:
            continue
        for level in range(theta.counts[arm]):
            if theta.by_law:
                fit.by_level[arm, level] = cost_by_law(theta, state, arm, level)
            else:
                fit.by_level[arm, level] = bernoulli_deficit(n, total, theta.levels[arm, level])
    return compare(theta, state, fit)


@jitted
def compare(theta: Theta, state: State, fit: Fit) -> int:
    """Do as `weigh` does, once ``fit.by_level`` holds the deficit of every level."""
    _add_up(theta, state, fit)
    by_level, least = fit.by_level, minimum(fit.deficit)
    reference = first_best(fit.deficit, least)
    # Once more, arm by arm against the best model: equal levels cancel exactly.
    for arm in range(theta.arms):
        of_reference = by_level[arm, theta.codes[arm, reference]]
        for level in range(theta.counts[arm]):
            by_level[arm, level] -= of_reference
    _add_up(theta, state, fit)
    fit.reference[0], fit.least[0] = reference, least
    return reference


@jitted
def _add_up(theta: Theta, state: State, fit: Fit) -> None:
    """Fill ``fit.deficit`` with sums over the arms that were played."""
    deficit, by_level, codes = fit.deficit, fit.by_level, theta.codes
    deficit.fill(0.0)
    for arm in range(theta.arms):
        if state.plays[arm] > 0:
            for model in range(deficit.size):
                deficit[model] += by_level[arm, codes[arm, model]]


@jitted
def nothing_fits(theta: Theta, state: State, fit: Fit, alarm: float) -> bool:
    """Tell whether every model's surprise at its means exceeds ``alarm`` + Σ ln(n_i + 1).

    The surprise of the truth θ° ever does so with probability at most e^{−alarm}. For mix the
    likelihood over means: uniform ones for rewards in [0, 1], normal ones with the deviation of a
    reward for normal rewards. Divided by the likelihood of θ° this is a supermartingale that starts
    from 1, and it is at least e^{surprise}/Π(n_i + 1). Ville's inequality gives the bound. Revenue
    is judged as normal rewards are: its tails are heavier, so there the bound is approximate.
    """
    several, reference = theta.best.shape[0] > 1, fit.reference[0]
    if several and fits_in_contexts(theta, fit.memo, reference, alarm):
        return False
    limit = alarm + allowance(state)
    if not several and not theta.by_law:
        return bool(fit.least[0] > limit)
    if _fits(theta, state, reference, limit):  # nearly always, so this comes first
        return False
    none_fits = True
    for model in range(theta.best.shape[1]):
        none_fits = none_fits and not _fits(theta, state, model, limit)
    return none_fits


@jitted
def _fits(theta: Theta, state: State, model: int, limit: float) -> bool:
    """Tell whether a model's surprise at its means is at most ``limit``."""
    total = 0.0
    for arm in range(state.plays.size):
        if state.plays[arm] > 0:
            q = theta.levels[arm, theta.codes[arm, model]]
            total += surprise(theta, state.plays[arm], state.sums[arm], q)
    return total <= limit


@jitted
def bracket(
    theta: Theta, envelope: Envelope, fit: Fit, cycle: Counts, length: int, more: int
) -> None:
    """Fill ``fit.lowest`` and ``fit.highest`` with limits of every deficit less the reference's.

    They hold for 0 … ``more`` further plays of each of the first ``length`` arms of the cycle.
    ``fit.reference`` must be as `weigh` left it, and so must ``fit.deficit``, but for a number by
    model, such as −ln of its prior, which limits then include.
    """
    models, reference = theta.codes.shape[1], fit.reference[0]
    for model in range(models):
        fit.lowest[model] = fit.highest[model] = fit.deficit[model]
    for i in range(length):
        arm = cycle[i]
        low_plays, low_sum, high_plays, high_sum, least, most = corners(envelope, arm, more)
        of_reference = theta.codes[arm, reference]
        for level in range(theta.counts[arm]):
            if level == of_reference:
                fit.lowest_of[level] = fit.highest_of[level] = 0.0
                continue
            if theta.by_law:
                a, b, c, d = _linear_corners(theta, envelope, arm, level, of_reference, more)
            else:
                win = theta.win[arm, level] - theta.win[arm, of_reference]
                loss = theta.loss[arm, level] - theta.loss[arm, of_reference]
                a = low_sum * win + (low_plays - low_sum) * loss
                b = high_sum * win + (high_plays - high_sum) * loss
                c = least * win + (more - least) * loss
                d = most * win + (more - most) * loss
            spare = _ROUNDING + 1e-12 * max(abs(c), abs(d))
            fit.lowest_of[level] = min(min(0.0, a), min(b, min(c, d))) - spare
            fit.highest_of[level] = max(max(0.0, a), max(b, max(c, d))) + spare
        for model in range(models):
            fit.lowest[model] += fit.lowest_of[theta.codes[arm, model]]
            fit.highest[model] += fit.highest_of[theta.codes[arm, model]]


@jitted
def _linear_corners(
    theta: Theta, envelope: Envelope, arm: int, level: int, of_reference: int, more: int
) -> tuple[float, float, float, float]:
    """Return the corners between which the difference in −ℓ of two levels stays.

    A play adds y = base + Σ_k cost_k·s_k to it. After j ≤ m = ``more`` plays the sum of these is
    within W of j·E[y], with W = √(m·spread)·Σ_k |cost_k|, as each statistic's sum is near to its
    expectation. If rewards are in a range it is also between j·min y and j·max y. In that case each
    statistic counts how often a value came. All of them add up to the plays, so any one number may
    be subtracted from all costs. Between the corners both limits are straight lines.
    """
    base = theta.base[arm, level] - theta.base[arm, of_reference]
    values = theta.cost.shape[2]
    mean = base
    for k in range(values):
        mean += envelope.expected[arm, k] * (
            theta.cost[arm, level, k] - theta.cost[arm, of_reference, k]
        )
    middle = mean if envelope.bounded else 0.0
    lowest, highest, total = math.inf, -math.inf, 0.0
    for k in range(values):
        if envelope.bounded and envelope.expected[arm, k] == 0:
            continue  # such a value never comes
        cost = theta.cost[arm, level, k] - theta.cost[arm, of_reference, k]
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
def stays_best(theta: Theta, fit: Fit, arm: int) -> bool:
    """Tell from a `bracket` whether only models with the best arm ``arm`` can fit best.

    With ``arm`` = −1, tell whether the reference stays the model that fits best. Of equals the
    first counts, and models stay equal if no reward can tell them apart.
    """
    low, high, reference = fit.lowest, fit.highest, fit.reference[0]
    for model in range(theta.best.shape[1]):
        if model == reference or (arm >= 0 and theta.best[0, model] == arm):
            continue
        equal = low[model] == high[model] == 0 and model > reference
        if low[model] <= EQUAL and not equal:
            return False
    return True
