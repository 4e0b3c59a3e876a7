"""How many types: by the likelihood of units held out. How far thin cells are pulled: by their own.

Units, not rows, are held out: a unit's rows share its type. For T = 1, 2, … a mixture is found on
the other units, and the held-out ones are scored, unit by unit. More types than there are fit noise
and score no better; two mixtures are compared by the differences of the same units, whose standard
error says what is noise. The choice is the smallest T within two standard errors of the best: with
one, a type too many is found in some logs of few units. A rare type may hide in that noise. BIC,
from a fit to all units, sees it: if it asks for more types, and they score no worse on the units
held out, it has its way.

Few units are split into folds, each held out in turn; the search is made on the first, and others
go on from what it found, to the end: what it knew of their held-out units must be forgotten. Many
are split once. Of very many only some are looked at, as many as the work allows; the final fit has
all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from fpbandits.arrays import Counts, Floats
from fpbandits.errors import counted
from fpbandits.families.estimator import Estimator
from fpbandits.fitting.cells import Cells
from fpbandits.fitting.em import Mixture, Sample, grown, merged, starts, without
from fpbandits.log_sources import Progress

MOST_TYPES = 40
"""Where the search for more types ends."""

_STRENGTH = 1.0
"""How far cells are pulled while the number of types is sought."""
_WEAKEST, _STRONGEST = 0.1, 1e4
_HELD_OUT = 4
"""One unit in so many is held out."""
_CLEARLY = 2.0
"""So many standard errors are no noise."""
_PATIENCE = 2
"""So many more types are tried after the best."""
_FEW, _MANY, _SMALL = 30_000, 250_000, 12_000
"""Cells of units: for folds in turn; at most to choose by; to try starts on."""
_STARTS, _RUNNERS, _FINALISTS = 24, 6, 2
"""How many starts are made, go on, and go to the end."""
_ROUNDS, _MOVES, _MERGES = 6, 12, 50
"""How often a mixture is shaken, in how many ways, and how many pairs of types are merged."""

Found = tuple[Mixture, float]
"""A mixture and its penalised log-likelihood."""
Scores = tuple[Floats, Floats]
"""The log-likelihood of a held-out unit of each group, and how many such units there are."""


@dataclass(frozen=True)
class Choice:
    """What was tried, and what was found.

    Attributes
    ----------
    held_out
        The log-likelihood of a held-out reward, by the number of types.
    bic
        −2 ln L + ln(units) · free numbers, of all units, by the number of types.
    strength
        How many rewards of the pooled law stand beside those of each type and pair.
    types
        How many there are.
    """

    held_out: dict[int, float]
    bic: dict[int, float]
    strength: float
    types: int


class _Split:
    """Units to learn from and units held out."""

    def __init__(self, cells: Cells, learn: Counts, held: Counts, estimator: Estimator) -> None:
        self.sample = part_of(cells, cells.weights(learn), estimator)
        weights = cells.weights(held)
        self.held = part_of(cells, weights, estimator)
        self.best: dict[int, Found] = {}

    def scores(self, mixture: Mixture) -> Scores:
        """Return the log-likelihood of a held-out unit of each group, and how many there are."""
        return self.held.likelihoods(mixture), self.held.weights


def part_of(
    cells: Cells, weights: Floats, estimator: Estimator, strength: float = _STRENGTH
) -> Sample:
    """Return a sample of the units that have a weight."""
    return Sample(cells.parts(weights), weights[weights > 0], estimator, strength)


def some_of(sample: Sample, most: int, random: np.random.Generator) -> Sample:
    """Return a sample of some units, ``most`` cells of them at the most, or all if they are few."""
    lengths = np.diff(sample.cells.starts)
    if lengths.sum() <= most:
        return sample
    order = random.permutation(len(lengths))
    kept = order[: max(1, int(np.searchsorted(np.cumsum(lengths[order]), most)))]
    weights = np.zeros(len(lengths))
    weights[kept] = sample.weights[kept]
    return part_of(sample.cells, weights, sample.estimator, sample.strength)


def search(
    sample: Sample, types: int, before: Mixture | None, random: np.random.Generator
) -> Found:
    """Return the best mixture of many starts: most go a few steps, a few go to the end.

    ``before`` is a mixture of one type less, to grow some starts from.
    """
    if types == 1:
        return sample.climb(sample.start(1, random), 60)
    small = some_of(sample, _SMALL, random)
    rivals = [small.climb(each, 20, 1e-4) for each in starts(small, types, before, _STARTS, random)]
    rivals = _best(rivals, _RUNNERS)
    rivals = _best([small.climb(each, 100, 1e-5) for each, _ in rivals], _FINALISTS)
    best = _best([sample.climb(each, 600, 1e-6) for each, _ in rivals], 1)[0]
    return shaken(sample, small, best, random)


def shaken(sample: Sample, small: Sample, best: Found, random: np.random.Generator) -> Found:
    """Try to do better: take a type out, put another in, and go on from there.

    Two types of a mixture may share the units of one while a third has those of two: no step
    leads out of that, but a leap does.
    """
    for _ in range(_ROUNDS):
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


def shrunk(sample: Sample, more: Mixture, random: np.random.Generator) -> Found:
    """Return the best mixture that comes of one with a type more: it is taken out, or merged."""
    small = some_of(sample, _SMALL, random)
    fewer = [without(more, kind) for kind in range(more.types)]
    fewer += merged(more, small, _some_pairs(more.types, _MERGES, random))
    best = _best([small.climb(each, 20, 1e-4) for each in fewer], _FINALISTS)
    return _best([sample.climb(each, 600, 1e-6) for each, _ in best], 1)[0]


def _some_pairs(types: int, most: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Return some pairs of types, or all if they are few."""
    pairs = list(combinations(range(types), 2))
    chosen = random.permutation(len(pairs))[:most]
    return [pairs[place] for place in chosen]


