"""The recursions of `fpbandits.theory.beliefs`, compiled. They fill arrays, and check nothing.

Arrays over the grid have a margin on both sides, for beliefs beyond its ends; ``decay[k]`` is the
factor by which the odds fall over k + 1 points. Pairs of a context and an arm are numbered context
by context, and ``gaps`` is [model, pair]. The entries ``offsets[i]`` to ``offsets[i + 1]`` of
``shifts``, and of the arrays beside it, say where one play of pair i moves a belief, in points of
the grid. Values and regret are divided by p(θ¹), as in `fpbandits.theory.beliefs`.

**Arms that may be left out.** Let Q_n(i) be the value of n plays that begin with arm i, and V_n
their minimum. Q_n(i) never falls as n grows. V_n grows by no more, at any belief, than it did
anywhere one play before: a play averages V_{n−1} with weights that add up to at most one. So where
Q_n(i) exceeds V_n by `REVIEW` times the latest growth, arm i is not best in the next `REVIEW`
plays. Every `REVIEW` plays all arms are tried at all points; until then arm i is tried only between
``ranges[i, 0]`` and ``ranges[i, 1]``, which enclose the points where it may be best.
"""

from __future__ import annotations

import math
from typing import Any

from fpbandits.engine.compiling import compiled, jitted

REVIEW = 32
"""Plays between two reviews of the arms."""


@compiled
def lower_recursion(
    offsets: Any,
    shifts: Any,
    weights: Any,
    gaps: Any,
    odds: Any,
    shares: Any,
    decay: Any,
    first: int,
    last: int,
    values: Any,
    ranges: Any,
    work: Any,
) -> None:
    """Turn ``values`` for ``first`` plays into those for ``last``, by chords.

    ``values`` is the grid with its margins. ``work`` is a row of the grid for each pair, and two.
    """
    contexts, points, margin = shares.size, odds.size, decay.size
    arms = gaps.shape[1] // contexts
    best, total = work[-2], work[-1]
    for plays in range(first + 1, last + 1):
        review = plays % REVIEW == 0
        if review:
            ranges[:, 0] = 0
            ranges[:, 1] = points
        for k in range(margin):
            values[margin - 1 - k] = values[margin] * decay[k]
            values[margin + points + k] = values[margin + points - 1]
        total[:] = 0.0
        for context in range(contexts):
            best[:] = math.inf
            for pair in range(context * arms, (context + 1) * arms):
                low, count = ranges[pair, 0], ranges[pair, 1] - ranges[pair, 0]
                of_pair = work[pair if review else 0, low:]
                own_best, own_odds = best[low:], odds[low:]
                for point in range(count):
                    of_pair[point] = gaps[0, pair] + gaps[1, pair] * own_odds[point]
                for entry in range(offsets[pair], offsets[pair + 1]):
                    weight = weights[entry]
                    moved = values[margin + shifts[entry] + low :]
                    for point in range(count):
                        of_pair[point] += weight * moved[point]
                for point in range(count):
                    own_best[point] = min(own_best[point], of_pair[point])
            for point in range(points):
                total[point] += shares[context] * best[point]
        if review:
            growth = 0.0
            for point in range(points):
                growth = max(growth, (total[point] - values[margin + point]) / (1 + odds[point]))
            _narrow(ranges, work, odds, arms, REVIEW * growth)
        for point in range(points):
            # The least regret never falls as plays are added; on a coarser grid its bound may.
            values[margin + point] = max(values[margin + point], total[point])


