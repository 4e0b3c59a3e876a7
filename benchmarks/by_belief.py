"""The Bayes regret of a policy that decides by posterior and time, with two models.

It is computed on the grid of beliefs of `fpbandits.theory.beliefs`: nothing is simulated.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit

from fpbandits import InputError, Problem
from fpbandits.core.arrays import Floats, Ints
from fpbandits.theory.beliefs import Beliefs

MOST_POINTS = 5_000
"""Points of the grid that a policy is evaluated on, at every play."""


def posterior(grid: Beliefs) -> Floats:
    """Return the probabilities of both models at every point, each exact to its last digit."""
    return np.column_stack([expit(-grid.log_odds), expit(grid.log_odds)])


def regret_by_belief(
    problem: Problem, decide: Callable[[int, Floats], Ints], horizon: int
) -> Floats:
    """Return the Bayes regret, after each play, of a policy without contexts.

    ``decide(t, posterior)`` returns the arm of decision t = 1, 2, … for each row of ``posterior``,
    which has a column per model: the points of the grid, then certainty of θ¹ and certainty of θ².
    The probability of a belief between two points is shared between them so that the mean posterior
    is kept. What leaves the grid is certain of its model.
    """
    if len(problem.models) != 2 or problem.contexts:
        raise InputError(f"{problem.name}: beliefs are one number for two models without contexts")
    grid = Beliefs.of(problem, horizon, budget=math.inf, most_points=MOST_POINTS)
    points = len(grid.log_odds)
    origins, odds = np.arange(points), np.exp(grid.log_odds)
    moves = []
    for t in grid.transitions:
        shifts, weights = t.ends()
        after = origins + shifts[:, np.newaxis]
        inside = (after >= 0) & (after < points)
        entries = (np.broadcast_to(weights[:, np.newaxis], after.shape) * inside).ravel()
        indices = np.clip(after, 0, points - 1).ravel(), np.tile(origins, len(shifts))
        moves.append(csr_array((entries, indices), (points, points)))
    beliefs = np.vstack([posterior(grid), np.eye(2)])
    # The joint probability of θ¹ and each point; that of θ² is this times the odds.
    mass, lost = np.zeros(points), np.zeros(horizon)
    mass[grid.start] = grid.prior[0]
    for play in range(1, horizon + 1):
        arms = decide(play, beliefs)
        certain = grid.prior[0] - mass.sum(), grid.prior[1] - mass @ odds
        losses = grid.gaps[0, arms[:-2]] + odds * grid.gaps[1, arms[:-2]]
        first, second = grid.gaps[0, arms[-2]], grid.gaps[1, arms[-1]]
        lost[play - 1] = mass @ losses + (certain[0] * first + certain[1] * second)
        mass = sum(
            (move @ np.where(arms[:-2] == arm, mass, 0.0) for arm, move in enumerate(moves)),
            np.zeros(points),
        )
    regret: Floats = lost.cumsum()
    return regret
