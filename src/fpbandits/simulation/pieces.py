"""Pieces of work, and the tables that they are put together in.

Runs are played in *pieces*, some runs of one cell each, by whoever has time, in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from fpbandits.arrays import Counts
from fpbandits.simulation.cell import Cell


class Piece(NamedTuple):
    """The runs from ``start`` up to ``stop`` of a cell, by its number."""

    cell: int
    start: int
    stop: int

    @property
    def runs(self) -> int:
        """How many runs these are."""
        return self.stop - self.start


class Played(NamedTuple):
    """What came of a piece: pulls[run, time, arm] and plans[run]."""

    piece: Piece
    pulls: Counts
    plans: Counts


class Tables:
    """Counts of all runs of some cells: pulls[cell][run, time, arm] and plans[cell][run]."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        self.pulls = [
            np.zeros((cell.runs, len(cell.times), len(cell.problem.arms)), np.int64)
            for cell in cells
        ]
        self.plans = [np.zeros(len(pulls), np.int64) for pulls in self.pulls]
        self.total = sum(map(len, self.plans))

    def put(self, played: Played) -> None:
        """Put runs in their place; those beyond what is asked for are left out."""
        cell, start, stop = played.piece
        room = len(self.plans[cell]) - start
        self.pulls[cell][start:stop] = played.pulls[: max(room, 0)]
        self.plans[cell][start:stop] = played.plans[: max(room, 0)]

    def missing(self) -> Iterator[Piece]:
        """Yield the pieces that have not been put in: a run takes a plan at least."""
        for cell, plans in enumerate(self.plans):
            if plans.all():
                continue
            edges = np.flatnonzero(np.diff(plans == 0, prepend=False, append=False))
            for start, stop in edges.reshape(-1, 2).tolist():
                yield Piece(cell, start, stop)
