"""The distribution of the log-likelihood ratio of a reward, ℓ = ln p(reward | θ²)/p(reward | θ¹).

If rewards have finitely many values, so has ℓ. For normal and for Beta rewards ℓ is monotone in the
reward, so its distribution functions under both models are known.

A recursion on a grid of log-odds needs only the probabilities, under each model, that ℓ lies
between two multiples of the grid's step. From these follow the weights of a chord, which bounds a
concave function between two points of the grid from below (`fpbandits.theory.beliefs`).

A pair is here a context and an arm; the two models are called first and second.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts, Floats, Ints
from fpbandits.errors import InputError
from fpbandits.families import RewardFamily
from fpbandits.families.beta import Beta
from fpbandits.families.gaussian import Gaussian

FINEST = 0.001
"""The smallest step of a grid of log-odds."""

COARSEST = 0.25
"""The largest step of a grid of log-odds, before it is lengthened to fit rewards of few values."""

_BINS = 32
"""Bins of continuous rewards per deviation of ℓ on the finest grid; a bin is a step or wider."""

_FEWEST_BINS = 8
"""The same on the coarsest grid."""

_TAILS = 4.5
"""Bins reach this many deviations of ℓ to both sides; each tail beyond them is one bin."""

_ROUNDING = 1e-9
"""A value of ℓ below a multiple of the step by at most this fraction of it is that multiple."""


class Transitions(NamedTuple):
    """Where one play of a pair moves the log-odds: arrays with an entry per interval of ℓ.

    Attributes
    ----------
    shifts, widths
        ℓ lies between ``shifts`` and ``shifts + widths`` steps of the grid. A width of 0 marks a
        tail, where ℓ lies below the lowest shift or above the highest one.
    under_first, under_second
        The probability of this under the first and under the second model.
    low_weight, high_weight
        α and β of the chord: the weights of its lower and of its upper end. Of a tail, the weight
        of the shift, and 0.
    """

    shifts: Counts
    widths: Counts
    under_first: Floats
    under_second: Floats
    low_weight: Floats
    high_weight: Floats

    def ends(self) -> tuple[Counts, Floats]:
        """Return the shifts of the lower and then of the upper ends, and their weights."""
        shifts = np.concatenate([self.shifts, self.shifts + self.widths])
        return shifts, np.concatenate([self.low_weight, self.high_weight])


def add_up(indices: Ints, weights: Floats, count: int) -> Floats:
    """Return, for each index below ``count``, the sum of the weights that have it."""
    return np.bincount(indices, weights, count).astype(np.float64)


class Atoms:
    """The distribution of ℓ where rewards have finitely many values.

    ``ratio`` are the values of ℓ, ``under_first`` and ``under_second`` their probabilities, and
    ``deviation`` is the root of the second moment of ℓ under the first model.
    """

    def __init__(self, first: Floats, second: Floats) -> None:
        # A reward that one model rules out ends the matter: nothing is lost after it.
        possible = (first > 0) & (second > 0)
        ratio = np.log(second[possible]) - np.log(first[possible])
        # Rewards of one ratio tell the same.
        self.ratio, indices = np.unique(ratio, return_inverse=True)
        self.under_first = add_up(indices, first[possible], len(self.ratio))
        self.under_second = add_up(indices, second[possible], len(self.ratio))
        self.deviation = math.sqrt(self.under_first @ self.ratio**2)

    def count_weights(self, step: float) -> int:
        """Return the most weights that a recursion by chords may need."""
        return 2 * len(self.ratio)

    def fitting_steps(self, step: float) -> Floats:
        """Return the steps from ``step`` to 4·``step`` that are a 1st to 64th part of some |ℓ|."""
        steps: Floats = (np.abs(self.ratio)[:, np.newaxis] / np.arange(1, 65)).ravel()
        return steps[(steps >= step) & (steps <= 4 * step)]

    def added_variance(self, steps: Floats) -> Floats:
        """Return about how much variance chords add to ℓ, relative to its second moment, by step.

        It is exact in the limit of small steps, where chords keep the mean of ℓ as that of e^ℓ.
        """
        if not self.deviation:
            return np.zeros(len(steps))
        steps = steps[:, np.newaxis]
        from_low = self.ratio % steps
        added: Floats = (from_low * (steps - from_low)) @ self.under_first / self.deviation**2
        return added

    def transitions(self, step: float, points: int) -> Transitions:
        """Return the transitions on a grid with this step and this number of points."""
        shifts = np.floor(self.ratio / step + _ROUNDING).astype(np.int64)
        return _transitions(step, points, shifts, shifts + 1, self.under_first, self.under_second)


class Continuous:
    """Rewards whose ℓ has a distribution function under each of the models.

    ``cdf`` returns both functions at given values. ``middle`` and ``deviation`` say where the bins
    of ℓ lie, and how wide they are.
    """

    def __init__(
        self, cdf: Callable[[Floats], tuple[Floats, Floats]], middle: float, deviation: float
    ) -> None:
        self.cdf, self.middle, self.deviation = cdf, middle, deviation

    def _edges(self, step: float) -> Counts:
        """Return the edges of the bins, in steps of the grid."""
        fineness = math.log(COARSEST / step) / math.log(COARSEST / FINEST)
        bins = _FEWEST_BINS * (_BINS / _FEWEST_BINS) ** fineness
        width = max(1, round(self.deviation / bins / step))
        reach = _TAILS * self.deviation
        low, high = (math.floor((self.middle + side * reach) / (step * width)) for side in (-1, 1))
        edges: Counts = width * np.arange(low, high + 2)
        return edges

    def count_weights(self, step: float) -> int:
        """Return about how many weights a recursion by chords needs: bins share their ends."""
        return len(self._edges(step)) + 1

    def transitions(self, step: float, points: int) -> Transitions:
        """Return the transitions on a grid with this step and this number of points."""
        # What shifts by more than the length of the grid belongs to the tails.
        edges = np.unique(np.clip(self._edges(step), -points, points))
        first, second = (
            np.diff(cdf, prepend=0.0, append=1.0)
            for cdf in self.cdf(step * edges.astype(np.float64))
        )
        low, high = np.r_[edges[0], edges], np.r_[edges, edges[-1]]
        return _transitions(step, points, low, high, first, second)


def _transitions(
    step: float, points: int, low: Counts, high: Counts, first: Floats, second: Floats
) -> Transitions:
    """Return the transitions where ℓ lies between ``low`` and ``high``; if these are equal, a tail.

    ``first`` and ``second`` are the probabilities under the two models.
    """
    # A shift by the length of the grid leads to certainty, and a longer one leads no further.
    low, high = np.clip(low, -points, points), np.clip(high, -points, points)
    is_chord, high_weight = low < high, np.zeros(len(low))
    odds_low, odds_high = np.exp(step * low), np.exp(step * high)
    np.divide(second - first * odds_low, odds_high - odds_low, out=high_weight, where=is_chord)
    high_weight = np.clip(high_weight, 0, first)  # rounding
    # f of `fpbandits.theory.beliefs` is 0 at odds of 0, concave, and does not fall. In an upper
    # tail it is at least f at the shift, which gets the weight ``first``. In a lower tail it is at
    # least the chord from 0 to the shift, which gets ``second / odds_low``. Each is the smaller of
    # the two in its own tail.
    of_tail = np.minimum(first, second / odds_low)
    low_weight = np.where(is_chord, first - high_weight, of_tail)
    return Transitions(low, high - low, first, second, low_weight, high_weight)


def log_ratio(rewards: RewardFamily, pair: int) -> Atoms | Continuous:
    """Return the distribution of ℓ, of one reward of a pair, under both models.

    The deviation of continuous ones is the standard deviation of ℓ, the larger one if the models
    differ in it, plus a quarter of the distance between its means under the two models.
    """
    from scipy.special import betainc, betaincc, betaln, digamma, expit, ndtr, polygamma

    means = rewards.unit_means[:, pair]
    equal = Atoms(np.ones(1), np.ones(1))  # ℓ is always 0
    if isinstance(rewards, Gaussian | Beta) and means[0] == means[1]:
        return equal
    if isinstance(rewards, Gaussian):
        # The distance of the means in standard deviations of the reward, which are half a unit.
        distance = float(2 * abs(means[1] - means[0]))
        half = distance / 2
        return Continuous(
            lambda at: (ndtr(at / distance + half), ndtr(at / distance - half)),
            middle=0.0,
            deviation=distance + distance**2 / 4,
        )
    if isinstance(rewards, Beta):
        a, b = rewards.concentration * means, rewards.concentration * (1 - means)
        slope = a[1] - a[0]
        if slope == 0:  # the means differ, but by rounding
            return equal
        base = betaln(a[1], b[1]) - betaln(a[0], b[0])
        cdf = betainc if slope > 0 else betaincc

        def cdf_of_ratio(at: Floats) -> tuple[Floats, Floats]:
            reward = expit((at + base) / slope)
            return cdf(a[0], b[0], reward), cdf(a[1], b[1], reward)

        centre = slope * (digamma(a) - digamma(b)) - base
        spread = abs(slope) * np.sqrt(polygamma(1, a) + polygamma(1, b))
        return Continuous(
            cdf_of_ratio,
            middle=float(centre.mean()),
            deviation=float(spread.max() + abs(centre[1] - centre[0]) / 4),
        )
    chances = rewards.chances()
    if chances is None:
        raise InputError(
            f"what {rewards.name} rewards tell of two models has no known distribution"
        )
    return Atoms(chances[0, pair], chances[1, pair])
