"""FP-UCB: Algorithm 1 of Panaganti and Kalathil.

Play each arm of A once. Then, in episodes k = 1, 2, …, a model θ is *consistent* if on every
arm i ∈ A the observed mean is near enough: |μ̂_i − μ_i(θ)| ≤ √(3 ln k/n_i). Play each arm that is
best under some consistent θ once, or each arm of A where no θ is consistent. With ``slack`` ε every
radius is wider by ε, for sets of models that are only approximately right.

A cycle is an episode. How many episodes will surely repeat it? Let j ≤ m − 1 count the episodes to
come. The envelope gives each arm's mean an interval [low, high] that holds it all the while; its
radius decreases with j if the arm is played (n_i ≤ k and k ≥ 3), and increases if it is not. So θ
surely stays out if on some arm its distance to the interval exceeds the largest radius, and surely
stays in if on every arm its largest distance is within the smallest radius. The cycle is sure to be
repeated if every θ whose best arm is not in it stays out, and each arm in it has some θ that stays
in.

Every one of these questions is the same: *is there a θ with best arm i whose means all lie in a
box?* `_occupied` answers it. Where arms have few distinct means it intersects sets of models as
bits, 64 at a time; otherwise it leaves a model at its first arm outside the box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import furthest, mean_ahead, spare
from fpbandits.engine.policy import CLOCK, MISFITS, Plan, Policy, Tally, count
from fpbandits.problem.problem import Problem
from fpbandits.theory.structure import Structure

_MOST_LEVELS = 64
"""With so many distinct means per arm, the bits take as much memory as the means themselves."""


class FPUCBKnown(NamedTuple):
    """Θ as FP-UCB needs it: models sorted by their best arm, arms of A only.

    Attributes
    ----------
    arms
        A, in increasing order.
    segments
        Where the models with each best arm start, and where the last ones end: in ``means``, or
        in words of ``bits``.
    levels, level_counts
        The distinct means of each arm, increasing.
    bits
        bits[arm, level, word]: which of 64 models have that mean on that arm. Empty where some
        arm has too many distinct means.
    there
        there[word]: which of 64 places hold a model.
    means
        means[arm, model]; empty where there are bits.
    """

    slack: float
    arms: Counts
    segments: Counts
    levels: Floats
    level_counts: Counts
    bits: NDArray[np.uint64]
    there: NDArray[np.uint64]
    means: Floats


START, UPTO, PLAYING, ORDER = range(4)
CENTER, OUTER = range(2)
"""Rows of scratch space by arm: the levels in a box, whether the arm is played, in which order to
ask the arms; the box's middle and its radii."""

_NOTHING = FPUCBKnown(
    slack=0.0,
    arms=np.zeros(0, np.int64),
    segments=np.zeros(0, np.int64),
    levels=np.zeros((0, 0)),
    level_counts=np.zeros(0, np.int64),
    bits=np.zeros((0, 0, 0), np.uint64),
    there=np.zeros(0, np.uint64),
    means=np.zeros((0, 0)),
)