@jitted
def _narrow(ranges: Any, of_pairs: Any, odds: Any, arms: int, slack: float) -> None:
    """Set the range of each pair to the points where it is within ``slack`` of the best arm.

    ``of_pairs`` is [pair, point], divided by p(θ¹); ``slack`` is not.
    """
    for pair in range(len(ranges)):
        ranges[pair, 0], ranges[pair, 1] = odds.size, 0
    for context in range(len(ranges) // arms):
        pairs = range(context * arms, (context + 1) * arms)
        for point in range(odds.size):
            best = math.inf
            for pair in pairs:
                best = min(best, of_pairs[pair, point])
            for pair in pairs:
                if of_pairs[pair, point] <= best + slack * (1 + odds[point]):
                    ranges[pair, 0] = min(ranges[pair, 0], point)
                    ranges[pair, 1] = point + 1


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
    first: int,
    regret: Any,
    ranges: Any,
    work: Any,
    curve: Any,
    choices: Any,
) -> None:
    """Turn ``regret`` for ``first`` plays into that for as many more as ``curve`` is long.

    ``curve[n]`` becomes the regret of the policy of point ``start`` for first + n + 1 plays.
    ``regret`` is two rows of the grid with its margins: what the policy of each point loses under
    the first model (a), and under the second times the odds (b). ``chances`` has three rows: the
    probability of each entry under the first model, and that under the second over e^ℓ at the
    entry's lower and at its upper end. ``choices[n, context, point]`` becomes the arm of the policy
    with n + 1 plays left, unless ``choices`` is empty. ``work`` is a row of the grid for each pair,
    and six.

    The values of a policy may fall as plays are added, so that leaving arms out is a guess here; a
    policy that tries fewer arms is one too.
    """
    contexts, points, margin = shares.size, odds.size, decay.size
    arms = gaps.shape[1] // contexts
    pair_a, pair_b, best_a, best_b = work[-6], work[-5], work[-4], work[-3]
    total_a, total_b = work[-2], work[-1]
    for plays in range(first + 1, first + curve.size + 1):
        review = plays % REVIEW == 0
        if review:
            ranges[:, 0] = 0
            ranges[:, 1] = points
        for k in range(margin):
            regret[0, margin - 1 - k] = regret[0, margin]
            regret[1, margin - 1 - k] = regret[1, margin] * decay[k]
            regret[0, margin + points + k] = regret[0, margin + points - 1]
            regret[1, margin + points + k] = regret[1, margin + points - 1] / decay[k]
        total_a[:] = 0.0
        total_b[:] = 0.0
        for context in range(contexts):
            best_a[:] = math.inf
            for arm in range(arms):
                pair = context * arms + arm
                begin, count = ranges[pair, 0], ranges[pair, 1] - ranges[pair, 0]
                own_odds, of_pair = odds[begin:], work[pair, begin:]
                own_a, own_b = best_a[begin:], best_b[begin:]
                for point in range(count):
                    pair_a[point] = gaps[0, pair]
                    pair_b[point] = gaps[1, pair] * own_odds[point]
                for entry in range(offsets[pair], offsets[pair + 1]):
                    low = margin + begin + shifts[entry]
                    high = low + widths[entry]
                    low_a, low_b = regret[0, low:], regret[1, low:]
                    high_a, high_b = regret[0, high:], regret[1, high:]
                    p, q, r = chances[0, entry], chances[1, entry], chances[2, entry]
                    for point in range(count):
                        a, b = p * low_a[point], q * low_b[point]
                        c, d = p * high_a[point], r * high_b[point]
                        lower = a + b <= c + d
                        pair_a[point] += a if lower else c
                        pair_b[point] += b if lower else d
                if choices.size > 0:
                    for point in range(count):
                        if pair_a[point] + pair_b[point] < own_a[point] + own_b[point]:
                            choices[plays - 1, context, begin + point] = arm
                if review:
                    for point in range(count):
                        of_pair[point] = pair_a[point] + pair_b[point]
                for point in range(count):
                    better = pair_a[point] + pair_b[point] < own_a[point] + own_b[point]
                    own_a[point] = pair_a[point] if better else own_a[point]
                    own_b[point] = pair_b[point] if better else own_b[point]
            for point in range(points):
                total_a[point] += shares[context] * best_a[point]
                total_b[point] += shares[context] * best_b[point]
        if review:
            growth = 0.0
            for point in range(points):
                before = regret[0, margin + point] + regret[1, margin + point]
                more = total_a[point] + total_b[point] - before
                growth = max(growth, more / (1 + odds[point]))
            _narrow(ranges, work, odds, arms, REVIEW * growth)
        for point in range(points):
            regret[0, margin + point] = total_a[point]
            regret[1, margin + point] = total_b[point]
        curve[plays - first - 1] = total_a[start] + total_b[start]
