"""Two models: bounds on the least Bayes regret from below and from above, as plays are added.

A pass goes from no play to the horizon on a few grids (`fpbandits.theory.beliefs`), the later the
coarser. They depend on the problem but not on the horizon, so that the bounds for T plays are the
same in every pass that comes so far, and those from the prior never fall as T grows.

From one grid to the next a lower bound is taken along chords. The policy of a new point is that of
an old point beside it: it loses as much under each model as from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fpbandits.core.arrays import Counts, Floats
from fpbandits.problem.problem import Problem
from fpbandits.theory.beliefs import Beliefs
from fpbandits.theory.ratios import Transitions, add_up
from fpbandits.theory.recursions import lower_recursion, upper_recursion

STAGES = (10**2, 10**3, 10**4, 10**5, 10**6)
"""The numbers of plays up to which the grids are used."""

_SLICE = 3e7
"""Multiplications between two reports of progress: some hundredths of a second."""


class Lower:
    """Lower bounds on the least regret of ``plays`` plays, from every point of a grid.

    They begin with no play, or where those of another grid ended.
    """

    def __init__(self, grid: Beliefs, before: Lower | None = None) -> None:
        merged = [_merge(t) for t in grid.transitions]
        shifts = np.concatenate([own for own, _ in merged])
        points, margin = len(grid.log_odds), grid.margin
        self.plays: int = 0 if before is None else before.plays
        self.multiplications = points * len(shifts)
        self._odds = np.exp(grid.log_odds)
        self._tables = (
            _offsets([len(own) for own, _ in merged]),
            shifts,
            np.concatenate([weights for _, weights in merged]),
            grid.gaps,
            self._odds,
            grid.shares,
            grid.decay,
        )
        padded = np.zeros(points + 2 * margin)
        self._values = padded[margin : margin + points]
        if before is not None:
            self._values[:] = before._at_odds(self._odds)
        self._state = padded, _whole_ranges(grid), np.zeros((grid.gaps.shape[1] + 2, points))

    def advance(self, plays: int) -> None:
        """Add plays until there are so many."""
        lower_recursion(*self._tables, self.plays, plays, *self._state)
        self.plays = plays

    def at(self, log_odds: Floats) -> Floats:
        """Return lower bounds on the least regret from any beliefs."""
        odds = np.exp(log_odds)
        found: Floats = self._at_odds(odds) / (1 + odds)
        return found

    def _at_odds(self, odds: Floats) -> Floats:
        """Return the bounds over p(θ¹). Beyond the grid, chords lead to certainty."""
        points, values = np.append(0.0, self._odds), np.append(0.0, self._values)
        found: Floats = np.interp(odds, points, values)
        return found


class Upper:
    """The regret of the grid's policy over ``plays`` plays, from every point of a grid.

    ``bound`` is its Bayes regret from the prior, or what it was for fewer plays if that was more.
    ``choices``, if it is not empty, is filled with the policy's arms:
    [plays left − 1, context, point].
    """

    def __init__(
        self,
        grid: Beliefs,
        before: Upper | None = None,
        choices: NDArray[np.int16] | None = None,
    ) -> None:
        shifts = np.concatenate([t.shifts for t in grid.transitions])
        widths = np.concatenate([t.widths for t in grid.transitions])
        under_second = np.concatenate([t.under_second for t in grid.transitions])
        chances = np.stack(
            [
                np.concatenate([t.under_first for t in grid.transitions]),
                under_second * np.exp(-grid.step * shifts),
                under_second * np.exp(-grid.step * (shifts + widths)),
            ]
        )
        points, margin = len(grid.log_odds), grid.margin
        self.plays: int = 0 if before is None else before.plays
        self.bound: float = 0.0 if before is None else before.bound
        self.multiplications = 4 * points * len(shifts)
        self._grid = grid
        self._choices = np.zeros((0, 0, 0), np.int16) if choices is None else choices
        self._tables = (
            _offsets([len(t.shifts) for t in grid.transitions]),
            shifts,
            widths,
            chances,
            grid.gaps,
            np.exp(grid.log_odds),
            grid.shares,
            grid.decay,
            grid.start,
        )
        padded = np.zeros((2, points + 2 * margin))
        self._regret = padded[:, margin : margin + points]
        if before is not None:
            self._regret[:] = before._from(grid.log_odds)
        self._state = padded, _whole_ranges(grid), np.zeros((grid.gaps.shape[1] + 6, points))

    def advance(self, plays: int) -> None:
        """Add plays until there are so many."""
        curve = np.zeros(plays - self.plays)
        upper_recursion(*self._tables, self.plays, *self._state, curve, self._choices)
        self.plays = plays
        self.bound = max(self.bound, float(self._grid.prior[0] * curve.max()))

    def _from(self, log_odds: Floats) -> Floats:
        """Return the regret, as the recursion has it, from beliefs that are put beside them."""
        old = self._grid.log_odds
        above = np.searchsorted(old, log_odds)
        beside = np.clip([above - 1, above], 0, len(old) - 1)
        a = self._regret[0, beside]
        b = self._regret[1, beside] * np.exp(log_odds - old[beside])
        better: Floats = np.where(a[0] + b[0] <= a[1] + b[1], (a[0], b[0]), (a[1], b[1]))
        return better


Bound = TypeVar("Bound", Lower, Upper)


def stages(problem: Problem, horizon: int, budget: float) -> list[tuple[int, Beliefs]]:
    """Return the grids of a pass to a horizon, each with the number of plays it is used up to."""
    count = int(np.searchsorted(STAGES, horizon)) + 1
    return [(last, Beliefs.of(problem, last, budget)) for last in STAGES[:count]]


def follow(
    kind: type[Bound],
    grids: Sequence[tuple[int, Beliefs]],
    times: Sequence[int],
    tell: Callable[[float], None],
) -> Iterator[Bound]:
    """Yield the bounds at each of ``times``, which increase, and at the end of every stage before.

    ``tell`` is called with the share of the plays that are done; an error that it raises ends the
    pass.
    """
    before: Bound | None = None
    for last, grid in grids:
        bounds: Bound = kind(grid, before)
        plays = max(1, int(_SLICE / max(1, bounds.multiplications)))
        end = min(last, times[-1])
        own_times: list[int] = [time for time in times if bounds.plays < time < end]
        for stop in [*own_times, end]:
            while bounds.plays < stop:
                bounds.advance(min(stop, bounds.plays + plays))
                tell(bounds.plays / times[-1])
            yield bounds
        before = bounds


def _offsets(entries: Sequence[int]) -> Counts:
    """Return where the entries of each pair begin, and where the last ones end."""
    return np.concatenate([[0], np.cumsum(entries)]).astype(np.int64)


def _whole_ranges(grid: Beliefs) -> Counts:
    """Return ranges in which every pair is tried at every point."""
    ranges = np.zeros((grid.gaps.shape[1], 2), np.int64)
    ranges[:, 1] = len(grid.log_odds)
    return ranges


def _merge(transitions: Transitions) -> tuple[Counts, Floats]:
    """Return the different shifts of all ends of chords, and the sum of the weights of each."""
    shifts, weights = transitions.ends()
    different, indices = np.unique(shifts, return_inverse=True)
    return different.astype(np.int64), add_up(indices, weights, len(different))
