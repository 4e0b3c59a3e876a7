"""The number of types, by cross-validation over units; and the pseudo-count, by empirical Bayes.

Units, not rows, are held out, since a unit's rows share its type. For T = 1, 2, … a mixture is
fitted to the other units, and each held-out unit is scored by its log-likelihood. Two numbers of
types are compared by the paired differences of units, and their standard error.

Let x be the gain, in nats, of one more type if its parameters were known. They must be estimated:
with p of them, the gain is about x + p/2 on the training units and x − p/2 on as many held-out
ones. So x is the mean of both gains, whatever p is. The best T is clearly better than a smaller one
if x is more than two standard errors and more than one nat, and the choice is the smallest T that
the best is not clearly better than. The best T alone is one type too many in about one log of five.
Requiring two standard errors of the held-out gain would charge for estimation twice, and miss types
that are there.

A number of types whose search went worse scores worse, so numbers with close scores are searched
again (`fpbandits.fitting.search`).

Logs with few distinct cells have several folds. Each fold searches on its own: starting from what
another fold found would leak its held-out units, and one type too many would look real. Larger logs
are split once, and of very large ones only a subset of units is used, to bound the work; the final
fit uses all units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.errors import counted
from fpbandits.families.estimator import Estimator
from fpbandits.fitting.cells import Cells
from fpbandits.fitting.em import Fitted, Mixture, Sample, merge_same
from fpbandits.fitting.search import (
    FEW,
    PSEUDO_COUNT,
    ROUNDS,
    SMALL,
    renew,
    restrict,
    search,
    shake,
    shrink,
    subsample,
)
from fpbandits.logs.sources import Progress

MOST_TYPES = 40
"""Where the search for more types ends."""

_LEAST_PSEUDO_COUNT = 0.1
_MOST_PSEUDO_COUNT = 1e4
_FOLDS = 4
"""The number of folds: one unit in four is held out."""
_PERHAPS = 1.0
"""A gain, in standard errors, that may be real."""
_CLEARLY = 2.0
"""A gain, in standard errors, that counts as real."""
_FAR = 6.0
"""A gain, in standard errors, that no second search would change."""
_PATIENCE = 2
"""The search for more types ends this many types after the best."""
_MANY = 330_000
"""The most cells of the units used to choose the number of types."""
_WORK = 40_000_000
"""The most cells visited in one climb where scores are close."""
_AS_LIKELY = 2.0
"""A mixture within this many nats of the best fits as well: 95 % intervals reach 1.96²/2 nats."""
_FRACTIONS = 0.25, 0.5, 1.0
"""Fractions of the pseudo-count that are tried."""
_NEGLIGIBLE = 1.0
"""A difference in the log-likelihood of all units, in nats, that does not count."""


@dataclass(frozen=True)
class Choice:
    """The scores by number of types, and what was chosen.

    Attributes
    ----------
    held_out
        The log-likelihood of a held-out reward, by the number of types.
    bic
        −2 ln L + ln(units) · free parameters, of all units, by the number of types.
    pseudo_count
        How many rewards of its arm's pooled distribution are added to those of each type and pair.
    types, perhaps
        The number chosen, and the one that a threshold of one standard error would choose.
    rivals
        Other local maxima that are about as likely, each with how many nats it is below the best.
    """

    held_out: dict[int, float]
    bic: dict[int, float]
    pseudo_count: float
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
    training
        The log-likelihood of the training units, scaled to as many as are held out.
    """

    each: Floats
    weights: Floats
    training: float

    @property
    def held_out(self) -> float:
        """The log-likelihood of all units held out."""
        return _total(self.each, self.weights)


class Split:
    """Training units and held-out units, and the best mixture found for each number of types."""

    def __init__(self, cells: Cells, learn: Counts, held: Counts, estimator: Estimator) -> None:
        self.sample = restrict(cells, cells.weights(learn), estimator)
        self.held = restrict(cells, cells.weights(held), estimator)
        self.best: dict[int, Fitted] = {}

    def search(self, types: int, random: np.random.Generator) -> Fitted:
        """Return the best mixture of a search from many starts."""
        fewer = self.best.get(types - 1)
        return search(self.sample, types, fewer and fewer.mixture, random)

    def shrink(self, types: int, random: np.random.Generator) -> Fitted:
        """Try to do better by taking a type out of the best mixture of one more."""
        return shrink(self.sample, self.best[types], self.best[types + 1].mixture, random)

    def renew(self, types: int, random: np.random.Generator) -> Fitted:
        """Try to do better by starting types anew."""
        best, _ = renew(self.sample, self.best[types], random)
        return best

    def training(self, types: int) -> float:
        """Return the log-likelihood of training units, scaled to as many as are held out."""
        by_group = self.sample.likelihoods(self.best[types].mixture)
        return _total(by_group, self.sample.weights) * self.held.size / self.sample.size


