"""Two models: the least Bayes regret, by dynamic programming on the belief.

With two models the posterior is one number, the log-odds x = ln p(θ²)/p(θ¹). A play of arm i loses
c_i(x) = Σ_θ p(θ)·Δ_i(θ) on average, and its reward moves x by its log-likelihood ratio ℓ. So the
least Bayes regret over n plays solves

    V_0 = 0,      V_n(x) = min_i c_i(x) + E[V_{n−1}(x + ℓ)].

Divided by p(θ¹) it is f_n = V_n/p(θ¹), a concave function of the odds u = e^x, and

    f_n(u) = min_i Δ_i(θ¹) + u·Δ_i(θ²) + E_θ¹[f_{n−1}(u·e^ℓ)].

On a grid of evenly spaced log-odds a play moves every point alike, so that each step is a few sums
of shifted arrays.

**From below.** A chord of a concave function lies below it. Let ℓ lie between two points of the
grid, ℓ₀ and ℓ₁, with probability m under θ¹ and m′ under θ². Then E_θ¹[f(u·e^ℓ); ℓ₀ ≤ ℓ ≤ ℓ₁] is at
least α·f(u·e^ℓ₀) + β·f(u·e^ℓ₁), where α + β = m and α·e^ℓ₀ + β·e^ℓ₁ = m′. These two numbers are all
that a chord needs, whatever the distribution between the points: for normal and Beta rewards too
they are differences of distribution functions, and nothing is left out. Beyond the ends of the grid
the chord ends at certainty, where nothing is lost.

**From above.** A policy that replaces its belief by a point of the grid after every reward is a
policy like any other. Of its regret under both models, a and b, at every point of the grid, p(θ¹)·a
+ p(θ²)·b is exactly what it loses from a belief p, wherever p lies. So the recursion keeps a and b,
and chooses of the two points beside a belief the one whose policy loses less.

Both are proven, up to the rounding of sums. Both differ from V by terms of the square of the grid's
step, which is chosen as small as a budget of arithmetic allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fpbandits.core.arrays import Counts, Floats, Ints
from fpbandits.problem.problem import Problem
from fpbandits.theory.ratios import COARSEST, FINEST, Continuous, Told, added_up, log_ratio
from fpbandits.theory.recursions import lower_recursion, upper_recursion
from fpbandits.theory.structure import gaps_by_pair

BUDGET = 8e8
"""Multiplications that a lower bound may take: with the upper bound, about a second. Continuous
rewards may take four times as many, and models that are hard to tell apart ten times."""

_BEYOND = 16.0
"""The grid ends where the odds are e^16 times the horizon: what is lost on average at that belief
is e^−16 times the largest gap, and so is the error of a chord from there to certainty."""


@dataclass(frozen=True)
class Beliefs:
    """The beliefs of two models on a grid, and where a play of each pair leads.

    Attributes
    ----------
    step, start
        The distance of the grid's log-odds, and which of its points is the prior.
    log_odds
        The grid.
    prior
        p(θ¹) and p(θ²) to begin with.
    gaps
        [model, pair]: what one play loses, in the user's units.
    shares
        How often each context comes.
    told
        What one play of each pair tells.
    """

    step: float
    start: int
    log_odds: Floats
    prior: Floats
    gaps: Floats
    shares: Floats
    told: tuple[Told, ...]

    @classmethod
    def of(
        cls,
        problem: Problem,
        horizon: int,
        budget: float = BUDGET,
        most_points: float = math.inf,
    ) -> Beliefs:
        """Lay the finest grid that a horizon and a budget of arithmetic allow, for two models."""
        prior = np.array(problem.prior or (0.5, 0.5))
        at, end = math.log(prior[1]) - math.log(prior[0]), math.log(horizon) + _BEYOND
        ratios = [log_ratio(problem.rewards, pair) for pair in range(problem.pairs)]

        def affordable(most: float) -> float:
            for step in np.geomspace(FINEST, COARSEST, 60):
                entries = sum(each.entries(step) for each in ratios)
                points = 2 * end / step
                if points <= most_points and points * entries * horizon <= most:
                    break
            return float(step)

        step = affordable(budget * (4 if isinstance(ratios[0], Continuous) else 1))
        # A belief that moves by less than half a step would be put back to where it was.
        enough = max(each.deviation for each in ratios) / 4
        if 0 < enough < step:
            step = max(enough, affordable(10 * min(budget, BUDGET)))
        # A few per cent more may put the grid's points where rewards lead.
        near = [
            *step * np.linspace(1, 1.15, 61),
            *(s for each in ratios for s in each.fitting(step)),
        ]
        step = float(min(near, key=lambda each: sum(ratio.excess(each) for ratio in ratios)))
        below = math.ceil(max(end + at, 0) / step) + 1
        above = math.ceil(max(end - at, 0) / step) + 1
        log_odds = np.arange(-below, above + 1.0) * step + at
        gaps = gaps_by_pair(problem)
        told = tuple(each.told(step, len(log_odds)) for each in ratios)
        shares = np.array(problem.shares or (1.0,))
        return cls(step, below, log_odds, prior, gaps, shares, told)

    def lower(self, times: Sequence[int]) -> tuple[Floats, Floats]:
        """Return a lower bound for 1, 2, … plays, and that of every belief at some times."""
        every = [(t.shifts, t.shifts + t.widths, t.below, t.above) for t in self.told]
        merged = [_merged(np.r_[low, high], np.r_[a, b]) for low, high, a, b in every]
        points, margin, first = self._layout([len(shifts) for shifts, _ in merged])
        curve, kept = np.zeros(times[-1]), np.zeros((len(times), points))
        lower_recursion(
            first,
            np.concatenate([shifts for shifts, _ in merged]),
            np.concatenate([weights for _, weights in merged]),
            self.gaps,
            np.exp(self.log_odds),
            self.shares,
            np.exp(-self.step * np.arange(1, margin + 1)),
            self.start,
            np.array(times, np.int64),
            np.zeros(points + 2 * margin),
            np.zeros((3, points)),
            curve,
            kept,
        )
        return self.prior[0] * curve, self.posterior[:, 0] * kept

    def upper(self, horizon: int, keep: bool = False) -> tuple[Floats, NDArray[np.int16]]:
        """Return the regret of the grid's policies for 1, 2, … plays.

        If they are to be kept, also their arms, [plays left − 1, context, point].
        """
        points, margin, first = self._layout([len(t.shifts) for t in self.told])
        shifts = np.concatenate([t.shifts for t in self.told])
        widths = np.concatenate([t.widths for t in self.told])
        second = np.concatenate([t.second for t in self.told])
        chances = np.stack(
            [
                np.concatenate([t.first for t in self.told]),
                second * np.exp(-self.step * shifts),
                second * np.exp(-self.step * (shifts + widths)),
            ]
        )
        curve = np.zeros(horizon)
        choices = np.zeros((horizon if keep else 0, len(self.shares), points), np.int16)
        upper_recursion(
            first,
            shifts,
            widths,
            chances,
            self.gaps,
            np.exp(self.log_odds),
            self.shares,
            np.exp(-self.step * np.arange(1, margin + 1)),
            self.start,
            np.zeros((2, points + 2 * margin)),
            np.zeros((6, points)),
            curve,
            choices,
        )
        return self.prior[0] * curve, choices

    def regret(self, decide: Callable[[int, Floats], Ints], horizon: int) -> Floats:
        """Return the Bayes regret, after each play, of a policy without contexts.

        What is carried forward is the probability of θ¹ and each point; that of θ² is it times the
        odds. Whatever leaves the grid is certain of its model.
        """
        points = len(self.log_odds)
        every, odds = np.arange(points), np.exp(self.log_odds)
        moves = []
        for told in self.told:
            to = np.concatenate([told.shifts, told.shifts + told.widths])
            weights = np.concatenate([told.below, told.above])
            after = every + to[:, np.newaxis]
            inside = (after >= 0) & (after < points)
            entries = (np.broadcast_to(weights[:, np.newaxis], after.shape) * inside).ravel()
            places = np.clip(after, 0, points - 1).ravel(), np.tile(every, len(to))
            moves.append(csr_array((entries, places), (points, points)))
        posterior = np.vstack([self.posterior, np.eye(2)])
        mass, lost = np.zeros(points), np.zeros(horizon)
        mass[self.start] = self.prior[0]
        for t in range(1, horizon + 1):
            arms = decide(t, posterior)
            certain = self.prior[0] - mass.sum(), self.prior[1] - mass @ odds
            losses = self.gaps[0, arms[:-2]] + odds * self.gaps[1, arms[:-2]]
            lost[t - 1] = mass @ losses
            lost[t - 1] += certain[0] * self.gaps[0, arms[-2]] + certain[1] * self.gaps[1, arms[-1]]
            mass = sum(
                (move @ np.where(arms[:-2] == arm, mass, 0.0) for arm, move in enumerate(moves)),
                np.zeros(points),
            )
        regret: Floats = lost.cumsum()
        return regret

    def _layout(self, entries: Sequence[int]) -> tuple[int, int, Counts]:
        """Return how many points there are, how wide the margins, and where entries begin."""
        most = [
            max(abs(t.shifts).max(), abs(t.shifts + t.widths).max())
            for t in self.told
            if len(t.shifts)
        ]
        first = np.concatenate([[0], np.cumsum(entries)]).astype(np.int64)
        return len(self.log_odds), int(max(most, default=0)), first

    @cached_property
    def posterior(self) -> Floats:
        """The probabilities of both models at every point, each exact to its last digit."""
        return both(self.log_odds)


def both(log_odds: Floats) -> Floats:
    """Return the probabilities of both models, each exact to its last digit."""
    from scipy.special import expit

    return np.column_stack([expit(-log_odds), expit(log_odds)])


def _merged(shifts: Counts, weights: Floats) -> tuple[Counts, Floats]:
    """Add up the weights of equal shifts."""
    different, places = np.unique(shifts, return_inverse=True)
    return different.astype(np.int64), added_up(places, weights, len(different))
