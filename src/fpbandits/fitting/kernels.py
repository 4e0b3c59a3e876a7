"""The loops of expectation-maximisation, compiled. They fill arrays, and check nothing.

Group g has the cells ``members[starts[g] : starts[g + 1]]``, and ``weights[g]`` units. A cell has a
pair, plays and summed statistics [cell, k]. ``table[cell, type]`` is −ℓ of a cell under a type:
its plays times ``base`` and its sums times ``cost`` of its pair, see `Estimator.laws`.
"""

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
    """Fill ``table``; ``cost`` is [pair, k, type]."""
    types, statistics = base.shape[1], sums.shape[1]
    for cell in range(pair.size):
        its_pair = pair[cell]
        for kind in range(types):
            table[cell, kind] = plays[cell] * base[its_pair, kind]
        for k in range(statistics):
            total = sums[cell, k]
            if total != 0.0:
                for kind in range(types):
                    table[cell, kind] += total * cost[its_pair, k, kind]


@compiled
def weigh(
    group: int, starts: Any, members: Any, log_shares: Any, table: Any, weights: Any
) -> tuple[float, float]:
    """Set weights[type] to how likely a unit of the group is of each type, but for a factor.

    Return the logarithm of that factor, and the sum of the weights.
    """
    types = log_shares.size
    for kind in range(types):
        weights[kind] = log_shares[kind]
    for member in range(starts[group], starts[group + 1]):
        cell = members[member]
        for kind in range(types):
            weights[kind] -= table[cell, kind]
    top = -math.inf
    for kind in range(types):
        top = max(top, weights[kind])
    total = 0.0
    for kind in range(types):
        weights[kind] = math.exp(weights[kind] - top)
        total += weights[kind]
    return top, total


@compiled
def expect(
    starts: Any,
    members: Any,
    weights: Any,
    log_shares: Any,
    table: Any,
    posterior: Any,
    mass: Any,
    counts: Any,
    each: Any,
) -> float:
    """Add up how many units of each cell (mass) and in all (counts) belong to each type.

    ``each`` becomes the log-likelihood of one unit of each group; return that of all units.
    ``posterior`` is a workspace, by type.
    """
    types = log_shares.size
    mass[:] = 0.0
    counts[:] = 0.0
    total = 0.0
    for group in range(weights.size):
        if weights[group] == 0.0:  # as in a bootstrap
            each[group] = 0.0
            continue
        top, scale = weigh(group, starts, members, log_shares, table, posterior)
        each[group] = top + math.log(scale)
        total += weights[group] * each[group]
        scale = weights[group] / scale
        for kind in range(types):
            posterior[kind] *= scale
            counts[kind] += posterior[kind]
        for member in range(starts[group], starts[group + 1]):
            cell = members[member]
            for kind in range(types):
                mass[cell, kind] += posterior[kind]
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
        its_pair = pair[cell]
        for kind in range(types):
            all_plays[its_pair, kind] += mass[cell, kind] * plays[cell]
        for k in range(statistics):
            total = sums[cell, k]
            if total != 0.0:
                for kind in range(types):
                    all_sums[its_pair, k, kind] += mass[cell, kind] * total


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
            log_weight = log_shares[kind]
            for index in range(starts[group], starts[group + 1]):
                log_weight -= table[members[index], kind]
            if log_weight > top:
                scale = scale * math.exp(top - log_weight) + 1.0
                top = log_weight
            else:
                scale += math.exp(log_weight - top)
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
    posterior: Any,
    indices: Any,
    score: Any,
    information: Any,
) -> None:
    """Add up the outer products of the scores of units.

    A unit's score is the sum of its cells' scores under each type, weighted by the probability that
    the unit is of that type. Its entries are in this order: by pair, type and parameter; those of
    common parameters; log-shares. ``posterior``, ``indices`` and ``score`` are workspaces.
    """
    types, depth = log_shares.size, slope_base.shape[2]
    statistics, common = sums.shape[1], common_base.shape[2]
    pairs = slope_base.shape[0]
    first_common = pairs * types * depth
    for group in range(weights.size):
        _, scale = weigh(group, starts, members, log_shares, table, posterior)
        for kind in range(types):
            posterior[kind] /= scale
        filled = 0
        for q in range(common):
            indices[filled] = first_common + q
            score[filled] = 0.0
            filled += 1
        for kind in range(types):
            indices[filled] = first_common + common + kind
            score[filled] = posterior[kind] - math.exp(log_shares[kind])
            filled += 1
        for member in range(starts[group], starts[group + 1]):
            cell = members[member]
            its_pair = pair[cell]
            for kind in range(types):
                for d in range(depth):
                    value = -plays[cell] * slope_base[its_pair, kind, d]
                    for k in range(statistics):
                        value -= sums[cell, k] * slope_cost[its_pair, kind, k, d]
                    indices[filled] = (its_pair * types + kind) * depth + d
                    score[filled] = posterior[kind] * value
                    filled += 1
                for q in range(common):
                    value = -plays[cell] * common_base[its_pair, kind, q]
                    for k in range(statistics):
                        value -= sums[cell, k] * common_cost[its_pair, kind, k, q]
                    score[q] += posterior[kind] * value
        for i in range(filled):
            for j in range(filled):
                information[indices[i], indices[j]] += weights[group] * score[i] * score[j]
