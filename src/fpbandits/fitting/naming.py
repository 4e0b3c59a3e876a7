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
    """Return the names of the types, and the index of the type that each names.

    ``means`` are [pair, type], ``pairs`` the names of the pairs, ``like`` the earlier models.
    """
    by_share = np.argsort(-shares, kind="stable")
    earlier = () if like is None else like.models
    type_of = {} if like is None else _match(means, pairs, like)
    old = [name for name in earlier if name in type_of]
    new = [int(kind) for kind in by_share if kind not in type_of.values()]
    free = (name for name in map("type{}".format, count(1)) if name not in earlier)
    names = (*old, *(next(free) for _ in new))
    return names, np.array([*(type_of[name] for name in old), *new])


def _match(means: Floats, pairs: Sequence[str], like: Problem) -> dict[str, int]:
    """Return the type that each earlier model is matched with, if it is."""
    from scipy.optimize import linear_sum_assignment

    earlier = {name: column for column, name in enumerate(like.pair_names)}
    common = [pair for pair, name in enumerate(pairs) if name in earlier]
    if not common:
        raise InputError(f"{like.name} has no arm in common with the log", about=("like",))
    after = means[common].T
    before = like.rewards.means[:, [earlier[pairs[pair]] for pair in common]]
    away = ((after[:, np.newaxis] - before) ** 2).sum(axis=2)
    weights = np.ones(len(before)) if like.prior is None else np.array(like.prior)
    average = weights @ before / weights.sum()
    from_average = ((after - average) ** 2).sum(axis=1)
    return {
        like.models[model]: int(kind)
        for kind, model in zip(*linear_sum_assignment(away), strict=True)
        if away[kind, model] <= from_average[kind]
    }
