"""The floor: the least Bayes regret that any policy can have, where there are two models.

With two models the posterior is one number, the log-odds x of the second model. A play of arm i
loses c_i(x) = Σ_θ p(θ)·Δ_i(θ) on average, and its reward moves x. So the least Bayes regret over n
plays solves

    V_0 = 0,      V_n(x) = min_i c_i(x) + E[V_{n−1}(x′)].

V_n is concave in p. On a grid of beliefs, a chord between two neighbours lies below it, so that
the recursion with chords in place of V gives a *lower bound*, which a grid of 0.05 in x makes tight
to some 1e-4. Beyond the last grid points the chord ends at certainty, where nothing is lost.

The same grid evaluates a policy that decides by posterior and time alone: its belief is carried
forward, a new belief being shared out between its neighbours so that the mean of p is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, vstack

from fpbandits.core.arrays import Floats, Ints
from fpbandits.errors import InputError
from fpbandits.problem.problem import Problem

_STEP, _LAST = 0.05, 40.0
"""The distance of the grid's beliefs in log-odds, and the last of them before certainty."""


@dataclass(frozen=True)
class Beliefs:
    """The beliefs of a two-model problem on a grid, and where a play of each arm leads from each.

    Attributes
    ----------
    log_odds
        ln p(θ²)/p(θ¹) of each belief, from −∞ to ∞.
    losses
        [arm, belief]: c_i, the expected loss of one play, in the user's units.
    moves
        For each arm the matrix of the chances of going from one belief to another.
    start
        How the prior is shared out between its neighbours.
    """

    log_odds: Floats
    losses: Floats
    moves: Sequence[csr_array]
    start: Floats

    @classmethod
    def of(cls, problem: Problem) -> Beliefs:
        """Lay the grid for a problem of two models and finitely many outcomes."""
        chances = problem.rewards.chances()
        if len(problem.models) != 2 or problem.contexts or chances is None:
            raise InputError(
                f"{problem.name}: beliefs are laid on a grid for two models, without contexts, "
                "whose rewards have finitely many values"
            )
        inner = np.arange(-_LAST, _LAST + _STEP / 2, _STEP)
        x = np.concatenate([[-np.inf], inner, [np.inf]])
        p = _both(x)
        gaps = problem.means.max(axis=1, keepdims=True) - problem.means
        moves = []
        for arm in range(len(problem.arms)):
            moves.append(csr_array((len(x), len(x))))
            for both in chances[:, arm].T:
                if both.any():
                    moves[-1] = moves[-1] + _shared_out(x, _after(x, both), p @ both)
        prior = problem.prior or (0.5, 0.5)
        begin = _after(np.zeros(1), np.array(prior))
        start: Floats = _shared_out(x, begin, np.ones(1)).toarray()[0]
        return cls(x, (p @ gaps).T, moves, start)


def floor_by_belief(problem: Problem, horizon: int) -> float:
    """Return a lower bound on the Bayes regret of any policy over ``horizon`` plays."""
    beliefs = Beliefs.of(problem)
    moves, value = vstack(beliefs.moves, format="csr"), np.zeros(len(beliefs.log_odds))
    for _ in range(horizon):
        value = (beliefs.losses + (moves @ value).reshape(beliefs.losses.shape)).min(axis=0)
    return float(beliefs.start @ value)


def regret_by_belief(
    problem: Problem, decide: Callable[[int, Floats], Ints], horizon: int
) -> Floats:
    """Return the Bayes regret, after each play, of a policy that decides by posterior and time.

    ``decide(t, posterior)`` gives the arm of decision t = 1, 2, … for each row of ``posterior``,
    which has a column per model.
    """
    beliefs = Beliefs.of(problem)
    posterior, everywhere = _both(beliefs.log_odds), np.arange(len(beliefs.log_odds))
    back = [matrix.T.tocsr() for matrix in beliefs.moves]
    mass, lost = beliefs.start, np.zeros(horizon)
    for t in range(1, horizon + 1):
        arms = decide(t, posterior)
        lost[t - 1] = mass @ beliefs.losses[arms, everywhere]
        mass = sum(
            (matrix @ np.where(arms == arm, mass, 0.0) for arm, matrix in enumerate(back)),
            np.zeros(len(mass)),
        )
    regret: Floats = lost.cumsum()
    return regret


def _both(log_odds: Floats) -> Floats:
    """Return the probabilities of both models, each exact to its last digit."""
    from scipy.special import expit

    both: Floats = np.column_stack([expit(-log_odds), expit(log_odds)])
    return both


def _after(log_odds: Floats, chances: Floats) -> Floats:
    """Return beliefs after a reward that the two models give these chances; certainty stays."""
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = log_odds + (np.log(chances[1]) - np.log(chances[0]))
    return np.where(np.isinf(log_odds), log_odds, moved)


def _shared_out(grid: Floats, beliefs: Floats, mass: Floats) -> csr_array:
    """Return the mass of each belief, shared out between its two neighbours on the grid.

    The shares keep the mean of p.
    """
    upper = np.clip(np.searchsorted(grid, beliefs), 1, len(grid) - 1)
    # Of the two probabilities the smaller has all its digits.
    column = (beliefs < 0).astype(int)
    low, high = _both(grid[upper - 1]), _both(grid[upper])
    rows = np.arange(len(beliefs))
    at, left, right = (each[rows, column] for each in (_both(beliefs), low, high))
    share = np.clip((at - left) / (right - left), 0, 1)
    places = np.concatenate([upper - 1, upper])
    shape = len(beliefs), len(grid)
    shares = np.concatenate([mass * (1 - share), mass * share])
    return csr_array((shares, (np.tile(rows, 2), places)), shape)
