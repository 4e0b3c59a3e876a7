"""Cells: the plays and summed statistics of a unit and a pair; equal cells are kept once.

A pair is an arm, or a context and an arm.

The likelihood of a unit under a type is a sum over its cells, and depends on plays and summed
statistics alone. Rewards of 0 and 1 make few *distinct* cells (a pair, 5 plays, 3 of them paid) and
few distinct *groups* of units (those with the same cells), so work grows with these, not with rows.
With real numbers all are distinct.

A subset of the units (training units, held-out units) is a weight per group: how many of its units
belong to the subset.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fpbandits.core.arrays import Counts, Floats, Ints
from fpbandits.families.estimator import Codes, Estimator
from fpbandits.logs.log import Log

_AT_ONCE = 262_144
"""Rows whose statistics are computed at a time, to save memory."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Distinct cells, and the groups of units that are made of them.

    Attributes
    ----------
    starts, members
        Group g has the distinct cells members[starts[g] : starts[g + 1]].
    group_of
        The group of each unit.
    pair, plays, sums
        Of each distinct cell; sums are [cell, k].
    pairs
        How many pairs there are.
    within
        The sum of squares of the first statistic around the mean of its cell, and its degrees of
        freedom; None where no cell has two rewards, or rewards have one statistic. It makes sense
        for Gaussian rewards, whose second statistic is the square of the first; others ignore it.
    """

    starts: Counts
    members: Codes
    group_of: Codes
    pair: Codes
    plays: Floats
    sums: Floats
    pairs: int
    within: Floats | None

    @property
    def units(self) -> int:
        """How many units there are."""
        return len(self.group_of)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len(self.starts) - 1

    def weights(self, units: Ints | None = None) -> Floats:
        """Return how many of the units with these indices, or of all, are in each group."""
        groups = self.group_of if units is None else self.group_of[units]
        return np.bincount(groups, minlength=self.groups).astype(np.float64)

    def totals(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return plays [pair] and sums [pair, k] as if group g had ``weights[g]`` units."""
        by_member = np.repeat(weights, np.diff(self.starts))
        times = np.bincount(self.members, by_member, len(self.pair))
        plays = np.bincount(self.pair, times * self.plays, self.pairs)
        sums = [np.bincount(self.pair, times * column, self.pairs) for column in self.sums.T]
        return plays.astype(np.float64), np.stack(sums, axis=1)

    def subset(self, weights: Floats) -> Cells:
        """Return only the groups with a weight above 0, in order.

        Each counts as one unit, so use them with ``weights[weights > 0]``. ``within`` stays that of
        all units.
        """
        chosen, lengths = weights > 0, np.diff(self.starts)
        cells, members = np.unique(self.members[np.repeat(chosen, lengths)], return_inverse=True)
        return Cells(
            np.concatenate([[0], np.cumsum(lengths[chosen])]),
            members.astype(np.int32),
            np.arange(chosen.sum(), dtype=np.int32),
            self.pair[cells],
            self.plays[cells],
            self.sums[cells],
            self.pairs,
            self.within,
        )


def cells_of(log: Log, estimator: Estimator) -> Cells:
    """Add up the rows of a log into cells, and merge equal ones."""
    pairs = log.pairs
    keys = log.unit.astype(np.int64) * pairs + log.pair
    key_of_cell, cell = np.unique(keys, return_inverse=True)
    del keys
    unit, pair = np.divmod(key_of_cell, pairs)  # a unit's cells are in the order of pairs
    plays = np.bincount(cell, minlength=len(key_of_cell)).astype(np.float64)
    sums = np.zeros((len(key_of_cell), estimator.statistics))
    for start in range(0, len(cell), _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        np.add.at(sums, cell[rows], estimator.statistics_of(log.reward[rows]))
    lengths = np.bincount(unit, minlength=len(log.units))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    within = None
    freedom = float((plays - 1).sum())
    if freedom > 0 and estimator.statistics > 1:
        squares = sums[:, 1] - sums[:, 0] ** 2 / plays
        within = np.array([float(squares.sum()), freedom])
    if not estimator.integer:
        members, group_of = np.arange(len(pair)), np.arange(len(log.units))
    else:
        first, members = _distinct_rows([pair, plays.astype(np.int64), *sums.T.astype(np.int64)])
        pair, plays, sums = pair[first], plays[first], sums[first]
        leaders, group_of = _group_units(starts, members)
        # Keep the leaders' cells only, one group after the other.
        lengths, starts_before = lengths[leaders], starts[leaders]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        positions = np.repeat(starts_before - starts[:-1], lengths) + np.arange(lengths.sum())
        members = members[positions]
    return Cells(
        starts,
        members.astype(np.int32),
        group_of.astype(np.int32),
        pair.astype(np.int32),
        plays,
        sums,
        pairs,
        within,
    )


def _distinct_rows(columns: list[Counts]) -> tuple[Counts, Counts]:
    """Return the first row of each kind of equal rows, and the kind of every row."""
    order = np.lexsort(columns[::-1])
    changes = np.logical_or.reduce([np.diff(column[order]) != 0 for column in columns])
    new = np.concatenate([[True], changes])
    kind = np.empty(len(order), np.int64)
    kind[order] = np.cumsum(new) - 1
    return order[new], kind


def _group_units(starts: Counts, members: Counts) -> tuple[Counts, Counts]:
    """Return a unit of each group, its leader, and the group of every unit.

    Every unit has a cell. Units with the same cells have the same members in the same order.
    """
    lengths = np.diff(starts)
    group_of = np.empty(len(lengths), np.int64)
    leaders: list[Counts] = []
    groups = 0
    for length in np.unique(lengths):
        units = np.flatnonzero(lengths == length)
        first, kind = _distinct_rows([members[starts[units] + offset] for offset in range(length)])
        leaders.append(units[first])
        group_of[units] = groups + kind
        groups += len(first)
    return np.concatenate(leaders), group_of
