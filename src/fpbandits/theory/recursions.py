"""The recursions of `fpbandits.theory.beliefs`, compiled. They fill arrays, and check nothing.

Arrays over the grid have a margin on both sides, for beliefs beyond its ends; ``decay[k]`` is the
factor by which the odds fall over k + 1 points. Pairs of a context and an arm are numbered context
by context, and ``gaps`` is [model, pair]. The entries ``offsets[i]`` to ``offsets[i + 1]`` of
``shifts``, and of the arrays beside it, say where one play of pair i moves a belief, in points of
the grid. Values and regret are divided by p(θ¹), as in `fpbandits.theory.beliefs`.
"""

from __future__ import annotations

import math
from typing import Any

from fpbandits.engine.compiling import compiled


@compiled
def lower_recursion(
    offsets: Any,
    shifts: Any,
    weights: Any,
    gaps: Any,
    odds: Any,
    shares: Any,
    decay: Any,
    start: int,
    times: Any,
    values: Any,
    work: Any,
    curve: Any,
    at_times: Any,
) -> None:
    """Fill ``curve[n]`` with the value of point ``start`` for n + 1 plays, by chords.

    ``at_times[k]`` becomes the value of every point for ``times[k]`` plays. ``values``, zeros at
    first, is the grid with its margins; ``work`` is three rows of the grid.
    """
    contexts, points, margin = shares.size, odds.size, decay.size
    arms = gaps.shape[1] // contexts
    of_pair, best, total = work[0], work[1], work[2]
    next_time = 0
    for plays in range(1, times[-1] + 1):
        for k in range(margin):
            values[margin - 1 - k] = values[margin] * decay[k]
            values[margin + points + k] = values[margin + points - 1]
        for point in range(points):
            total[point] = 0.0
        for context in range(contexts):
            for point in range(points):
                best[point] = math.inf
            for pair in range(context * arms, (context + 1) * arms):
                for point in range(points):
                    of_pair[point] = gaps[0, pair] + gaps[1, pair] * odds[point]
                for entry in range(offsets[pair], offsets[pair + 1]):
                    weight = weights[entry]
                    moved = values[margin + shifts[entry] :]
                    for point in range(points):
                        of_pair[point] += weight * moved[point]
                for point in range(points):
                    best[point] = min(best[point], of_pair[point])
            for point in range(points):
                total[point] += shares[context] * best[point]
        for point in range(points):
            values[margin + point] = total[point]
        curve[plays - 1] = total[start]
        if plays == times[next_time]:
            for point in range(points):
                at_times[next_time, point] = total[point]
            next_time += 1


@compiled
def upper_recursion(
    offsets: Any,
    shifts: Any,
    widths: Any,
    chances: Any,
    gaps: Any,
    odds: Any,
    shares: Any,
    decay: Any,
    start: int,
    regret: Any,
    work: Any,
    curve: Any,
    choices: Any,
) -> None:
    """Fill ``curve[n]`` with the regret of the policy of point ``start`` for n + 1 plays.

    ``regret``, zeros at first, is two rows of the grid with its margins: what the policy of each
    point loses under the first model (a), and under the second times the odds (b). ``chances`` has
    three rows: the probability of each entry under the first model, and that under the second over
    e^ℓ at the entry's lower and at its upper end. ``choices[n, context, point]`` becomes the arm of
    the policy with n + 1 plays left, unless ``choices`` is empty. ``work`` is six rows of the grid.
    """
    contexts, points, margin = shares.size, odds.size, decay.size
    arms = gaps.shape[1] // contexts
    pair_a, pair_b, best_a, best_b = work[0], work[1], work[2], work[3]
    for plays in range(1, curve.size + 1):
        for k in range(margin):
            regret[0, margin - 1 - k] = regret[0, margin]
            regret[1, margin - 1 - k] = regret[1, margin] * decay[k]
            regret[0, margin + points + k] = regret[0, margin + points - 1]
            regret[1, margin + points + k] = regret[1, margin + points - 1] / decay[k]
        for point in range(points):
            work[4, point] = 0.0
            work[5, point] = 0.0
        for context in range(contexts):
            for point in range(points):
                best_a[point] = math.inf
            for arm in range(arms):
                pair = context * arms + arm
                for point in range(points):
                    pair_a[point] = gaps[0, pair]
                    pair_b[point] = gaps[1, pair] * odds[point]
                for entry in range(offsets[pair], offsets[pair + 1]):
                    low = margin + shifts[entry]
                    high = low + widths[entry]
                    low_a, low_b = regret[0, low:], regret[1, low:]
                    high_a, high_b = regret[0, high:], regret[1, high:]
                    p, q, r = chances[0, entry], chances[1, entry], chances[2, entry]
                    for point in range(points):
                        a, b = p * low_a[point], q * low_b[point]
                        c, d = p * high_a[point], r * high_b[point]
                        lower = a + b <= c + d
                        pair_a[point] += a if lower else c
                        pair_b[point] += b if lower else d
                if choices.size > 0:
                    for point in range(points):
                        if pair_a[point] + pair_b[point] < best_a[point] + best_b[point]:
                            choices[plays - 1, context, point] = arm
                for point in range(points):
                    better = pair_a[point] + pair_b[point] < best_a[point] + best_b[point]
                    best_a[point] = pair_a[point] if better else best_a[point]
                    best_b[point] = pair_b[point] if better else best_b[point]
            for point in range(points):
                work[4, point] += shares[context] * best_a[point]
                work[5, point] += shares[context] * best_b[point]
        for point in range(points):
            regret[0, margin + point] = work[4, point]
            regret[1, margin + point] = work[5, point]
        curve[plays - 1] = work[4, start] + work[5, start]
