"""Θ by level, for policies that look at every model.

As a rule an arm has only a few different laws (reward distributions) over all models: its *levels*.
What depends on an arm's law is computed once per level, and looked up for every model. For a policy
that looks at means alone, a level is a distinct mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fpbandits.core.arrays import TOLERANCE, Bools, Counts, Floats, Ints
from fpbandits.engine.contract import Prepared
from fpbandits.engine.policy import Policy
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.problem.problem import Problem


class Theta(NamedTuple):
    """Θ by level.

    Attributes
    ----------
    by_law
        Whether the likelihood of a model is computed from statistics of rewards, by ``base`` and
        ``cost``. Otherwise it is computed from the plays and the sum of rewards of each arm: since
        the policy looks at means alone, or since these are sufficient (Bernoulli rewards).
    normal
        Whether means are judged as those of normal rewards of deviation ½: rewards have no range.
        They are normal, scaled to this deviation, or revenue, whose largest deviation it is. Other
        rewards are in [0, 1].
    arms
        How many arms there are. Below, an index ``arm`` runs over pairs if there are contexts: all
        arms in the first context, then all in the second, and so on.
    eligible
        eligible[arm]: whether it may be played. All may, unless Θ is `restricted`.
    best, top, is_best
        Among eligible arms, best[context, θ] is the first best arm (its number among the arms, not
        a pair's), top[context, θ] its mean, and is_best[arm, θ] whether an arm is a best one.
    codes
        codes[arm, θ]: the index of the arm's level under θ.
    prior
        By model, −ln of its prior probability, shifted so that the smallest is 0.
    levels, counts
        levels[arm, level] is the mean, ascending; levels by law may differ in their costs alone.
        counts[arm] is how many levels the arm has: further entries are unused.
    win, loss
        [arm, level]: the cost of a reward of 1, and of 0: −ln of its likelihood under a model that
        gives the arm this level. Empty where models are weighed ``by_law``, or rewards have no
        range.
    base, cost
        [arm, level] and [arm, level, k]: what a play, and one unit of each statistic, costs in
        nats; see `fpbandits.families.base`. Empty where models are not weighed ``by_law``.
    """

    by_law: bool
    normal: bool
    arms: int
    eligible: Bools
    best: Counts
    top: Floats
    is_best: Bools
    prior: Floats
    codes: NDArray[np.int32]
    levels: Floats
    counts: Counts
    win: Floats
    loss: Floats
    base: Floats
    cost: Floats


def theta(problem: Problem, *, by_law: bool = False) -> Theta:
    """Sort the laws of Θ into levels: by their means, or ``by_law`` by mean, base and costs.

    If sums of rewards suffice (Bernoulli), means are all there is, and `Theta.by_law` is False.
    """
    means = problem.rewards.unit_means  # [θ, arm], moved to [0, 1] if rewards have a range
    by_context = means.reshape(len(means), -1, len(problem.arms))
    is_best = by_context >= by_context.max(axis=2, keepdims=True) - TOLERANCE
    laws = means[:, :, np.newaxis]
    costs = problem.rewards.costs() if by_law else None  # base and cost; None if sums suffice
    if costs is not None:
        laws = np.concatenate([laws, costs[0][:, :, np.newaxis], costs[1]], axis=2)
    by_arm = [_distinct(laws[:, arm]) for arm in range(laws.shape[1])]
    counts = np.array([len(levels) for levels, _ in by_arm], np.int64)
    # Unused entries are ½: whoever computes with the whole table gets finite numbers there.
    table = np.full((len(by_arm), counts.max(), laws.shape[2]), 0.5)
    for row, (laws_of_arm, _) in zip(table, by_arm, strict=True):
        row[: len(laws_of_arm)] = laws_of_arm
    levels, base, cost = table[:, :, 0], np.zeros((0, 0)), np.zeros((0, 0, 0))
    win, loss = base, base  # empty
    if costs is not None:
        base, cost = table[:, :, 1], table[:, :, 2:]
    elif problem.rewards.bounded:
        with np.errstate(divide="ignore"):
            win = np.minimum(-np.log(levels), IMPOSSIBLE)
            loss = np.minimum(-np.log1p(-levels), IMPOSSIBLE)
    # Row by row in memory, as compiled code wants all arrays.
    return Theta(
        by_law=costs is not None,
        normal=not problem.rewards.bounded,
        arms=len(problem.arms),
        eligible=np.ones(means.shape[1], bool),
        best=np.ascontiguousarray(is_best.argmax(axis=2).T, np.int64),
        top=np.ascontiguousarray(_first_best_means(by_context, is_best).T),
        is_best=np.ascontiguousarray(is_best.reshape(len(means), -1).T),
        prior=prior_cost(problem.prior or (1.0,) * len(means)),
        codes=np.array([codes for _, codes in by_arm], np.int32),
        levels=np.ascontiguousarray(levels),
        counts=counts,
        win=win,
        loss=loss,
        base=np.ascontiguousarray(base),
        cost=np.ascontiguousarray(cost),
    )


def restricted(theta: Theta, context: int, among: Sequence[int]) -> Theta:
    """Return Θ for a decision among some arms in a context: its best arms are the best of these.

    ``among`` numbers the arms from 0 in every context. Other contexts stay as they are.
    """
    here, models = slice(context * theta.arms, (context + 1) * theta.arms), theta.best.shape[1]
    eligible, is_best = theta.eligible.copy(), theta.is_best.copy()
    best, top = theta.best.copy(), theta.top.copy()
    eligible[here] = np.isin(np.arange(theta.arms), among)
    means = np.take_along_axis(theta.levels[here], theta.codes[here], axis=1)
    means = np.where(eligible[here, np.newaxis], means, -np.inf)
    is_best[here] = means >= means.max(axis=0) - TOLERANCE
    best[context] = is_best[here].argmax(axis=0)
    top[context] = means[best[context], np.arange(models)]
    return theta._replace(eligible=eligible, best=best, top=top, is_best=is_best)


def prior_cost(weights: Sequence[float]) -> Floats:
    """Return −ln of each weight, shifted so that the smallest is 0; `IMPOSSIBLE` for weight 0."""
    array = np.array(weights)
    with np.errstate(divide="ignore"):
        cost: Floats = np.minimum(np.log(array.max()) - np.log(array), IMPOSSIBLE)
    return cost


def _first_best_means(means: Floats, is_best: Bools) -> Floats:
    """Return the mean of the first of the best arms, [θ, context]."""
    first = is_best.argmax(axis=2)[:, :, np.newaxis]
    return np.take_along_axis(means, first, axis=2)[:, :, 0]


def _distinct(laws: Floats) -> tuple[Floats, Ints]:
    """Return the distinct rows, sorted, and for each row the index of the one that it equals.

    Rows that differ by rounding stay apart: that costs time, and changes no decision.
    """
    if laws.shape[1] == 1:  # much faster for numbers than for rows
        levels, codes = np.unique(laws[:, 0], return_inverse=True)
        return levels[:, np.newaxis], codes.reshape(-1)
    levels, codes = np.unique(laws, axis=0, return_inverse=True)
    return levels, codes.reshape(-1)


class ThetaPolicy(Policy):
    """A policy whose prepared tuple has a `Theta`, as its field ``theta``."""

    knows = "Θ: what every arm pays under every model"

    def restrict(
        self, problem: Problem, prepared: Prepared, context: int, among: Sequence[int]
    ) -> Prepared:
        return prepared._replace(theta=restricted(prepared.theta, context, among))
