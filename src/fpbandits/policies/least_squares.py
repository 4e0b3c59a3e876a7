"""Greedy least squares, after WAGP (Atan, Tekin, van der Schaar 2015): the honest greedy baseline.

Play the best arm of the model that fits best, θ̂ = argmin_θ Σ_i n_i (μ̂_i − μ_i(θ))², the first of
equals. The original is for a global parameter that every arm identifies, where greedy is enough; a
finite Θ need not be like that, and then it can get stuck for ever. No guarantee is claimed.

The cycle is one arm. It is sure to be repeated if every model with another best arm is sure to fit
worse than the reference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from fpbandits.policies.base import (
    add_to_tally,
    furthest,
    implement,
    observe,
    plan,
    repeats,
)
from fpbandits.policies.likelihood import (
    SQUARES,
    Theta,
    ThetaPolicy,
    bracket,
    stays_best,
    theta,
    weigh,
)
from fpbandits.problem import Problem


class LeastSquaresModel(NamedTuple):
    """Θ by level."""

    theta: Theta


@dataclass(frozen=True)
class LeastSquares(ThetaPolicy):
    """The best arm of the model that fits best."""

    name = "least-squares"
    guarantee = "none claimed; it gets stuck where its arm does not tell models apart"
    leaps = True

    def model(self, problem: Problem) -> LeastSquaresModel:
        """Sort Θ into levels."""
        return LeastSquaresModel(theta(problem, SQUARES))


@implement(plan, LeastSquaresModel)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    reference = weigh(model.theta, tally, desk)
    desk.cycle[0] = model.theta.best[reference]
    desk.counts[0, 0] = reference
    return 1, furthest(model, tally, envelope, desk, budget)


@implement(repeats, LeastSquaresModel)
def _repeats(model: Any, tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    reference = desk.counts[0, 0]
    bracket(model.theta, tally, envelope, desk, 1, rounds - 1, reference)
    return stays_best(model.theta, desk, reference, desk.cycle[0])


@implement(observe, LeastSquaresModel)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    add_to_tally(tally, arm, plays, total)
