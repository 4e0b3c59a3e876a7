"""FP-UCB: Algorithm 1 of Panaganti and Kalathil.

Play each arm of A once. Then, in episodes k = 1, 2, …, a parameter θ is *consistent* if on every
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
box?* `_occupied` answers it. Where arms have few distinct means it intersects sets of parameters as
bits, 64 at a time; otherwise it leaves a parameter at its first arm outside the box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from fpbandits.arrays import Counts, Floats
from fpbandits.policies.base import (
    CLOCK,
    COMPILED,
    MISFITS,
    Policy,
    Tally,
    add_to_tally,
    furthest,
    implement,
    mean_range,
    observe,
    plan,
    repeats,
    strays,
)
from fpbandits.problem import Problem
from fpbandits.theory.structure import Structure

_MOST_LEVELS = 64
"""With so many distinct means an arm, the bits take as much memory as the means themselves."""


class FPUCBModel(NamedTuple):
    """Θ as FP-UCB needs it: parameters sorted by their best arm, arms of A only.

    Attributes
    ----------
    arms
        A, in increasing order.
    segments
        Where the parameters with each best arm start, and where the last ones end: in ``means``, or
        in words of ``bits``.
    levels, level_counts
        The distinct means of each arm, increasing.
    bits
        bits[arm, level, word]: which of 64 parameters have that mean on that arm. Empty where some
        arm has too many distinct means.
    there
        there[word]: which of 64 places hold a parameter.
    means
        means[arm, parameter]; empty where there are bits.
    """

    slack: float
    arms: Counts
    segments: Counts
    levels: Floats
    level_counts: Counts
    bits: NDArray[np.uint64]
    there: NDArray[np.uint64]
    means: Floats


_NONE = np.zeros((0, 0))
_NO_COUNTS = np.zeros(0, np.int64)
_NO_BITS = np.zeros((0, 0, 0), np.uint64)
_NO_WORDS = np.zeros(0, np.uint64)


@dataclass(frozen=True)
class FPUCB(Policy):
    """FP-UCB: play the best arms of all models that still fit, in turn."""

    slack: float = 0.0

    name = "fp-ucb"
    knows = "Θ: the mean of every arm under every parameter"
    guarantee = "bounded regret where B(θ°) is empty, else ≤ D + 12 ln T Σ Δ_i/β_i²"
    leaps = True

    def model(self, problem: Problem) -> FPUCBModel:
        """Sort Θ by best arm, and turn it into bits where that pays."""
        structure = Structure(problem)
        arms = structure.candidate_arms
        order = np.argsort(structure.best_arm, kind="stable")
        sizes = np.bincount(np.searchsorted(arms, structure.best_arm))
        # Column by column: Θ may be large, and a copy of all means at once larger than the rest.
        levels: list[Floats] = []
        for arm in arms:
            levels.append(np.unique(structure.means[:, arm]))
            if len(levels[-1]) > _MOST_LEVELS:
                means = np.empty((len(arms), len(order)))
                for row, other in zip(means, arms, strict=True):
                    row[:] = structure.means[order, other]
                return self._model(arms, np.append(0, np.cumsum(sizes)), means=means)
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
        counts = np.array([len(level) for level in levels])
        segments = np.append(0, np.cumsum(words))
        return self._model(arms, segments, levels=table, level_counts=counts, bits=bits)

    def _model(
        self,
        arms: NDArray[np.intp],
        segments: NDArray[np.intp],
        *,
        levels: Floats = _NONE,
        level_counts: NDArray[np.intp] = _NO_COUNTS,
        bits: NDArray[np.uint64] = _NO_BITS,
        means: Floats = _NONE,
    ) -> FPUCBModel:
        return FPUCBModel(
            slack=float(self.slack),
            arms=arms.astype(np.int64),
            segments=segments.astype(np.int64),
            levels=levels,
            level_counts=level_counts.astype(np.int64),
            bits=bits,
            # Whatever its mean on the first arm, a parameter is there.
            there=np.bitwise_or.reduce(bits[0], axis=0) if len(bits) else _NO_WORDS,
            means=means,
        )

    def margins(self, problem: Problem, tally: Tally) -> Floats | None:
        """Return the radius less the distance, on the arm where that is least."""
        arms = Structure(problem).candidate_arms
        arms = arms[tally.plays[arms] > 0]
        if not len(arms):
            return np.full(len(problem.parameters), np.inf)
        plays = tally.plays[arms]
        radius = np.sqrt(3 * math.log(max(tally.counters[CLOCK], 1)) / plays) + self.slack
        distance = np.abs(problem.rewards.unit_means[:, arms] - tally.sums[arms] / plays)
        least: Floats = (radius - distance).min(axis=1) * problem.rewards.width
        return least


@implement(plan, FPUCBModel)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    count = model.arms.size
    k = tally.counters[CLOCK]
    if k == 0:  # line 1: each arm of A once, before the first episode
        for i in range(count):
            desk.cycle[i] = model.arms[i]
        tally.counters[CLOCK] = 1
        return count, 1

    center, radius = desk.numbers[0], desk.numbers[1]
    for i in range(count):
        n = tally.plays[model.arms[i]]
        # Live, an arm may have nothing told yet: it constrains nothing.
        center[i] = tally.sums[model.arms[i]] / n if n > 0 else 0.0
        radius[i] = math.sqrt(3 * math.log(k) / n) + model.slack if n > 0 else math.inf
    possible = _frame(model, center, radius, desk)
    playing = desk.counts[2]
    length = 0
    for i in range(count):
        playing[i] = 1 if possible and _occupied(model, i, center, radius, desk) else 0
        if playing[i] == 1:
            desk.cycle[length] = model.arms[i]
            length += 1
    nothing_fits = length == 0
    if nothing_fits:
        for i in range(count):
            desk.cycle[i] = model.arms[i]
        length = count

    rounds = 1
    if budget >= 2 * length and k >= 3:
        rounds = furthest(model, tally, envelope, desk, budget // length)
    tally.counters[CLOCK] = k + rounds
    # In the first episode the radius is 0, and nothing fits as a rule.
    if nothing_fits and k > 1:
        tally.counters[MISFITS] += rounds
    return length, rounds


@implement(repeats, FPUCBModel)
def _repeats(model: Any, tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    count = model.arms.size
    k = tally.counters[CLOCK]
    playing = desk.counts[2]
    nothing_fits = True
    for i in range(count):
        nothing_fits = nothing_fits and playing[i] == 0
    more = rounds - 1
    log_now, log_end = math.log(k), math.log(k + more)
    center, outer, inner = desk.numbers[0], desk.numbers[1], desk.numbers[2]
    for i in range(count):
        arm = model.arms[i]
        n = tally.plays[arm]
        if playing[i] == 1 or nothing_fits:
            deviation = strays(envelope, arm, more)
            low, high = mean_range(n, tally.sums[arm], envelope.means[arm], more, deviation)
            center[i] = (low + high) / 2
            # A little to spare for rounding, on the safe side of each question.
            half = (high - low) / 2 + 1e-15
            outer[i] = math.sqrt(3 * log_now / n) + model.slack + half
            inner[i] = math.sqrt(3 * log_end / (n + more)) + model.slack - half
        else:
            # As in `_plan`, to the last bit: far out the radius grows by less than a bit a step,
            # and anything to spare would keep the last thousands of steps from being leapt over.
            center[i] = tally.sums[arm] / n
            outer[i] = math.sqrt(3 * log_end / n) + model.slack
            inner[i] = math.sqrt(3 * log_now / n) + model.slack
    if _frame(model, center, outer, desk):
        for i in range(count):
            if playing[i] == 0 and _occupied(model, i, center, outer, desk):
                return False
    if nothing_fits:
        return True
    if not _frame(model, center, inner, desk):
        return False
    for i in range(count):
        if playing[i] == 1 and not _occupied(model, i, center, inner, desk):
            return False
    return True


@register_jitable(**COMPILED)
def _frame(model: Any, center: Any, radius: Any, desk: Any) -> bool:
    """Prepare to look into the box |μ_i − center_i| ≤ radius_i; False if it is surely empty.

    Leaves on the desk the order in which to ask the arms, the narrowest side of the box first; and
    where there are bits the levels in the box, from start[i] to before upto[i], for they are
    neighbours.
    """
    start, upto, order = desk.counts[0], desk.counts[1], desk.counts[3]
    for i in range(model.arms.size):
        place = i
        while place > 0 and radius[order[place - 1]] > radius[i]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
        if model.bits.size > 0:
            lowest = 0
            highest = model.level_counts[i]
            while lowest < highest and not abs(model.levels[i, lowest] - center[i]) <= radius[i]:
                lowest += 1
            while (
                lowest < highest and not abs(model.levels[i, highest - 1] - center[i]) <= radius[i]
            ):
                highest -= 1
            if lowest == highest:
                return False
            start[i], upto[i] = lowest, highest
    return True


@register_jitable(**COMPILED)
def _occupied(model: Any, segment: int, center: Any, radius: Any, desk: Any) -> bool:
    """Tell whether some θ of this best arm is in the box that was framed."""
    count = model.arms.size
    start, upto, order = desk.counts[0], desk.counts[1], desk.counts[3]
    first, last = model.segments[segment], model.segments[segment + 1]
    if model.bits.size > 0:
        for word in range(first, last):
            everywhere = model.there[word]
            for place in range(count):
                i = order[place]
                # Take the levels in the box, or take away those outside, whichever are fewer.
                if 2 * (upto[i] - start[i]) <= model.level_counts[i]:
                    here = np.uint64(0)
                    for level in range(start[i], upto[i]):
                        here |= model.bits[i, level, word]
                    everywhere &= here
                else:
                    for level in range(start[i]):
                        everywhere &= ~model.bits[i, level, word]
                    for level in range(upto[i], model.level_counts[i]):
                        everywhere &= ~model.bits[i, level, word]
                if everywhere == 0:
                    break
            if everywhere != 0:
                return True
        return False
    for theta in range(first, last):
        inside = True
        for place in range(count):
            i = order[place]
            if not abs(model.means[i, theta] - center[i]) <= radius[i]:
                inside = False
                break
        if inside:
            return True
    return False


@implement(observe, FPUCBModel)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    add_to_tally(tally, arm, plays, total)
