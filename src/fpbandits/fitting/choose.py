"""How many types: by the likelihood of units held out. How far thin cells are pulled: by their own.

Units, not rows, are held out: a unit's rows share its type. For T = 1, 2, … a mixture is found on
the other units, and the held-out ones are scored, unit by unit. Two mixtures are compared by the
differences of the same units, whose standard error says what is noise.

Were its law known, a type more would gain x nats. It must be learnt, though: with p numbers to
learn, it gains about p/2 more than x on the units that it was learnt from, and as much less than x
on as many held out. So x is half way between both gains, whatever p is. The best T on units held
out is clearly better than a smaller one if x is more than two standard errors, and the choice is
the smallest T that it is not clearly better than. The best T alone is a type too many in one log of
five or so. Two standard errors of the gain on held-out units would pay for learning twice, and miss
types that are there.

Of two numbers of types the one that was searched worse looks worse: so those that are close are
searched again (`fpbandits.fitting.search`).

Units of few distinct cells are split into folds, each held out in turn. Each fold makes a search of
its own: one that went on from what another had found would know of the units that it holds out, and
a type too many would look true. Units of many cells are split once, and of very many only some are
looked at, as many as the work allows; the final fit has all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.errors import counted
from fpbandits.families.estimator import Estimator
from fpbandits.fitting.cells import Cells
from fpbandits.fitting.em import Mixture, Sample
from fpbandits.fitting.search import (
    END,
    FEW,
    PSEUDO_COUNT,
    ROUNDS,
    SMALL,
    Found,
    part_of,
    renewed,
    search,
    shaken,
    shrunk,
    some_of,
)
from fpbandits.logs.sources import Progress

MOST_TYPES = 40
"""Where the search for more types ends."""

_WEAKEST, _STRONGEST = 0.1, 1e4
_FOLDS = 4
"""One unit in so many is held out at a time."""
_PERHAPS, _CLEARLY, _FAR = 1.0, 2.0, 6.0
"""So many standard errors may be no noise; so many are none; so many leave no doubt."""
_PATIENCE = 2
"""So many more types are tried after the best."""
_MANY = 330_000
"""Cells of the units to choose by, at most."""
_WORK = 40_000_000
"""As many cells are gone through where scores are close."""
_AS_LIKELY = 2.0
"""A mixture so many nats below the best fits as well: a 95 % interval reaches down 1.96²/2 nats."""
_PARTS = 0.25, 0.5, 1.0
"""Which parts of the strength are tried."""
_NOTHING = 1.0
"""So many nats of all units held out are nothing gained."""


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
    types, perhaps
        How many there are, and how many there would be if one standard error were no noise.
    rivals
        Where other climbs ended that are about as high, each with how many nats it is off.
    """

    held_out: dict[int, float]
    bic: dict[int, float]
    strength: float
    types: int
    perhaps: int
    rivals: tuple[tuple[Mixture, float], ...] = field(compare=False)


@dataclass(frozen=True, eq=False)
class Score:
    """How well mixtures of T types explain units.

    Attributes
    ----------
    each, weights
        The log-likelihood of a held-out unit of each group, and how many such units there are.
    learnt
        The log-likelihood of as many units that were learnt from.
    """

    each: Floats
    weights: Floats
    learnt: float

    @property
    def held_out(self) -> float:
        """The log-likelihood of all units held out."""
        return _total(self.each, self.weights)


