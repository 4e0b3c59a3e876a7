"""What one reward tells of two models: the distribution of its log-likelihood ratio ℓ.

Rewards of finitely many values have finitely many ℓ. Of normal and of Beta rewards ℓ is monotone in
the reward, so that its distribution functions under both models are known.

A grid of log-odds needs little of it: the probabilities, under each model, that ℓ lies between two
of its points. From them follow the weights of a chord (`fpbandits.theory.beliefs`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts, Floats, Ints
from fpbandits.families import RewardFamily
from fpbandits.families.beta import Beta
from fpbandits.families.gaussian import Gaussian

FINEST, COARSEST = 0.001, 0.25
"""Steps of the grid."""

_BINS, _FEWEST_BINS = 32, 8
"""Bins of continuous rewards in one deviation of ℓ, on the finest grid and on the coarsest; they
are never smaller than the grid's step."""

_TAILS = 4.5
"""Deviations of ℓ that have bins; beyond them there is one for each tail."""


_SAME = 1e-9
"""Parts of a step by which rounding may move a point of the grid."""


class Told(NamedTuple):
    """What one play of an arm tells of two models: the entries of a recursion.

    Attributes
    ----------
    shifts, widths
        ℓ lies between ``shifts`` and ``shifts + widths`` steps of the grid.
    first, second
        With which probability, under each of the models.
    below, above
        α and β of the chord.
    """

    shifts: Counts
    widths: Counts
    first: Floats
    second: Floats
    below: Floats
    above: Floats


def added_up(places: Ints, weights: Floats, count: int) -> Floats:
    """Return the sum of the weights at each place."""
    return np.bincount(places, weights, count).astype(np.float64)


class Atoms:
    """Rewards of finitely many values: ℓ has finitely many too."""

    def __init__(self, first: Floats, second: Floats) -> None:
        # A reward that one model rules out ends the matter: nothing is lost after it.
        possible = (first > 0) & (second > 0)
        ratio = np.log(second[possible]) - np.log(first[possible])
        # Rewards of one ratio tell the same.
        self.ratio, places = np.unique(ratio, return_inverse=True)
        self.first = added_up(places, first[possible], len(self.ratio))
        self.second = added_up(places, second[possible], len(self.ratio))
        self.deviation = math.sqrt(self.first @ self.ratio**2)

    def entries(self, step: float) -> int:
        """Return how many weights a chord recursion has."""
        return 2 * len(self.ratio)

    def fitting(self, step: float) -> Floats:
        """Return steps little longer than this one of which a ratio is a multiple."""
        apart = np.abs(self.ratio[np.abs(self.ratio) > 8 * step])
        steps: Floats = apart / np.floor(apart / step)
        return steps

    def excess(self, step: float) -> float:
        """Return by how much the chords make ℓ more variable, in parts of its second moment."""
        left = self.ratio - step * np.floor(self.ratio / step + _SAME)
        more = float(self.first @ (left * (step - left)))
        return more / self.deviation**2 if self.deviation else 0.0

    def told(self, step: float, points: int) -> Told:
        """Return the entries for a grid of this step and so many points."""
        shifts = np.floor(self.ratio / step + _SAME).astype(np.int64)
        return _told(step, points, shifts, shifts + 1, self.first, self.second)


class Continuous:
    """Rewards whose ℓ has a distribution function under each of the models."""

    def __init__(
        self, cdf: Callable[[Floats], tuple[Floats, Floats]], middle: float, deviation: float
    ) -> None:
        self.cdf, self.middle, self.deviation = cdf, middle, deviation

    def _bins(self, step: float) -> Counts:
        finer = math.log(COARSEST / step) / math.log(COARSEST / FINEST)
        bins = _FEWEST_BINS * (_BINS / _FEWEST_BINS) ** finer
        wide = max(1, round(self.deviation / bins / step))
        reach = _TAILS * self.deviation
        low, high = (math.floor((self.middle + side * reach) / (step * wide)) for side in (-1, 1))
        bins_at: Counts = wide * np.arange(low, high + 2)
        return bins_at

    def entries(self, step: float) -> int:
        """Return how many weights a chord recursion has."""
        return len(self._bins(step)) + 1

    def fitting(self, step: float) -> Floats:
        """Return none: no step fits better than another."""
        return np.zeros(0)

    def excess(self, step: float) -> float:
        """Return 0: it is about the same for all steps."""
        return 0.0

    def told(self, step: float, points: int) -> Told:
        """Return the entries for a grid of this step and so many points."""
        bins = self._bins(step)
        first, second = (
            np.diff(each, prepend=0.0, append=1.0)
            for each in self.cdf(step * bins.astype(np.float64))
        )
        return _told(step, points, np.r_[bins[0], bins], np.r_[bins, bins[-1]], first, second)


def _told(
    step: float, points: int, low: Counts, high: Counts, first: Floats, second: Floats
) -> Told:
    """Return the entries of a recursion; where ``low`` is ``high`` they are a tail's."""
    # Farther than the whole grid is as far as certainty.
    low, high = np.clip(low, -points, points), np.clip(high, -points, points)
    chord = low < high
    odds_low, odds_high = np.exp(step * low), np.exp(step * np.where(chord, high, high + 1))
    above = np.clip((second - first * odds_low) / (odds_high - odds_low), 0, first)
    below = np.where(chord, first - above, np.minimum(first, second / odds_low))
    return Told(low, high - low, first, second, below, np.where(chord, above, 0.0))


def log_ratio(rewards: RewardFamily, pair: int) -> Atoms | Continuous:
    """Return the distribution of ℓ, of one reward of a pair, under both models."""
    from scipy.special import betainc, betaincc, betaln, digamma, expit, ndtr, polygamma

    means = rewards.unit_means[:, pair]
    if isinstance(rewards, Gaussian | Beta) and means[0] == means[1]:
        return Atoms(np.ones(1), np.ones(1))
    if isinstance(rewards, Gaussian):
        apart = float(2 * abs(means[1] - means[0]))  # in deviations, which are half a unit
        half = apart / 2
        return Continuous(
            lambda at: (ndtr(at / apart + half), ndtr(at / apart - half)), 0.0, apart + apart**2 / 4
        )
    if isinstance(rewards, Beta):
        a, b = rewards.concentration * means, rewards.concentration * (1 - means)
        slope = a[1] - a[0]
        base = betaln(a[1], b[1]) - betaln(a[0], b[0])
        cdf = betainc if slope > 0 else betaincc

        def upto(at: Floats) -> tuple[Floats, Floats]:
            reward = expit((at + base) / slope)
            return cdf(a[0], b[0], reward), cdf(a[1], b[1], reward)

        centre = slope * (digamma(a) - digamma(b)) - base
        spread = abs(slope) * np.sqrt(polygamma(1, a) + polygamma(1, b))
        return Continuous(
            upto, float(centre.mean()), float(spread.max() + abs(centre[1] - centre[0]) / 4)
        )
    chances = rewards.chances()
    assert chances is not None
    return Atoms(chances[0, pair], chances[1, pair])
