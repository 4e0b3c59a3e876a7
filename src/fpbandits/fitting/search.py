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
from fpbandits.fitting.em import (
    Fitted,
    Mixture,
    Sample,
    add_type,
    merge_pairs,
    random_starts,
    remove_type,
)

PSEUDO_COUNT = 1.0
"""The pseudo-count while the number of types is being chosen."""

FEW = 20_000
"""The most cells of the sample on which types are restarted."""

SMALL = 12_000
"""The most cells of the sample on which starts are tried."""

ROUNDS = 6
"""The most rounds of removing and adding types."""

_STARTS = 16
"""Starts that climb a few steps."""
_RUNNERS = 6
"""The best of them, which climb on."""
_FINALISTS = 2
"""The best of those, which climb to convergence."""
_MOVES = 12
"""Moves that are tried in a round."""
_MERGES = 30
"""Pairs of types that are merged, at most, when a mixture loses a type."""
_RENEWALS = 12
"""The search ends after this many restarts of a type without a gain."""
_SAME = 0.1
"""Two maxima that differ by less, in nats, are the same."""


def restrict(
    cells: Cells, weights: Floats, estimator: Estimator, pseudo_count: float = PSEUDO_COUNT
) -> Sample:
    """Return a sample of the groups with a weight above 0 alone."""
    return Sample(cells.subset(weights), weights[weights > 0], estimator, pseudo_count)


def subsample(sample: Sample, most: int, random: np.random.Generator) -> Sample:
    """Return a sample of random units with at most ``most`` cells; all if they have no more."""
    lengths = np.diff(sample.cells.starts)
    if lengths.sum() <= most:
        return sample
    order = random.permutation(len(lengths))
    kept = order[: max(1, int(np.searchsorted(np.cumsum(lengths[order]), most)))]
    weights = np.zeros(len(lengths))
    weights[kept] = sample.weights[kept]
    return restrict(sample.cells, weights, sample.estimator, sample.pseudo_count)


def search(
    sample: Sample, types: int, before: Mixture | None, random: np.random.Generator
) -> Fitted:
    """Return the best mixture of many starts: most climb a few steps, a few to convergence.

    ``before`` is a mixture of one type less, from which some starts are grown.
    """
    if types == 1:
        return sample.climb(sample.start(1, random), 60)
    small = subsample(sample, SMALL, random)
    rivals = [
        small.climb(each, 20, 1e-4) for each in random_starts(small, types, before, _STARTS, random)
    ]
    rivals = _best(rivals, _RUNNERS)
    rivals = _best([small.climb(each, 100, 1e-5) for each, _ in rivals], _FINALISTS)
    best = min([sample.climb(each, 600, 1e-6) for each, _ in rivals], key=_value)
    return shake(sample, small, best, random)


def shake(sample: Sample, small: Sample, best: Fitted, random: np.random.Generator) -> Fitted:
    """Try to do better by removing or merging types, adding a new one and climbing again.

    Two types of a mixture may share the units of one true type while a third has those of two: EM
    cannot leave such a local maximum.
    """
    for _ in range(ROUNDS):
        here = small.climb(best.mixture, 30, 1e-5).value
        types = best.mixture.types
        fewer = [remove_type(best.mixture, int(random.integers(types))) for _ in range(_MOVES // 2)]
        fewer += merge_pairs(best.mixture, small, _draw_pairs(types, _MOVES // 2, random))
        moved = [add_type(each, small, random) for each in fewer]
        rivals = _best([small.climb(each, 20, 1e-4) for each in moved], _RUNNERS)
        rival = min([small.climb(each, 60, 1e-5) for each, _ in rivals], key=_value)
        if rival.value <= here:
            break
        rival = sample.climb(rival.mixture, 600, 1e-6)
        if rival.value <= best.value:
            break
        best = rival
    return sample.climb(best.mixture, 600)


def shrink(sample: Sample, best: Fitted, more: Mixture, random: np.random.Generator) -> Fitted:
    """Try to do better from a mixture of one more type: one is removed, or two are merged."""
    small = subsample(sample, SMALL, random)
    here = small.climb(best.mixture, 20, 1e-4).value
    fewer = [remove_type(more, kind) for kind in range(more.types)]
    fewer += merge_pairs(more, small, _draw_pairs(more.types, _MERGES, random))
    rivals = _best([small.climb(each, 20, 1e-4) for each in fewer], _FINALISTS)
    better = [each for each, value in rivals if value > here]
    return min([best, *(sample.climb(each, 600, 1e-6) for each in better)], key=_value)


def renew(sample: Sample, best: Fitted, random: np.random.Generator) -> tuple[Fitted, list[Fitted]]:
    """Try to do better by restarting one type beside the others, rare ones most often.

    A rare type attracts units of others until its parameters are nearly right, so a few steps do
    not tell a good start from a bad one: each climbs to convergence. Return the best, and all
    maxima found on the whole sample.
    """
    part = subsample(sample, FEW, random)
    here = part.climb(best.mixture, 600).value
    ends = [best]
    tried = 0
    while tried < _RENEWALS:
        tried += 1
        rarity = np.exp(-best.mixture.log_shares)
        kind = int(random.choice(best.mixture.types, p=rarity / rarity.sum()))
        parameters = best.mixture.parameters.copy()
        parameters[:, kind] = part.start(1, random).parameters[:, 0]
        rival = part.climb(replace(best.mixture, parameters=parameters), 600)
        higher = rival.value > here + _SAME
        if higher:
            here, rival = rival.value, sample.climb(rival.mixture, 600)
            if rival.value > best.value:
                best, tried = rival, 0
        if higher or part is sample:
            ends.append(rival)
    return best, ends


def _draw_pairs(types: int, most: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Draw at most ``most`` pairs of types."""
    pairs = list(combinations(range(types), 2))
    chosen = random.permutation(len(pairs))[:most]
    return [pairs[index] for index in chosen]


def _best(rivals: list[Fitted], count: int) -> list[Fitted]:
    """Return the ``count`` likeliest, best first."""
    return sorted(rivals, key=_value)[:count]


def _value(rival: Fitted) -> float:
    """Return the key to sort by: the likeliest first, values that are not finite last."""
    return -rival.value if math.isfinite(rival.value) else math.inf
