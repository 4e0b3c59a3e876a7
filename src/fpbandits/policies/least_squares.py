"""Greedy least squares, after WAGP (Atan, Tekin, van der Schaar 2015): the honest greedy baseline.

Play the best arm of the model that fits best, θ̂ = argmin_θ Σ_i n_i (μ̂_i − μ_i(θ))², the first of
equals. The original is for a global parameter that every arm identifies, where greedy is enough; a
finite Θ need not be like that, and then it can get stuck for ever. No guarantee is claimed.

The cycle is one arm. It is sure to be repeated if every model with another best arm is sure to fit
worse than the reference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fpbandits.engine.envelope import furthest
from fpbandits.engine.policy import REFERENCE, Plan
from fpbandits.policies.shared.levels import SQUARES, Theta, ThetaPolicy, theta
from fpbandits.policies.shared.likelihood import bracket, stays_best, weigh
from fpbandits.problem.problem import Problem


class LeastSquaresKnown(NamedTuple):
    """Θ by level."""

    theta: Theta


class LeastSquares(ThetaPolicy):
    """The best arm of the model that fits best."""

    name = "least-squares"
    guarantee = "none claimed; it gets stuck where its arm does not tell models apart"

    def prepare(self, problem: Problem) -> LeastSquaresKnown:
        """Sort Θ into levels."""
        return LeastSquaresKnown(theta(problem, SQUARES))

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        reference = weigh(known.theta, tally, scratch)
        scratch.cycle[0] = known.theta.best[0, reference]
        scratch.notes[REFERENCE] = reference
        return 1, furthest(known, tally, envelope, scratch, budget)

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        reference = scratch.notes[REFERENCE]
        bracket(known.theta, envelope, scratch, 1, rounds - 1, reference)
        return stays_best(known.theta, scratch, reference, scratch.cycle[0])
