"""The structure of Θ: the definitions on which the regret of FP-UCB depends.

For a problem with arms i and models θ, of means μ_i(θ) on [0, 1], and the true model θ°:

=====================  ==================================================================
`best_arm`             a*(θ) = argmax_i μ_i(θ), the smallest index where arms tie
`candidate_arms`       A = {a*(θ) : θ ∈ Θ}, the arms that FP-UCB ever plays
`confusion_set`        B(θ°) = {θ : a*(θ) ≠ a*(θ°) and μ_a*(θ°)(θ) = μ_a*(θ°)(θ°)}
`confusing_arms`       C(θ°) = {a*(θ) : θ ∈ B(θ°)}
`gaps`                 Δ_i = μ_a*(θ°)(θ°) − μ_i(θ°)
`betas`                β_i = min over θ ∈ B(θ°) with a*(θ) = i of |μ_i(θ°) − μ_i(θ)|, i ∈ C(θ°)
`alphas`               α(θ) = |μ_a*(θ°)(θ°) − μ_a*(θ°)(θ)|
=====================  ==================================================================

A policy that plays only a*(θ°) sees the same mean under each model in B(θ°), and cannot tell them
from the truth. If B(θ°) is empty, FP-UCB's regret is bounded; otherwise it grows with log T, unless
all arms in C(θ°) are as good as a*(θ°) under θ°.

The paper assumes that a*(θ) is unique. Without that, a model can be in B(θ°) though a*(θ°) is
one of *its* best arms too; it can cost FP-UCB a logarithm, but no policy needs to tell it apart.
`must_explore` leaves such models out, and those whose reward distribution on a*(θ°) differs while
the mean is the same: what remains is the confusion set that a lower bound may use.

Everything here is on [0, 1] and in indices; means within `TOLERANCE` of one another are equal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np

from fpbandits.core.arrays import TOLERANCE, Bools, Floats, Ints
from fpbandits.problem.problem import Problem


def gaps_by_pair(problem: Problem) -> Floats:
    """Return what a play of each pair loses, [model, pair], in the user's units."""
    means = problem.means.reshape(len(problem.models), -1, len(problem.arms))
    gaps: Floats = (means.max(axis=2, keepdims=True) - means).reshape(len(means), -1)
    return gaps


class BestArms(ABC):
    """The best arms under each model, from means[θ, arm] or means[θ, context, arm] on [0, 1]."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.means = problem.rewards.unit_means

    @cached_property
    def best_arms(self) -> Bools:
        """Whether each arm is best under each θ, [θ, …, arm]; where arms tie, all of them are."""
        best: Bools = self.means >= self.means.max(axis=-1, keepdims=True) - TOLERANCE
        return best

    @cached_property
    def best_arm(self) -> Ints:
        """a*(θ) for every θ: the best arm, the smallest index where arms tie."""
        best: Ints = self.best_arms.argmax(axis=-1)
        return best

    @cached_property
    def ties(self) -> Ints:
        """The models whose best arm is not unique (in some context)."""
        tied = self.best_arms.sum(axis=-1) > 1
        return np.flatnonzero(tied.reshape(len(tied), -1).any(axis=1))

    @cached_property
    def candidate_arms(self) -> Ints:
        """A: the arms that are best under some model (in some context)."""
        return np.unique(self.best_arm)

    @abstractmethod
    def gaps(self, truth: int) -> Floats:
        """Return what a play of each arm, or pair, loses under θ°; 0 for all that tie for best."""


class Structure(BestArms):
    """The definitions above, for one problem; θ° is the index ``truth`` of a model.

    Examples
    --------
    >>> from fpbandits import load_problem
    >>> structure = Structure(load_problem("paper:two"))
    >>> structure.best_arm, structure.candidate_arms
    (array([0, 1]), array([0, 1]))
    >>> structure.confusion_set(0), structure.confusion_set(1), structure.confusing_arms(1)
    (array([], dtype=int64), array([0]), array([0]))
    """

    def confusion_set(self, truth: int) -> Ints:
        """B(θ°): the models with another best arm that look like θ° on a*(θ°)."""
        other = self.best_arm != self.best_arm[truth]
        return np.flatnonzero(other & (self.alphas(truth) <= TOLERANCE))

    def separable(self, truth: int) -> Ints:
        """Return the models with another best arm outside B(θ°).

        Playing a*(θ°) alone rules them out sooner or later, the sooner the larger α(θ).
        """
        other = self.best_arm != self.best_arm[truth]
        return np.flatnonzero(other & (self.alphas(truth) > TOLERANCE))

    def confusing_arms(self, truth: int) -> Ints:
        """C(θ°): the best arms of the models in B(θ°)."""
        return np.unique(self.best_arm[self.confusion_set(truth)])

    def gaps(self, truth: int) -> Floats:
        """Δ_i for every arm: what a play of arm i loses under θ°; 0 for all that tie for best."""
        means = self.means[truth]
        return np.where(self.best_arms[truth], 0.0, means[self.best_arm[truth]] - means)

    def betas(self, truth: int) -> dict[int, float]:
        """β_i for every arm i in C(θ°): the least distance of its mean under B(θ°) from θ°'s."""
        confused = self.confusion_set(truth)
        best = self.best_arm[confused]
        distance = np.abs(self.means[truth, best] - self.means[confused, best])
        # β is positive by definition. Means count as equal within a tolerance, so it might round
        # to 0 where they differ by little more.
        return {
            int(arm): max(float(distance[best == arm].min()), TOLERANCE)
            for arm in self.confusing_arms(truth)
        }

    def alphas(self, truth: int) -> Floats:
        """α(θ) for every θ: how far its mean on a*(θ°) is from that under θ°."""
        means = self.means[:, self.best_arm[truth]]
        alphas: Floats = np.abs(means - means[truth])
        return alphas

    def must_explore(self, truth: int) -> Ints:
        """Return the part of B(θ°) that forces any good policy to explore.

        The models under which a*(θ°) has the same reward distribution as under θ°, but is not a
        best arm.
        """
        arm = self.best_arm[truth]
        confused = self.confusion_set(truth)
        same = self.problem.rewards.same_law(truth, arm)
        needed: Ints = confused[same[confused] & ~self.best_arms[confused, arm]]
        return needed
