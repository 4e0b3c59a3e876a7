"""Names and order of types: by falling share, or those of an earlier fit.

A type keeps the name of an earlier model if the two are matched: of all one-to-one matchings, the
one with the least squared differences of means, over the arms and contexts that both have. A type
that is nearer to the average of the earlier models than to its match is a new one. Matched types
stand in the earlier order; new ones follow by falling share, with numbers that are not taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import numpy as np

from fpbandits.core.arrays import Floats, Ints
from fpbandits.errors import InputError
from fpbandits.problem.problem import Problem


def names_and_order(
    shares: Floats, means: Floats, pairs: Sequence[str], like: Problem | None
) -> tuple[tuple[str, ...], Ints]:
    """Return the names of types and which type each is; means are [pair, type]."""
    by_share = np.argsort(-shares, kind="stable")
    kept = {} if like is None else _matched(means, pairs, like)
    old = [name for name in (() if like is None else like.models) if name in kept]
    new = [int(kind) for kind in by_share if kind not in kept.values()]
    taken = set() if like is None else set(like.models)
    free = (name for name in map("type{}".format, count(1)) if name not in taken)
    names = (*old, *(next(free) for _ in new))
    return names, np.array([*(kept[name] for name in old), *new])


def _matched(means: Floats, pairs: Sequence[str], like: Problem) -> dict[str, int]:
    """Return which type each earlier model is matched with."""
    from scipy.optimize import linear_sum_assignment

    earlier = {name: column for column, name in enumerate(like.pair_names)}
    common = [pair for pair, name in enumerate(pairs) if name in earlier]
    if not common:
        raise InputError(f"{like.name} has no arm in common with the log", about=("like",))
    own = means[common].T
    before = like.rewards.means[:, [earlier[pairs[pair]] for pair in common]]
    away = ((own[:, np.newaxis] - before) ** 2).sum(axis=2)
    weights = np.ones(len(before)) if like.prior is None else np.array(like.prior)
    average = weights @ before / weights.sum()
    from_average = ((own - average) ** 2).sum(axis=1)
    return {
        like.models[model]: int(kind)
        for kind, model in zip(*linear_sum_assignment(away), strict=True)
        if away[kind, model] <= from_average[kind]
    }
