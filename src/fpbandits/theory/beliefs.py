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

**From above.** A policy may replace its belief by a point of the grid after every reward. If a and
b are its regret under θ¹ and θ² from a point of the grid, it loses exactly p(θ¹)·a + p(θ²)·b from
any belief p that it replaces by this point. So the recursion keeps a and b of every point, and
replaces a belief by that of the two points beside it whose policy loses less.

Both are proven, up to the rounding of sums. Both differ from V by terms of the square of the grid's
step, which is chosen as small as a budget of arithmetic allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.problem.problem import Problem
from fpbandits.theory.ratios import COARSEST, FINEST, Atoms, Transitions, log_ratio
from fpbandits.theory.structure import gaps_by_pair

BUDGET = 2e8
"""Multiplications that a lower bound may take up to the horizon of a grid, if one arm is tried in
each context; with the upper bound they take some tenths of a second. Continuous rewards may take
four times as many, and models that are hard to tell apart ten times."""

_BEYOND = 16.0
"""The grid ends where the odds are e^16·max(1, T·min(d², 1)), with d the largest deviation of ℓ. At
that belief T plays lose e^−16/d² times the largest gap on average, and so much is the error of a
chord from there to certainty; it takes some 1/d² plays to tell the models apart."""

_ENOUGH_VARIANCE = 0.01
"""The variance that chords may add to ℓ, as a fraction of its second moment and summed over pairs,
where models are hard to tell apart. The bracket is then narrower than one per cent."""


@dataclass(frozen=True)
class Beliefs:
    """A grid of beliefs about two models, and where a play of each pair leads.

    Attributes
    ----------
    step, start
        The distance between neighbouring log-odds, and the index of the prior's point.
    log_odds
        The points of the grid.
    prior
        p(θ¹) and p(θ²) before the first play.
    gaps
        [model, pair]: what one play loses, in the user's units.
    shares
        The probability of each context.
    transitions
        Where one play of each pair moves the log-odds.
    """

    step: float
    start: int
    log_odds: Floats
    prior: Floats
    gaps: Floats
    shares: Floats
    transitions: tuple[Transitions, ...]

    @classmethod
    def of(
        cls,
        problem: Problem,
        horizon: int,
        budget: float = BUDGET,
        most_points: float = math.inf,
    ) -> Beliefs:
        """Lay the finest grid that a horizon and a budget of multiplications allow."""
        prior = np.array(problem.prior or (0.5, 0.5))
        ratios = [log_ratio(problem.rewards, pair) for pair in range(problem.pairs)]
        atoms = [ratio for ratio in ratios if isinstance(ratio, Atoms)]
        deviation = max(ratio.deviation for ratio in ratios)
        at = math.log(prior[1]) - math.log(prior[0])
        end = math.log(max(horizon * min(deviation**2, 1), 1)) + _BEYOND

        def affordable_step(multiplications: float) -> float:
            """Return the finest step that needs no more, or the coarsest if all need more."""
            for step in np.geomspace(FINEST, COARSEST, 60):
                weights = sum(ratio.count_weights(step) for ratio in ratios) / len(problem.arms)
                points = 2 * end / step
                if points <= most_points and points * weights * horizon <= multiplications:
                    break
            return float(step)

        step = affordable_step(budget * (1 if len(atoms) == len(ratios) else 4))
        # A belief that moves by less than half a step would be put back to where it was.
        fine_enough = deviation / 4
        hard = 0 < fine_enough < step
        if hard:
            step = max(fine_enough, affordable_step(10 * min(budget, BUDGET)))
        if len(atoms) == len(ratios):
            # A longer step may put points of the grid where rewards lead. Of those that add about
            # as little variance as the best one, the longest takes least time.
            fitting = [
                step * np.geomspace(1, 4, 600),
                *(atom.fitting_steps(step) for atom in atoms),
            ]
            steps = np.sort(np.concatenate(fitting))
            added = np.sum([atom.added_variance(steps) for atom in atoms], axis=0)
            enough = max(1.05 * added.min(), _ENOUGH_VARIANCE if hard else 1e-9)
            step = float(steps[added <= enough][-1])
        below = math.ceil(max(end + at, 0) / step) + 1
        above = math.ceil(max(end - at, 0) / step) + 1
        log_odds = np.arange(-below, above + 1.0) * step + at
        gaps = gaps_by_pair(problem)
        transitions = tuple(ratio.transitions(step, len(log_odds)) for ratio in ratios)
        shares = np.array(problem.shares or (1.0,))
        return cls(step, below, log_odds, prior, gaps, shares, transitions)

    @cached_property
    def margin(self) -> int:
        """The largest shift of a play, in points of the grid."""
        ends = [t.ends()[0] for t in self.transitions]
        return int(np.abs(np.concatenate(ends)).max(initial=0))

    @cached_property
    def decay(self) -> Floats:
        """By which factors the odds fall over 1, 2, … points of a margin."""
        factors: Floats = np.exp(-self.step * np.arange(1, self.margin + 1))
        return factors
