"""A truth that moves from play to play, by a chain of known probabilities.

Let P(θ, φ) be the probability that the truth moves from θ to φ between a play and the next. The
belief b_t in the truth of play t, before its reward, is the filter of a hidden Markov chain:

    b_1 = π,    b_{t+1}(φ) = Σ_θ b_t(θ)·P_{i_t}(r_t; θ)·P(θ, φ) / Σ_θ b_t(θ)·P_{i_t}(r_t; θ),

π the prior. A play whose reward never comes has no factor P_{i_t}(r_t; θ).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fpbandits.core.arrays import Floats, Ints
from fpbandits.core.shares import Transitions
from fpbandits.errors import ConflictError
from fpbandits.families.information import IMPOSSIBLE

if TYPE_CHECKING:
    from fpbandits.problem.problem import Problem

_MANY = 50
"""For more plays than this times the models, a power of the matrix is faster."""

SLOWEST = 1e-12
"""The least rate of forgetting, in place of 0: some chains never forget where they began."""


class Filter:
    """The belief in a truth that moves; rewards are counted in the order of plays.

    Attributes
    ----------
    play
        The play whose truth `belief` is about, from 0 on.
    belief
        How likely each model is the truth of that play, by the rewards counted so far.
    """

    __slots__ = ("_weights", "belief", "play")

    def __init__(self, problem: Problem, play: int = 0, belief: Floats | None = None) -> None:
        self._weights, self.play = problem.weights, play
        self.belief: Floats = self._weights.prior if belief is None else belief

    def count(self, play: int, pair: int, reward: float, statistics: tuple[float, ...]) -> None:
        """Take in the reward of a play, on [0, 1], and its statistics."""
        belief, cost = self.at(play), self._weights.cost_of(pair, reward, statistics)
        cost = np.where(belief > 0, cost, IMPOSSIBLE)
        least = cost.min()
        if least >= 1e-12 * IMPOSSIBLE:  # a reward between 0 and 1 counts as a part of a 1
            raise ConflictError(
                "there is no posterior: no model that the truth may have moved to allows the "
                "rewards, so the models or the transitions are wrong"
            )
        weights = belief * np.exp(least - cost)
        self.play, self.belief = play, weights / weights.sum()

    def move_back(self) -> None:
        """Date all that was counted one play earlier: history comes before play 0."""
        self.play -= 1

    def move_to(self, play: int) -> None:
        """Date the belief at a play whose reward says nothing."""
        self.play, self.belief = play, self.at(play)

    def at(self, play: int) -> Floats:
        """Return the belief in the truth of this play or a later one."""
        belief, moves, plays = self.belief, self._weights.moves, play - self.play
        if plays > _MANY * len(belief):
            belief, plays = belief @ np.linalg.matrix_power(moves, plays), 0
        for _ in range(plays):
            belief = belief @ moves
        total: float = belief.sum()  # 1, but for rounding
        return belief / total


def filter_of(saved: Any, problem: Problem, plays: int) -> Filter:
    """Return the filter with this play and belief; ValueError if there can be none.

    ``plays`` is how many plays were made.
    """
    play, belief = int(saved[0]), np.array(saved[1], np.float64)
    if not -1 <= play <= plays:
        raise ValueError("a belief is about a play that was never made")
    if belief.shape != (len(problem.models),) or not belief.min() >= 0:
        raise ValueError("a belief has no number for every model")
    if abs(belief.sum() - 1) > 1e-6:
        raise ValueError("a belief does not add up to 1")
    return Filter(problem, play, belief)


def forgetting_rate(problem: Problem) -> float:
    """Return 1 − |λ|, λ the chain's eigenvalue of second largest size: how fast its past fades.

    If with probability h the truth is drawn anew from the prior, it is h.
    """
    sizes = np.sort(np.abs(np.linalg.eigvals(np.array(problem.transitions))))
    return max(1 - float(sizes[-2]), SLOWEST) if len(sizes) > 1 else SLOWEST


def reordered_transitions(transitions: Transitions | None, models: Ints) -> Transitions | None:
    """Return the chain with models in another order."""
    if transitions is None:
        return None
    return tuple(tuple(transitions[row][column] for column in models) for row in models)


def refuse_moving(problem: Problem, what: str) -> None:
    """Raise an error if the truth of a problem moves: ``what`` is for a truth that stays."""
    if problem.transitions is not None:
        raise ConflictError(
            f"the truth of {problem.name} moves by its transitions, and {what} is for a truth that "
            "stays: leave out transitions, or simulate it",
            about=("transitions",),
        )