def _best(rivals: list[Found], count: int) -> list[Found]:
    """Return the best of them, the very best first."""
    return sorted(rivals, key=_value)[:count]


def _value(rival: Found) -> float:
    return -rival[1] if math.isfinite(rival[1]) else math.inf


def free_numbers(mixture: Mixture) -> int:
    """Return how many numbers a mixture is free to choose."""
    return mixture.coordinates.size + len(mixture.common) + mixture.types - 1


def choose(
    cells: Cells,
    estimator: Estimator,
    types: int | None,
    seed: int,
    progress: Progress,
) -> tuple[Mixture, Choice]:
    """Find how many types there are, unless that is said, and fit them to all units."""
    everyone = Sample(cells, cells.weights(), estimator, _STRENGTH)
    splits = list(_splits(cells, estimator, _stream(seed, 0)))
    scores: dict[int, Scores] = {}
    most = min(MOST_TYPES, cells.units // 2)
    for number in [types] if types is not None else range(1, most + 1):
        progress(f"fitting {counted(number, 'type')}", 0.0, 0.0)
        first, *others = splits
        before = first.best.get(number - 1, (None, 0.0))[0]
        first.best[number] = search(first.sample, number, before, _stream(seed, number))
        for split in others:
            split.best[number] = split.sample.climb(first.best[number][0], 900)
        scores[number] = _scores(splits, number)
        if number >= max(scores, key=lambda each: _total(*scores[each])) + _PATIENCE:
            break
    for number in sorted(scores)[-2::-1]:
        progress(f"fitting {counted(number, 'type')} again", 0.0, 0.0)
        fewer = shrunk(first.sample, first.best[number + 1][0], _stream(seed, number, 1))
        for split in splits:
            again = split.sample.climb(fewer[0], 900)
            split.best[number] = _best([split.best[number], again], 1)[0]
        scores[number] = _scores(splits, number)
    rewards = _rewards(splits)
    held_out = {number: _total(*each) / rewards for number, each in scores.items()}
    bic, fits = {}, {}
    for number in scores:
        progress(f"fitting {counted(number, 'type')} to all units", 0.0, 0.0)
        fits[number], value = everyone.climb(splits[0].best[number][0], 90, 1e-6)
        likelihood = value - everyone.penalty(fits[number])
        bic[number] = free_numbers(fits[number]) * math.log(cells.units) - 2 * likelihood
    by_both = min(min(bic, key=bic.__getitem__), max(held_out, key=held_out.__getitem__))
    chosen = max(_smallest(scores), by_both)
    final, mixture = pulled(everyone, fits[chosen])
    random = _stream(seed, 0, 1)
    best = final.climb(mixture, 600, 1e-6)
    if chosen > 1:
        best = shaken(final, some_of(final, _SMALL, random), best, random)
    best = final.climb(best[0], 1500, 1e-9)
    return best[0], Choice(held_out, bic, final.strength, chosen)


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _scores(splits: list[_Split], types: int) -> Scores:
    """Return the scores of the units held out in all splits."""
    parts = [split.scores(split.best[types][0]) for split in splits]
    return np.concatenate([each for each, _ in parts]), np.concatenate([w for _, w in parts])


def _rewards(splits: list[_Split]) -> float:
    """Return how many rewards are held out."""
    return sum(float(split.held.cells.totals(split.held.weights)[0].sum()) for split in splits)


def _splits(cells: Cells, estimator: Estimator, random: np.random.Generator) -> Iterator[_Split]:
    """Yield folds of all units in turn, or one split of as many as the work allows."""
    order = random.permutation(cells.units)
    lengths = np.diff(cells.starts)[cells.group_of[order]]
    if max(cells.units, len(cells.members)) <= _FEW:
        for fold in range(_HELD_OUT):
            yield _Split(
                cells,
                np.delete(order, np.s_[fold::_HELD_OUT]),
                order[fold::_HELD_OUT],
                estimator,
            )
        return
    if len(cells.members) > _MANY:  # groups are few where units are alike, and all can be kept
        order = order[: int(np.searchsorted(np.cumsum(lengths), _MANY * 4 // 3))]
    held = len(order) // _HELD_OUT
    yield _Split(cells, order[held:], order[:held], estimator)


def _total(values: Floats, weights: Floats) -> float:
    """Add up values by their weights; a product of BLAS would round by its number of threads."""
    return float((values * weights).sum())


def _smallest(scores: dict[int, Scores]) -> int:
    """Return the least number of types that is not clearly worse than the best."""
    totals = {number: _total(*each) for number, each in scores.items()}
    best = max(totals, key=totals.__getitem__)
    for number in sorted(scores):
        difference = scores[best][0] - scores[number][0]
        weights = scores[best][1]
        units = weights.sum()
        mean = _total(difference, weights) / units
        spread = _total((difference - mean) ** 2, weights) / max(units - 1, 1)
        if units * mean <= _CLEARLY * math.sqrt(units * spread):
            return number
    return best


def pulled(sample: Sample, mixture: Mixture) -> tuple[Sample, Mixture]:
    """Return the sample with the strength that its laws call for, and the mixture found with it.

    Were laws drawn around the pooled one with density ∝ κ^{d/2}·e^{−κD}, D their divergence from
    it, the likeliest κ would be d/2 over the mean of D. A law known from n rewards has, beside its
    own D, the noise d/2(n + κ). So where types are alike, thin cells are pulled far.
    """
    depth = mixture.coordinates.shape[2]
    for _ in range(_ROUNDS):
        _, plays, _, _, _ = sample.expect(mixture)
        noise = depth / (2 * (plays + sample.strength))
        mean = float((sample.divergences(mixture) + noise).mean())
        sample = replace(sample, strength=min(max(depth / (2 * mean), _WEAKEST), _STRONGEST))
        mixture, _ = sample.climb(mixture, 60, 1e-6)
    return sample, mixture
