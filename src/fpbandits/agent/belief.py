"""What an agent believes: which arm is best, what others lose, and when it may stop.

**Best arm.** Under a posterior p, arm i is best with probability Σ p(θ) over the models θ under
which it is best, and is expected to lose Σ_θ p(θ)·Δ_i(θ) per play.

**Verdict.** The truth is ever ruled out with probability at most ``error``; see
`fpbandits.theory.ruling_out`. Unless it is, an arm that is best under all models that are left is
best under the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fpbandits.core.arrays import TOLERANCE, Bools, Floats
from fpbandits.problem.problem import Problem
from fpbandits.theory.ruling_out import is_ruled_out

_EQUAL = 1e-12
"""Probabilities that differ by no more than this are equal: they are sums, and rounded."""


@dataclass(frozen=True, slots=True)
class Belief:
    """The arm that is most likely best.

    Attributes
    ----------
    arm
        Its name.
    probability
        How likely it is best.
    loss
        What playing it for good is expected to lose per play, in the user's units.
    """

    arm: str
    probability: float
    loss: float

    def __repr__(self) -> str:
        return f"Belief(arm={self.arm!r}, probability={self.probability:.4g}, loss={self.loss:.4g})"


@lru_cache(maxsize=32)
def gaps(problem: Problem) -> Floats:
    """Return Δ_i(θ) in the user's units, [model, context, arm]; 0 for all best arms that tie."""
    means = problem.rewards.unit_means
    return _gaps_of(problem, means.reshape(len(means), -1, len(problem.arms)))


def _gaps_of(problem: Problem, means: Floats) -> Floats:
    below: Floats = means.max(axis=-1, keepdims=True) - means
    return problem.rewards.width * np.where(below <= TOLERANCE, 0.0, below)


def chances_and_losses(
    problem: Problem, posterior: Floats, context: int, among: Sequence[int] | None = None
) -> tuple[Floats, Floats]:
    """Return how likely each arm is best in a context, and what it is expected to lose.

    ``among`` are the eligible arms, if not all are: only these are compared and returned.
    """
    here = gaps(problem)[:, context]
    if among is not None:
        pairs = context * len(problem.arms) + np.array(among)
        here = _gaps_of(problem, problem.rewards.unit_means[:, pairs])
    return posterior @ (here == 0), posterior @ here


def best_arm(problem: Problem, posterior: Floats, context: int) -> Belief:
    """Return the arm most likely best in a context; of equally likely ones, that of least loss."""
    chances, losses = chances_and_losses(problem, posterior, context)
    likeliest = np.flatnonzero(chances >= chances.max() - _EQUAL)
    arm = int(likeliest[losses[likeliest].argmin()])
    return Belief(problem.arms[arm], min(float(chances[arm]), 1.0), float(losses[arm]))


def not_ruled_out(posterior: Floats, prior: Floats, error: float) -> Bools:
    """Tell of each model whether it is left, by `fpbandits.theory.ruling_out`."""
    ruled_out = is_ruled_out(posterior, posterior.sum() - posterior, prior, error)
    return np.asarray(~ruled_out)


def verdict(problem: Problem, posterior: Floats, context: int, error: float) -> str | None:
    """Return the first arm that is best in a context under every model left; None if none is."""
    left = not_ruled_out(posterior, problem.weights.prior, error)
    best = np.flatnonzero((gaps(problem)[left, context] == 0).all(axis=0))
    return problem.arms[int(best[0])] if len(best) else None
