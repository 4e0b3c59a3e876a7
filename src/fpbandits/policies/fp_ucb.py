"""FP-UCB: Algorithm 1 of Panaganti and Kalathil.

Play each arm of A once. Then, in episodes k = 1, 2, …, a model θ is *consistent* if on every
arm i ∈ A the observed mean is near enough: |μ̂_i − μ_i(θ)| ≤ √(3 ln k/n_i). Play each arm that is
best under some consistent θ once, or each arm of A if no θ is consistent. With ``slack`` ε every
radius is wider by ε, for sets of models that are only approximately right.

A cycle is an episode. How many episodes will surely repeat it? Let j ≤ m − 1 count the episodes to
come. The envelope gives an interval [low, high] that contains the arm's mean all the while. The
arm's radius decreases with j if the arm is played (n_i ≤ k and k ≥ 3), and increases if it is not.
So θ surely stays inconsistent if on some arm its distance to the interval exceeds the largest
radius, and surely stays consistent if on every arm its largest distance is within the smallest
radius. The cycle is sure to be repeated if every θ whose best arm is not in it stays inconsistent,
and each arm in it is best under some θ that stays consistent.

All of these are one question: *is there a θ with best arm i whose means all lie in a box?*
`_occupied` answers it. If arms have few distinct means it intersects sets of models as bits, 64 at
a time; otherwise it drops a model at its first arm outside the box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fpbandits.core.arrays import TOLERANCE, Counts, Floats, Ints
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CLOCK, MISFITS, Ahead, Envelope, Plan, Random, State, count
from fpbandits.engine.envelope import certain_rounds, mean_ahead, spare
from fpbandits.engine.policy import Eligible, Policy
from fpbandits.problem.problem import Problem
from fpbandits.theory.structure import Structure

_MOST_LEVELS = 64
"""With more distinct means per arm, the bits would take more memory than the means themselves."""


class FPUCBData(NamedTuple):
    """Θ as FP-UCB needs it: models sorted by their best arm, arms of A only.

    Attributes
    ----------
    arms
        A, in increasing order.
    segments
        Where the models with each best arm start, and where the last ones end: columns of
        ``means``, or words of ``bits``.
    levels, level_counts
        The distinct means of each arm, increasing, [arm, level]; and how many there are.
    bits
        bits[arm, level, word]: which of 64 models have that mean on that arm. Empty if some arm
        has more than `_MOST_LEVELS` distinct means.
    present
        present[word]: which of 64 bits stand for a model.
    means
        means[arm, model]; empty if there are bits.
    """

    slack: float
    arms: Counts
    segments: Counts
    levels: Floats = np.zeros((0, 0))
    level_counts: Counts = np.zeros(0, np.int64)
    bits: NDArray[np.uint64] = np.zeros((0, 0, 0), np.uint64)
    present: NDArray[np.uint64] = np.zeros(0, np.uint64)
    means: Floats = np.zeros((0, 0))


class FPUCBWork(NamedTuple):
    """By arm of A: a box of means, and which levels are in it.

    Attributes
    ----------
    playing
        Whether the arm is in the cycle.
    start, upto
        The levels in the box, from ``start`` to before ``upto``.
    order
        The order in which to check the arms.
    center, outer, inner
        The middle of the box, its radius, and that of a smaller one.
    """

    cycle: Counts
    playing: Counts
    start: Counts
    upto: Counts
    order: Counts
    center: Floats
    outer: Floats
    inner: Floats


@dataclass(frozen=True)
class FPUCB(Policy):
    """FP-UCB: play the best arms of all models that still fit, in turn.

    Parameters
    ----------
    slack : float, default 0.0
        By how much means may be off, on [0, 1], 0 or more: every confidence interval is wider by
        it on either side. For sets of models that are only approximately right.

    References
    ----------
    K. Panaganti, D. Kalathil: Bounded Regret for Finitely Parameterized Multi-Armed Bandits.
    """

    slack: float = 0.0

    name = "fp-ucb"
    eligible = Eligible.MARKED
    knows = "Θ: what every arm pays under every model"
    guarantee = "bounded regret where B(θ°) is empty, else ≤ D + 12 ln T Σ Δ_i/β_i²"

    def prepare(self, problem: Problem) -> FPUCBData:
        structure = Structure(problem)
        return self._sorted(structure.means, structure.candidate_arms, structure.best_arm)

    def restrict(
        self, problem: Problem, prepared: FPUCBData, context: int, among: Sequence[int]
    ) -> FPUCBData:
        """Sort Θ by the best of the eligible arms; models are tested on these and on A."""
        structure, eligible = Structure(problem), np.array(among)
        means = structure.means[:, eligible]
        best = eligible[(means >= means.max(axis=1, keepdims=True) - TOLERANCE).argmax(axis=1)]
        return self._sorted(structure.means, np.union1d(structure.candidate_arms, best), best)

    def _sorted(self, means: Floats, arms: Ints, best: Ints) -> FPUCBData:
        """Sort models by their best arms, and turn them into bits if means are few."""
        order = np.argsort(best, kind="stable")
        sizes = np.bincount(np.searchsorted(arms, best), minlength=len(arms)).astype(np.int64)
        prepared = FPUCBData(self.slack, arms.astype(np.int64), np.append(0, np.cumsum(sizes)))
        # Column by column: Θ may be large, and a copy of all means at once larger than the rest.
        levels: list[Floats] = []
        for arm in arms:
            levels.append(np.unique(means[:, arm]))
            if len(levels[-1]) > _MOST_LEVELS:
                of_arms = np.empty((len(arms), len(order)))
                for row, other in zip(of_arms, arms, strict=True):
                    row[:] = means[order, other]
                return prepared._replace(means=of_arms)
        table = np.zeros((len(arms), max(map(len, levels))))
        for row, level in zip(table, levels, strict=True):
            row[: len(level)] = level
        words = (sizes + 63) // 64
        # The bit of each model, counted over all words; segments start at whole words.
        firsts = 64 * np.append(0, np.cumsum(words)[:-1])
        numbers = np.concatenate(
            [first + np.arange(size) for first, size in zip(firsts, sizes, strict=True)]
        )
        flags = np.uint64(1) << (numbers % 64).astype(np.uint64)
        bits = np.zeros((*table.shape, words.sum()), dtype=np.uint64)
        for arm, level, of_arm in zip(arms, levels, bits, strict=True):
            codes = np.searchsorted(level, means[order, arm])
            np.bitwise_or.at(of_arm.reshape(-1), codes * of_arm.shape[1] + numbers // 64, flags)
        return prepared._replace(
            segments=np.append(0, np.cumsum(words)),
            levels=table,
            level_counts=np.array([len(level) for level in levels], np.int64),
            bits=bits,
            # Each model has some mean on the first arm.
            present=np.bitwise_or.reduce(bits[0], axis=0),
        )

    def workspace(self, prepared: FPUCBData, pairs: int) -> FPUCBWork:
        return FPUCBWork(*np.zeros((5, pairs), np.int64), *np.zeros((3, pairs)))

    @staticmethod
    def plan(
        prepared: FPUCBData, state: State, workspace: FPUCBWork, ahead: Ahead, random: Random
    ) -> Plan:
        arms = prepared.arms.size
        k = state.counters[CLOCK]
        if k == 0:  # line 1: each arm of A once, before the first episode
            for i in range(arms):
                workspace.cycle[i] = prepared.arms[i]
            state.counters[CLOCK] = 1
            return arms, 1

        center, radius = workspace.center, workspace.outer
        for i in range(arms):
            n = state.plays[prepared.arms[i]]
            # Live, an arm may have no reward yet: it rules no model out.
            center[i] = state.sums[prepared.arms[i]] / max(n, 1)
            radius[i] = math.sqrt(3 * math.log(k) / n) + prepared.slack if n > 0 else math.inf
        possible = _frame(prepared, workspace, radius)
        playing = workspace.playing
        length = 0
        for i in range(arms):
            playing[i] = 1 if possible and _occupied(prepared, i, workspace, radius) else 0
            if playing[i] == 1:
                workspace.cycle[length] = prepared.arms[i]
                length += 1
        nothing_fits = length == 0
        if nothing_fits:
            for i in range(arms):
                workspace.cycle[i] = prepared.arms[i]
            length = arms

        rounds = 1
        if k >= 3:
            rounds = certain_rounds(prepared, state, workspace, ahead, length)
        state.counters[CLOCK] = k + rounds
        # In the first episode the radius is 0, and nothing fits as a rule.
        if nothing_fits and k > 1:
            state.counters[MISFITS] += rounds * length
        return length, rounds

    @staticmethod
    def holds_for(
        prepared: FPUCBData, state: State, workspace: FPUCBWork, envelope: Envelope, rounds: int
    ) -> bool:
        arms = prepared.arms.size
        k = state.counters[CLOCK]
        playing = workspace.playing
        nothing_fits = True
        for i in range(arms):
            nothing_fits = nothing_fits and playing[i] == 0
        more = rounds - 1
        log_now, log_end = math.log(k), math.log(k + more)
        center, outer, inner = workspace.center, workspace.outer, workspace.inner
        for i in range(arms):
            arm = prepared.arms[i]
            n = state.plays[arm]
            if playing[i] == 1 or nothing_fits:
                low, high = mean_ahead(state, envelope, arm, more)
                center[i] = (low + high) / 2
                # A little to spare for rounding, on the safe side of each question.
                half = (high - low) / 2 + spare(center[i])
                outer[i] = math.sqrt(3 * log_now / n) + prepared.slack + half
                inner[i] = math.sqrt(3 * log_end / (n + more)) + prepared.slack - half
            else:
                # As in `plan`, to the last bit: far out the radius grows by less than a bit per
                # step, and anything to spare would keep thousands of steps from being leapt over.
                center[i] = state.sums[arm] / n
                outer[i] = math.sqrt(3 * log_end / n) + prepared.slack
                inner[i] = math.sqrt(3 * log_now / n) + prepared.slack
        if _frame(prepared, workspace, outer):
            for i in range(arms):
                if playing[i] == 0 and _occupied(prepared, i, workspace, outer):
                    return False
        if nothing_fits:
            return True
        if not _frame(prepared, workspace, inner):
            return False
        for i in range(arms):
            if playing[i] == 1 and not _occupied(prepared, i, workspace, inner):
                return False
        return True

    @staticmethod
    def observe(
        prepared: FPUCBData, state: State, arm: int, plays: int, total: float, random: Random
    ) -> None:
        count(state, arm, plays, total)  # the clock counts episodes


@jitted
def _frame(prepared: FPUCBData, workspace: FPUCBWork, radius: Floats) -> bool:
    """Prepare `_occupied` for the box |μ_i − center_i| ≤ radius_i; False if it is surely empty.

    Fill in the order in which to check the arms, the narrowest side of the box first, and, if there
    are bits, the levels in the box.
    """
    start, upto, order = workspace.start, workspace.upto, workspace.order
    center = workspace.center
    for i in range(prepared.arms.size):
        rank = i  # sort by insertion
        while rank > 0 and radius[order[rank - 1]] > radius[i]:
            order[rank] = order[rank - 1]
            rank -= 1
        order[rank] = i
        if prepared.bits.size > 0:
            lowest = 0
            highest = prepared.level_counts[i]
            while lowest < highest and not abs(prepared.levels[i, lowest] - center[i]) <= radius[i]:
                lowest += 1
            while (
                lowest < highest
                and not abs(prepared.levels[i, highest - 1] - center[i]) <= radius[i]
            ):
                highest -= 1
            if lowest == highest:
                return False
            start[i], upto[i] = lowest, highest
    return True


@jitted
def _occupied(prepared: FPUCBData, segment: int, workspace: FPUCBWork, radius: Floats) -> bool:
    """Tell whether some θ of a segment is in the box that `_frame` prepared."""
    arms, center = prepared.arms.size, workspace.center
    start, upto, order = workspace.start, workspace.upto, workspace.order
    first, last = prepared.segments[segment], prepared.segments[segment + 1]
    if prepared.bits.size > 0:
        for word in range(first, last):
            everywhere = prepared.present[word]
            for rank in range(arms):
                i = order[rank]
                # Take the levels in the box, or take away those outside, whichever are fewer.
                if 2 * (upto[i] - start[i]) <= prepared.level_counts[i]:
                    here = np.uint64(0)
                    for level in range(start[i], upto[i]):
                        here |= prepared.bits[i, level, word]
                    everywhere &= here
                else:
                    for level in range(start[i]):
                        everywhere &= ~prepared.bits[i, level, word]
                    for level in range(upto[i], prepared.level_counts[i]):
                        everywhere &= ~prepared.bits[i, level, word]
                if everywhere == 0:
                    break
            if everywhere != 0:
                return True
        return False
    for model in range(first, last):
        inside = True
        for rank in range(arms):
            i = order[rank]
            if not abs(prepared.means[i, model] - center[i]) <= radius[i]:
                inside = False
                break
        if inside:
            return True
    return False