def choose(
    cells: Cells,
    estimator: Estimator,
    types: int | None,
    seed: int,
    progress: Progress,
) -> tuple[Mixture, Choice]:
    """Choose the number of types, unless it is given, and fit that many to all units."""
    everyone = Sample(cells, cells.weights(), estimator, PSEUDO_COUNT)
    splits = list(folds(cells, estimator, _stream(seed, 0)))
    scores: dict[int, Score] = {}

    def improve(number: int, again: str, find: Callable[..., Fitted], *key: int) -> None:
        """Let ``find`` set the best mixture of ``number`` types of every split; score them."""
        progress(f"fitting {counted(number, 'type')}{again}", 0.0, 0.0)
        for fold, split in enumerate(splits):
            split.best[number] = find(split, number, _stream(seed, number, fold, *key))
        scores[number] = score_of(splits, number)

    most = min(MOST_TYPES, cells.units // 2)
    for number in [types] if types is not None else range(1, most + 1):
        improve(number, "", Split.search)
        if number >= _best_of(scores) + _PATIENCE:
            break
    for number in sorted(scores)[-2::-1]:
        improve(number, " again", Split.shrink, 1)
    best = _best_of(scores)
    close = [number for number in scores if gain(scores[best], scores[number]) < _FAR]
    for number in [number for number in close if number <= best + 1]:
        improve(number, " once more", Split.renew, 2)
    scores = rescore(splits, scores)
    rewards = sum(float(split.held.cells.totals(split.held.weights)[0].sum()) for split in splits)
    held_out = {number: score.held_out / rewards for number, score in scores.items()}
    bic, fits = {}, {}
    for number in scores:
        progress(f"fitting {counted(number, 'type')} to all units", 0.0, 0.0)
        fits[number], value = everyone.climb(splits[0].best[number].mixture, 90, 1e-6)
        likelihood = value - everyone.penalty(fits[number])
        bic[number] = fits[number].free_parameters * math.log(cells.units) - 2 * likelihood
    chosen = fewest_types(scores, _CLEARLY)
    final, mixture = estimate_pseudo_count(everyone, fits[chosen])
    final = replace(final, pseudo_count=final.pseudo_count * least_fraction(splits, chosen))
    random = _stream(seed, 0, 1)
    found = final.climb(mixture, 600, 1e-6)
    ends: list[Fitted] = []
    if chosen > 1:
        found = shake(final, subsample(final, SMALL, random), found, random)
        found, ends = renew(final, found, random)
    mixture, top = final.climb(found.mixture, 1500, 1e-9)
    mixture = merge_same(mixture, final, _NEGLIGIBLE)
    rivals = tuple(
        (end, top - value)
        for end, value in ends
        if value > top - _AS_LIKELY and end.types == mixture.types
    )
    perhaps = fewest_types(scores, _PERHAPS)
    return mixture, Choice(held_out, bic, final.pseudo_count, chosen, perhaps, rivals)


def _stream(seed: int, *key: int) -> np.random.Generator:
    """Return the random stream of one task, which is numbered by ``key``."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def folds(cells: Cells, estimator: Estimator, random: np.random.Generator) -> Iterator[Split]:
    """Yield the folds of cross-validation, or a single split where there are many cells."""
    order = random.permutation(cells.units)
    few = len(cells.members) <= FEW
    if len(cells.members) > _MANY:  # groups are few where units are alike, and all can be kept
        lengths = np.diff(cells.starts)[cells.group_of[order]]
        order = order[: int(np.searchsorted(np.cumsum(lengths), _MANY))]
    for fold in range(_FOLDS if few else 1):
        held = np.s_[fold::_FOLDS]
        yield Split(cells, np.delete(order, held), order[held], estimator)


def rescore(splits: list[Split], scores: dict[int, Score]) -> dict[int, Score]:
    """Return the scores of mixtures with the pseudo-count estimated for the best number of types.

    Shrinkage makes parameters cheaper to learn, so rare types are found sooner. Where scores are
    close, mixtures are climbed to convergence, since a plateau may look like it.
    """
    best = _best_of(scores)
    shrunk, _ = estimate_pseudo_count(splits[0].sample, splits[0].best[best].mixture)
    for split in splits:
        split.sample = replace(split.sample, pseudo_count=shrunk.pseudo_count)
        for number, (mixture, _) in split.best.items():
            close = gain(scores[best], scores[number]) < _FAR
            steps = _WORK // len(split.sample.cells.members) if close else 60
            split.best[number] = split.sample.climb(mixture, steps, 1e-10 if close else 1e-6)
    return {number: score_of(splits, number) for number in scores}


def least_fraction(splits: list[Split], types: int) -> float:
    """Return the smallest fraction of the pseudo-count that predicts held-out units as well.

    Where types overlap, units say little about how far apart the types are, and a pseudo-count that
    is right for each distribution alone moves all of them together.
    """

    def held_out(split: Split, fraction: float) -> float:
        sample = replace(split.sample, pseudo_count=fraction * split.sample.pseudo_count)
        mixture, _ = sample.climb(split.best[types].mixture, 600)
        return _total(split.held.likelihoods(mixture), split.held.weights)

    totals = {
        fraction: sum(held_out(split, fraction) for split in splits) for fraction in _FRACTIONS
    }
    enough = max(totals.values()) - _NEGLIGIBLE
    return next(fraction for fraction in _FRACTIONS if totals[fraction] > enough)


def score_of(splits: list[Split], types: int) -> Score:
    """Return the held-out scores of all splits."""
    each = [split.held.likelihoods(split.best[types].mixture) for split in splits]
    weights = [split.held.weights for split in splits]
    training = sum(split.training(types) for split in splits)
    return Score(np.concatenate(each), np.concatenate(weights), training)


def _total(values: Floats, weights: Floats) -> float:
    """Return the weighted sum; that of BLAS would depend on its number of threads."""
    return float((values * weights).sum())


def _best_of(scores: dict[int, Score]) -> int:
    """Return the number of types that scores best."""
    return max(scores, key=lambda number: scores[number].held_out)


def fewest_types(scores: dict[int, Score], errors: float) -> int:
    """Return the fewest types whose score is within ``errors`` standard errors of the best.

    A score within _NEGLIGIBLE nats of the best counts as such, however small its error is.
    """
    best = scores[_best_of(scores)]
    return next(
        number
        for number, score in sorted(scores.items())
        if gain_in_nats(best, score) <= _NEGLIGIBLE or gain(best, score) <= errors
    )


def gain_in_nats(best: Score, other: Score) -> float:
    """Return how much better one number of types is than another, if parameters were known."""
    return (best.held_out - other.held_out + best.training - other.training) / 2


def gain(best: Score, other: Score) -> float:
    """Return `gain_in_nats` in standard errors."""
    difference, units = best.each - other.each, best.weights.sum()
    mean = _total(difference, best.weights) / units
    spread = _total((difference - mean) ** 2, best.weights) / max(units - 1, 1)
    return gain_in_nats(best, other) / math.sqrt(units * spread) if spread > 0 else 0.0


def estimate_pseudo_count(sample: Sample, mixture: Mixture) -> tuple[Sample, Mixture]:
    """Return the sample with its estimated pseudo-count κ (empirical Bayes), and the mixture found.

    If distributions scatter around the pooled one with density ∝ κ^{d/2}·e^{−κD}, D their
    divergence from it, the likeliest κ is d/2 over the mean of D. Estimating one from n rewards
    adds noise of d/2(n + κ) to its D. So where types are alike, thin cells are shrunk strongly.
    """
    depth = mixture.parameters.shape[2]
    for _ in range(ROUNDS):
        _, plays, _, _, _ = sample.expect(mixture)
        noise = depth / (2 * (plays + sample.pseudo_count))
        mean = float((sample.divergences(mixture) + noise).mean())
        sample = replace(
            sample,
            pseudo_count=min(max(depth / (2 * mean), _LEAST_PSEUDO_COUNT), _MOST_PSEUDO_COUNT),
        )
        mixture, _ = sample.climb(mixture, 60, 1e-6)
    return sample, mixture
