"""The search for the likeliest mixture of a given number of types, from many starts.

EM may end at a local maximum. So many starts climb a few steps on a small sample, and the best of
them to convergence on all units; then types are removed, merged and restarted until no move does
better.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.families.estimator import Estimator
from fpbandits.fitting.cells import Cells
from fpbandits.fitting.em import Mixture, Sample, grown, merged, starts, without

PSEUDO_COUNT = 1.0
"""The pseudo-count while the number of types is being chosen."""

FEW, SMALL = 20_000, 12_000
"""The sizes, in cells, of the samples on which types are restarted, and starts are tried."""

ROUNDS = 6
"""The most rounds of removing and adding types."""

END = 1e-7
"""The tolerance of a climb to convergence."""

_STARTS, _RUNNERS, _FINALISTS = 16, 6, 2
"""How many starts are made, go on, and go on to convergence."""
_MOVES, _MERGES = 12, 30
"""How many moves are tried in a round, and how many pairs of types are merged."""
_RENEWALS = 12
"""The search ends after this many restarts of a type without a gain."""
_SAME = 0.1
"""Two maxima that differ by less, in nats, are the same."""

Found = tuple[Mixture, float]
"""A mixture and its penalised log-likelihood."""


def part_of(
    cells: Cells, weights: Floats, estimator: Estimator, pseudo_count: float = PSEUDO_COUNT
) -> Sample:
    """Return a sample of the units that have a weight."""
    return Sample(cells.parts(weights), weights[weights > 0], estimator, pseudo_count)


def some_of(sample: Sample, most: int, random: np.random.Generator) -> Sample:
    """Return a sample of some units, ``most`` cells of them at the most, or all if they are few."""
    lengths = np.diff(sample.cells.starts)
    if lengths.sum() <= most:
        return sample
    order = random.permutation(len(lengths))
    kept = order[: max(1, int(np.searchsorted(np.cumsum(lengths[order]), most)))]
    weights = np.zeros(len(lengths))
    weights[kept] = sample.weights[kept]
    return part_of(sample.cells, weights, sample.estimator, sample.pseudo_count)


def search(
    sample: Sample, types: int, before: Mixture | None, random: np.random.Generator
) -> Found:
    """Return the best mixture of many starts: most climb a few steps, a few to convergence.

    ``before`` is a mixture of one type less, from which some starts are grown.
    """
    if types == 1:
        return sample.climb(sample.start(1, random), 60)
    small = some_of(sample, SMALL, random)
    rivals = [small.climb(each, 20, 1e-4) for each in starts(small, types, before, _STARTS, random)]
    rivals = _best(rivals, _RUNNERS)
    rivals = _best([small.climb(each, 100, 1e-5) for each, _ in rivals], _FINALISTS)
    best = _best([sample.climb(each, 600, 1e-6) for each, _ in rivals], 1)[0]
    return shaken(sample, small, best, random)


def shaken(sample: Sample, small: Sample, best: Found, random: np.random.Generator) -> Found:
    """Try to do better by removing or merging types, adding a new one and climbing again.

    Two types of a mixture may share the units of one true type while a third has those of two: EM
    cannot leave such a local maximum.
    """
    for _ in range(ROUNDS):
        here = small.climb(best[0], 30, 1e-5)[1]
        types = best[0].types
        fewer = [without(best[0], int(random.integers(types))) for _ in range(_MOVES // 2)]
        fewer += merged(best[0], small, _some_pairs(types, _MOVES // 2, random))
        moved = [grown(each, small, random) for each in fewer]
        rivals = _best([small.climb(each, 20, 1e-4) for each in moved], _RUNNERS)
        rival = _best([small.climb(each, 60, 1e-5) for each, _ in rivals], 1)[0]
        if rival[1] <= here:
            break
        rival = sample.climb(rival[0], 600, 1e-6)
        if rival[1] <= best[1]:
            break
        best = rival
    return sample.climb(best[0], 600)


def shrunk(sample: Sample, best: Found, more: Mixture, random: np.random.Generator) -> Found:
    """Try to do better from a mixture of one more type: one is removed, or two are merged."""
    small = some_of(sample, SMALL, random)
    here = small.climb(best[0], 20, 1e-4)[1]
    fewer = [without(more, kind) for kind in range(more.types)]
    fewer += merged(more, small, _some_pairs(more.types, _MERGES, random))
    rivals = _best([small.climb(each, 20, 1e-4) for each in fewer], _FINALISTS)
    better = [each for each, value in rivals if value > here]
    return _best([best, *(sample.climb(each, 600, 1e-6) for each in better)], 1)[0]


def renewed(sample: Sample, best: Found, random: np.random.Generator) -> tuple[Found, list[Found]]:
    """Try to do better by restarting one type beside the others, rare ones most often.

    A rare type attracts units of others until its parameters are nearly right, so a few steps do
    not tell a good start from a bad one: each climbs to convergence. Return the best, and all
    maxima found on the whole sample.
    """
    some = some_of(sample, FEW, random)
    here = some.climb(best[0], 600, END)[1]
    ends = [best]
    tried = 0
    while tried < _RENEWALS:
        tried += 1
        rarity = np.exp(-best[0].log_shares)
        kind = int(random.choice(best[0].types, p=rarity / rarity.sum()))
        parameters = best[0].parameters.copy()
        parameters[:, kind] = some.start(1, random).parameters[:, 0]
        rival = some.climb(replace(best[0], parameters=parameters), 600, END)
        higher = rival[1] > here + _SAME
        if higher:
            here, rival = rival[1], sample.climb(rival[0], 600, END)
            if rival[1] > best[1]:
                best, tried = rival, 0
        if higher or some is sample:
            ends.append(rival)
    return best, ends


def _some_pairs(types: int, most: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Return some pairs of types, or all if they are few."""
    pairs = list(combinations(range(types), 2))
    chosen = random.permutation(len(pairs))[:most]
    return [pairs[place] for place in chosen]


def _best(rivals: list[Found], count: int) -> list[Found]:
    """Return the likeliest of them, best first; what is not finite comes last."""
    return sorted(rivals, key=_value)[:count]


def _value(rival: Found) -> float:
    return -rival[1] if math.isfinite(rival[1]) else math.inf