class Split:
    """Units to learn from and units held out."""

    def __init__(self, cells: Cells, learn: Counts, held: Counts, estimator: Estimator) -> None:
        self.sample = part_of(cells, cells.weights(learn), estimator)
        self.held = part_of(cells, cells.weights(held), estimator)
        self.best: dict[int, Found] = {}

    def learnt(self, types: int) -> float:
        """Return the log-likelihood of units learnt from, scaled to as many as are held out."""
        each = self.sample.likelihoods(self.best[types][0])
        return _total(each, self.sample.weights) * self.held.size / self.sample.size


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
    everyone = Sample(cells, cells.weights(), estimator, PSEUDO_COUNT)
    splits = list(folds(cells, estimator, _stream(seed, 0)))
    scores: dict[int, Score] = {}
    most = min(MOST_TYPES, cells.units // 2)
    for number in [types] if types is not None else range(1, most + 1):
        progress(f"fitting {counted(number, 'type')}", 0.0, 0.0)
        for fold, split in enumerate(splits):
            before = split.best.get(number - 1, (None, 0.0))[0]
            random = _stream(seed, number, fold)
            split.best[number] = search(split.sample, number, before, random)
        scores[number] = score_of(splits, number)
        if number >= _best_of(scores) + _PATIENCE:
            break
    for number in sorted(scores)[-2::-1]:
        progress(f"fitting {counted(number, 'type')} again", 0.0, 0.0)
        for fold, split in enumerate(splits):
            more, random = split.best[number + 1][0], _stream(seed, number, fold, 1)
            split.best[number] = shrunk(split.sample, split.best[number], more, random)
        scores[number] = score_of(splits, number)
    best = _best_of(scores)
    close = [each for each in scores if gain(scores[best], scores[each]) < _FAR]
    for number in [each for each in close if each <= best + 1]:
        progress(f"fitting {counted(number, 'type')} once more", 0.0, 0.0)
        for fold, split in enumerate(splits):
            random = _stream(seed, number, fold, 2)
            split.best[number], _ = renewed(split.sample, split.best[number], random)
        scores[number] = score_of(splits, number)
    scores = pull(splits, scores)
    rewards = sum(float(split.held.cells.totals(split.held.weights)[0].sum()) for split in splits)
    held_out = {number: score.held_out / rewards for number, score in scores.items()}
    bic, fits = {}, {}
    for number in scores:
        progress(f"fitting {counted(number, 'type')} to all units", 0.0, 0.0)
        fits[number], value = everyone.climb(splits[0].best[number][0], 90, 1e-6)
        likelihood = value - everyone.penalty(fits[number])
        bic[number] = free_numbers(fits[number]) * math.log(cells.units) - 2 * likelihood
    chosen = smallest(scores, _CLEARLY)
    final, mixture = pulled(everyone, fits[chosen])
    final = replace(final, strength=final.strength * spared(splits, chosen))
    random = _stream(seed, 0, 1)
    found = final.climb(mixture, 600, 1e-6)
    ends: list[Found] = []
    if chosen > 1:
        found = shaken(final, some_of(final, SMALL, random), found, random)
        found, ends = renewed(final, found, random)
    mixture, top = final.climb(found[0], 1500, 1e-9)
    rivals = tuple((end, top - value) for end, value in ends if value > top - _AS_LIKELY)
    perhaps = smallest(scores, _PERHAPS)
    return mixture, Choice(held_out, bic, final.strength, chosen, perhaps, rivals)


def _stream(seed: int, *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def folds(cells: Cells, estimator: Estimator, random: np.random.Generator) -> Iterator[Split]:
    """Yield folds of all units in turn, or one split of as many as the work allows."""
    order = random.permutation(cells.units)
    few = len(cells.members) <= FEW
    if len(cells.members) > _MANY:  # groups are few where units are alike, and all can be kept
        lengths = np.diff(cells.starts)[cells.group_of[order]]
        order = order[: int(np.searchsorted(np.cumsum(lengths), _MANY))]
    for fold in range(_FOLDS if few else 1):
        held = np.s_[fold::_FOLDS]
        yield Split(cells, np.delete(order, held), order[held], estimator)


def pull(splits: list[Split], scores: dict[int, Score]) -> dict[int, Score]:
    """Return the scores of mixtures with the strength that those of the best number call for.

    Numbers that need not be learnt from scratch cost less: rare types are told apart sooner. Where
    the scores are close, mixtures are climbed to the very end, for a plateau may look like one.
    """
    best = _best_of(scores)
    strength = pulled(splits[0].sample, splits[0].best[best][0])[0].strength
    for split in splits:
        split.sample = replace(split.sample, strength=strength)
        for number, (mixture, _) in split.best.items():
            close = gain(scores[best], scores[number]) < _FAR
            how = (_WORK // len(split.sample.cells.members), 1e-10) if close else (60, 1e-6)
            split.best[number] = split.sample.climb(mixture, *how)
    return {number: score_of(splits, number) for number in scores}


def spared(splits: list[Split], types: int) -> float:
    """Return which part of the strength is enough: units held out are predicted as well with it.

    Where types overlap, units say little of how far apart the types are, and a pull that is right
    for each law by itself moves all of them together. The less the better, if it predicts as well.
    """
    totals = {}
    for part in _PARTS:
        total = 0.0
        for split in splits:
            sample = replace(split.sample, strength=part * split.sample.strength)
            mixture, _ = sample.climb(split.best[types][0], 600, END)
            total += _total(split.held.likelihoods(mixture), split.held.weights)
        totals[part] = total
    return next(part for part in _PARTS if totals[part] > max(totals.values()) - _NOTHING)


def score_of(splits: list[Split], types: int) -> Score:
    """Return the scores of all units, each held out in one split."""
    each = [split.held.likelihoods(split.best[types][0]) for split in splits]
    weights = [split.held.weights for split in splits]
    learnt = sum(split.learnt(types) for split in splits)
    return Score(np.concatenate(each), np.concatenate(weights), learnt)


def _total(values: Floats, weights: Floats) -> float:
    """Add up values by their weights; a product of BLAS would round by its number of threads."""
    return float((values * weights).sum())


def _best_of(scores: dict[int, Score]) -> int:
    """Return the number of types that scores best."""
    return max(scores, key=lambda number: scores[number].held_out)


def smallest(scores: dict[int, Score], errors: float) -> int:
    """Return the least number of types than which the best is not better by so many errors."""
    best = scores[_best_of(scores)]
    return next(number for number in sorted(scores) if gain(best, scores[number]) <= errors)


def gain(best: Score, other: Score) -> float:
    """Return how much better one number of types is than another, in standard errors."""
    nats = (best.held_out - other.held_out + best.learnt - other.learnt) / 2
    difference, units = best.each - other.each, best.weights.sum()
    mean = _total(difference, best.weights) / units
    spread = _total((difference - mean) ** 2, best.weights) / max(units - 1, 1)
    return nats / math.sqrt(units * spread) if spread > 0 else 0.0


def pulled(sample: Sample, mixture: Mixture) -> tuple[Sample, Mixture]:
    """Return the sample with the strength that its laws call for, and the mixture found with it.

    Were laws drawn around the pooled one with density ∝ κ^{d/2}·e^{−κD}, D their divergence from
    it, the likeliest κ would be d/2 over the mean of D. A law known from n rewards has, beside its
    own D, the noise d/2(n + κ). So where types are alike, thin cells are pulled far.
    """
    depth = mixture.coordinates.shape[2]
    for _ in range(ROUNDS):
        _, plays, _, _, _ = sample.expect(mixture)
        noise = depth / (2 * (plays + sample.strength))
        mean = float((sample.divergences(mixture) + noise).mean())
        sample = replace(sample, strength=min(max(depth / (2 * mean), _WEAKEST), _STRONGEST))
        mixture, _ = sample.climb(mixture, 60, 1e-6)
    return sample, mixture