@dataclass(frozen=True)
class FPUCB(Policy):
    """FP-UCB: play the best arms of all models that still fit, in turn."""

    slack: float = 0.0

    name = "fp-ucb"
    knows = "Θ: what every arm pays under every model"
    guarantee = "bounded regret where B(θ°) is empty, else ≤ D + 12 ln T Σ Δ_i/β_i²"

    def prepare(self, problem: Problem) -> FPUCBKnown:
        """Sort Θ by best arm, and turn it into bits where that pays."""
        structure = Structure(problem)
        arms = structure.candidate_arms
        order = np.argsort(structure.best_arm, kind="stable")
        sizes = np.bincount(np.searchsorted(arms, structure.best_arm)).astype(np.int64)
        known = _NOTHING._replace(slack=self.slack, arms=arms.astype(np.int64))
        # Column by column: Θ may be large, and a copy of all means at once larger than the rest.
        levels: list[Floats] = []
        for arm in arms:
            levels.append(np.unique(structure.means[:, arm]))
            if len(levels[-1]) > _MOST_LEVELS:
                means = np.empty((len(arms), len(order)))
                for row, other in zip(means, arms, strict=True):
                    row[:] = structure.means[order, other]
                return known._replace(segments=np.append(0, np.cumsum(sizes)), means=means)
        table = np.zeros((len(arms), max(map(len, levels))))
        for row, level in zip(table, levels, strict=True):
            row[: len(level)] = level
        words = (sizes + 63) // 64
        # Segments start at whole words.
        firsts = 64 * np.append(0, np.cumsum(words)[:-1])
        places = np.concatenate(
            [first + np.arange(size) for first, size in zip(firsts, sizes, strict=True)]
        )
        flags = np.uint64(1) << (places % 64).astype(np.uint64)
        bits = np.zeros((*table.shape, words.sum()), dtype=np.uint64)
        for arm, level, own in zip(arms, levels, bits, strict=True):
            codes = np.searchsorted(level, structure.means[order, arm])
            np.bitwise_or.at(own.reshape(-1), codes * own.shape[1] + places // 64, flags)
        return known._replace(
            segments=np.append(0, np.cumsum(words)),
            levels=table,
            level_counts=np.array([len(level) for level in levels], np.int64),
            bits=bits,
            # Whatever its mean on the first arm, a model is there.
            there=np.bitwise_or.reduce(bits[0], axis=0),
        )

    def margins(self, problem: Problem, tally: Tally) -> Floats | None:
        """Return the radius less the distance, on the arm where that is least."""
        arms = Structure(problem).candidate_arms
        arms = arms[tally.plays[arms] > 0]
        if not len(arms):
            return np.full(len(problem.models), np.inf)
        plays = tally.plays[arms]
        radius = np.sqrt(3 * math.log(max(tally.counters[CLOCK], 1)) / plays) + self.slack
        distance = np.abs(problem.rewards.unit_means[:, arms] - tally.sums[arms] / plays)
        least: Floats = (radius - distance).min(axis=1) * problem.rewards.width
        return least

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        arms = known.arms.size
        k = tally.counters[CLOCK]
        if k == 0:  # line 1: each arm of A once, before the first episode
            for i in range(arms):
                scratch.cycle[i] = known.arms[i]
            tally.counters[CLOCK] = 1
            return arms, 1

        center, radius = scratch.numbers[CENTER], scratch.numbers[OUTER]
        for i in range(arms):
            n = tally.plays[known.arms[i]]
            # Live, an arm may have nothing told yet: it constrains nothing.
            center[i] = tally.sums[known.arms[i]] / n if n > 0 else 0.0
            radius[i] = math.sqrt(3 * math.log(k) / n) + known.slack if n > 0 else math.inf
        possible = _frame(known, center, radius, scratch)
        playing = scratch.marks[PLAYING]
        length = 0
        for i in range(arms):
            playing[i] = 1 if possible and _occupied(known, i, center, radius, scratch) else 0
            if playing[i] == 1:
                scratch.cycle[length] = known.arms[i]
                length += 1
        nothing_fits = length == 0
        if nothing_fits:
            for i in range(arms):
                scratch.cycle[i] = known.arms[i]
            length = arms

        rounds = 1
        if budget >= 2 * length and k >= 3:
            rounds = furthest(known, tally, envelope, scratch, budget // length)
        tally.counters[CLOCK] = k + rounds
        # In the first episode the radius is 0, and nothing fits as a rule.
        if nothing_fits and k > 1:
            tally.counters[MISFITS] += rounds * length
        return length, rounds

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        arms = known.arms.size
        k = tally.counters[CLOCK]
        playing = scratch.marks[PLAYING]
        nothing_fits = True
        for i in range(arms):
            nothing_fits = nothing_fits and playing[i] == 0
        more = rounds - 1
        log_now, log_end = math.log(k), math.log(k + more)
        center, outer, inner = scratch.numbers[0], scratch.numbers[1], scratch.numbers[2]
        for i in range(arms):
            arm = known.arms[i]
            n = tally.plays[arm]
            if playing[i] == 1 or nothing_fits:
                low, high = mean_ahead(tally, envelope, arm, more)
                center[i] = (low + high) / 2
                # A little to spare for rounding, on the safe side of each question.
                half = (high - low) / 2 + spare(center[i])
                outer[i] = math.sqrt(3 * log_now / n) + known.slack + half
                inner[i] = math.sqrt(3 * log_end / (n + more)) + known.slack - half
            else:
                # As in `plan`, to the last bit: far out the radius grows by less than a bit per
                # step, and anything to spare would keep thousands of steps from being leapt over.
                center[i] = tally.sums[arm] / n
                outer[i] = math.sqrt(3 * log_end / n) + known.slack
                inner[i] = math.sqrt(3 * log_now / n) + known.slack
        if _frame(known, center, outer, scratch):
            for i in range(arms):
                if playing[i] == 0 and _occupied(known, i, center, outer, scratch):
                    return False
        if nothing_fits:
            return True
        if not _frame(known, center, inner, scratch):
            return False
        for i in range(arms):
            if playing[i] == 1 and not _occupied(known, i, center, inner, scratch):
                return False
        return True

    @staticmethod
    def observe(known: Any, tally: Any, arm: int, plays: int, total: float, random: Any) -> None:
        count(tally, arm, plays, total)  # the clock counts episodes


@jitted
def _frame(known: Any, center: Any, radius: Any, scratch: Any) -> bool:
    """Prepare to look into the box |μ_i − center_i| ≤ radius_i; False if it is surely empty.

    Leaves in the scratch space the order in which to ask the arms, the narrowest side of the box
    first; and where there are bits the levels in the box, from start[i] to before upto[i], for they
    are neighbours.
    """
    start, upto, order = scratch.marks[START], scratch.marks[UPTO], scratch.marks[ORDER]
    for i in range(known.arms.size):
        place = i
        while place > 0 and radius[order[place - 1]] > radius[i]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
        if known.bits.size > 0:
            lowest = 0
            highest = known.level_counts[i]
            while lowest < highest and not abs(known.levels[i, lowest] - center[i]) <= radius[i]:
                lowest += 1
            while (
                lowest < highest and not abs(known.levels[i, highest - 1] - center[i]) <= radius[i]
            ):
                highest -= 1
            if lowest == highest:
                return False
            start[i], upto[i] = lowest, highest
    return True


@jitted
def _occupied(known: Any, segment: int, center: Any, radius: Any, scratch: Any) -> bool:
    """Tell whether some θ of this best arm is in the box that was framed."""
    arms = known.arms.size
    start, upto, order = scratch.marks[START], scratch.marks[UPTO], scratch.marks[ORDER]
    first, last = known.segments[segment], known.segments[segment + 1]
    if known.bits.size > 0:
        for word in range(first, last):
            everywhere = known.there[word]
            for place in range(arms):
                i = order[place]
                # Take the levels in the box, or take away those outside, whichever are fewer.
                if 2 * (upto[i] - start[i]) <= known.level_counts[i]:
                    here = np.uint64(0)
                    for level in range(start[i], upto[i]):
                        here |= known.bits[i, level, word]
                    everywhere &= here
                else:
                    for level in range(start[i]):
                        everywhere &= ~known.bits[i, level, word]
                    for level in range(upto[i], known.level_counts[i]):
                        everywhere &= ~known.bits[i, level, word]
                if everywhere == 0:
                    break
            if everywhere != 0:
                return True
        return False
    for model in range(first, last):
        inside = True
        for place in range(arms):
            i = order[place]
            if not abs(known.means[i, model] - center[i]) <= radius[i]:
                inside = False
                break
        if inside:
            return True
    return False
