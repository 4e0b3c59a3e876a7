"""Θ by level, for policies that look at every model.

An arm's means take few distinct values as a rule, its *levels*: what depends on an arm's mean is
computed once per level, and looked up for every model.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fpbandits.arrays import Bools, Counts, Floats
from fpbandits.policies.base import Policy
from fpbandits.problem import Problem
from fpbandits.theory.structure import Structure

LIKELIHOOD, SQUARES = 0, 1
"""What a misfit is made of; see `fpbandits.policies.likelihood`."""

NOW, LOW, HIGH = range(3)
"""Rows of scratch space by model and by level: a number, and how low and how high it can get."""

IMPOSSIBLE = 1e250
"""The cost of a reward that a model rules out: beyond all others, but finite, as 0 · ∞ is not."""


class Theta(NamedTuple):
    """Θ by level.

    Attributes
    ----------
    kind
        `LIKELIHOOD` or `SQUARES`.
    best, top, is_best
        a*(θ) and its mean for every θ; which arms are best under it, is_best[arm, θ].
    codes
        codes[arm, θ]: which level of the arm's means.
    levels, counts
        levels[arm, level], and how many each arm has.
    win, loss
        [arm, level]: what a reward of 1, and one of 0, costs.
    """

    kind: int
    best: Counts
    top: Floats
    is_best: Bools
    codes: NDArray[np.int32]
    levels: Floats
    counts: Counts
    win: Floats
    loss: Floats


def theta(problem: Problem, kind: int = LIKELIHOOD) -> Theta:
    """Sort the means of Θ into levels."""
    structure = Structure(problem)
    means = structure.means
    found = [np.unique(column, return_inverse=True) for column in means.T]
    counts = np.array([len(levels) for levels, _ in found], np.int64)
    table = np.full((len(found), counts.max()), 0.5)
    for row, (levels, _) in zip(table, found, strict=True):
        row[: len(levels)] = levels
    if kind == SQUARES:
        win, loss = (1 - table) ** 2, table**2
    else:
        with np.errstate(divide="ignore"):
            win = np.minimum(-np.log(table), IMPOSSIBLE)
            loss = np.minimum(-np.log1p(-table), IMPOSSIBLE)
    everyone = np.arange(len(means))
    return Theta(
        kind=kind,
        best=structure.best_arm.astype(np.int64),
        top=means[everyone, structure.best_arm].copy(),
        is_best=np.ascontiguousarray(structure.best_arms.T),
        codes=np.array([codes.reshape(-1) for _, codes in found], np.int32),
        levels=table,
        counts=counts,
        win=win,
        loss=loss,
    )


class ThetaPolicy(Policy):
    """A policy that prepares a `Theta`, under that name."""

    knows = "Θ: the mean of every arm under every parameter"
    known_type: ClassVar[Any]
    """A named tuple, of a type of its own: a `Theta`, and the policy's options."""

    def prepare(self, problem: Problem) -> Any:
        return self.known_type(theta(problem), *vars(self).values())

    def room(self, known: Any) -> tuple[int, int]:
        """Make room for every model and level."""
        return known.theta.codes.shape[1], known.theta.levels.shape[1]
