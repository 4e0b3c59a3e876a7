"""The loops of expectation-maximisation, compiled. They fill arrays, and check nothing."""

from __future__ import annotations

import math
from typing import Any

from fpbandits.engine.compiling import compiled


@compiled
def tabulate(
    pair: Any,
    plays: Any,
    sums: Any,
    base: Any,
    cost: Any,
    table: Any,
) -> None:
    """Set table[cell, type] to what each type costs each distinct cell; cost is [pair, k, type]."""
    types, statistics = base.shape[1], sums.shape[1]
    for cell in range(pair.size):
        own = pair[cell]
        number = plays[cell]
        for kind in range(types):
            table[cell, kind] = number * base[own, kind]
        for k in range(statistics):
            number = sums[cell, k]
            if number != 0.0:
                for kind in range(types):
                    table[cell, kind] += number * cost[own, k, kind]


@compiled
def expect(
    starts: Any,
    members: Any,
    weights: Any,
    log_shares: Any,
    table: Any,
    row: Any,
    mass: Any,
    counts: Any,
    each: Any,
) -> float:
    """Add up how much of each cell (mass) and each group (counts) belongs to each type.

    ``each`` becomes the log-likelihood of one unit of each group; return that of all units.
    """
    types = log_shares.size
    mass[:] = 0.0
    counts[:] = 0.0
    total = 0.0
    for group in range(weights.size):
        weight = weights[group]
        if weight == 0.0:
            each[group] = 0.0
            continue
        for kind in range(types):
            row[kind] = log_shares[kind]
        for place in range(starts[group], starts[group + 1]):
            cell = members[place]
            for kind in range(types):
                row[kind] -= table[cell, kind]
        top = row[0]
        for kind in range(1, types):
            top = max(top, row[kind])
        scale = 0.0
        for kind in range(types):
            row[kind] = math.exp(row[kind] - top)
            scale += row[kind]
        each[group] = top + math.log(scale)
        total += weight * each[group]
        scale = weight / scale
        for kind in range(types):
            row[kind] *= scale
            counts[kind] += row[kind]
        for place in range(starts[group], starts[group + 1]):
            cell = members[place]
            for kind in range(types):
                mass[cell, kind] += row[kind]
    return float(total)


@compiled
def gather(
    pair: Any,
    plays: Any,
    sums: Any,
    mass: Any,
    all_plays: Any,
    all_sums: Any,
) -> None:
    """Add up the plays [pair, type] and sums [pair, k, type] of cells."""
    types, statistics = mass.shape[1], sums.shape[1]
    all_plays[:] = 0.0
    all_sums[:] = 0.0
    for cell in range(pair.size):
        own = pair[cell]
        number = plays[cell]
        for kind in range(types):
            all_plays[own, kind] += mass[cell, kind] * number
        for k in range(statistics):
            number = sums[cell, k]
            if number != 0.0:
                for kind in range(types):
                    all_sums[own, k, kind] += mass[cell, kind] * number


@compiled
def assign(
    starts: Any,
    members: Any,
    log_shares: Any,
    table: Any,
    surest: Any,
) -> None:
    """Set surest[group] to the probability of the likeliest type of its units."""
    types = log_shares.size
    for group in range(surest.size):
        top = -math.inf
        scale = 0.0
        for kind in range(types):
            own = log_shares[kind]
            for place in range(starts[group], starts[group + 1]):
                own -= table[members[place], kind]
            if own > top:
                scale = scale * math.exp(top - own) + 1.0 if scale > 0 else 1.0
                top = own
            else:
                scale += math.exp(own - top)
        surest[group] = 1 / scale


@compiled
def add_scores(
    starts: Any,
    members: Any,
    pair: Any,
    plays: Any,
    sums: Any,
    weights: Any,
    log_shares: Any,
    table: Any,
    slope_base: Any,
    slope_cost: Any,
    common_base: Any,
    common_cost: Any,
    row: Any,
    places: Any,
    score: Any,
    information: Any,
) -> None:
    """Add up the outer products of the scores of units.

    A unit's score is that of its cells, each type's by the probability that the unit is of it. The
    numbers stand in this order: by pair, type and parameter; the common ones; log-shares.
    """
    types, depth = log_shares.size, slope_base.shape[2]
    statistics, common = sums.shape[1], common_base.shape[2]
    pairs = slope_base.shape[0]
    after = pairs * types * depth
    for group in range(weights.size):
        weight = weights[group]
        if weight == 0.0:
            continue
        top = -math.inf
        for kind in range(types):
            row[kind] = log_shares[kind]
            for place in range(starts[group], starts[group + 1]):
                row[kind] -= table[members[place], kind]
            top = max(top, row[kind])
        scale = 0.0
        for kind in range(types):
            row[kind] = math.exp(row[kind] - top)
            scale += row[kind]
        for kind in range(types):
            row[kind] /= scale
        filled = 0
        for q in range(common):
            places[filled] = after + q
            score[filled] = 0.0
            filled += 1
        for kind in range(types):
            places[filled] = after + common + kind
            score[filled] = row[kind] - math.exp(log_shares[kind])
            filled += 1
        for place in range(starts[group], starts[group + 1]):
            cell = members[place]
            own = pair[cell]
            for kind in range(types):
                for d in range(depth):
                    value = -plays[cell] * slope_base[own, kind, d]
                    for k in range(statistics):
                        value -= sums[cell, k] * slope_cost[own, kind, k, d]
                    places[filled] = (own * types + kind) * depth + d
                    score[filled] = row[kind] * value
                    filled += 1
                for q in range(common):
                    value = -plays[cell] * common_base[own, kind, q]
                    for k in range(statistics):
                        value -= sums[cell, k] * common_cost[own, kind, k, q]
                    score[q] += row[kind] * value
        for i in range(filled):
            for j in range(filled):
                information[places[i], places[j]] += weight * score[i] * score[j]
