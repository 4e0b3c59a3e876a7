"""Any number of models: a lower bound on Bayes regret, from pairs of them.

V(p), the least Bayes regret from a belief p, is concave in p: it is a minimum over policies of what
each loses, which is linear in p. So however the prior is split into beliefs, π = Σ_s λ_s·p_s with λ
≥ 0, concavity gives V(π) ≥ Σ_s λ_s·V(p_s). Where only two models are possible under p_s, V(p_s) is
known from below (`fpbandits.theory.beliefs`). The best split is a linear program in λ, with a
column for each belief and a row for each model; any λ that keeps the rows is a proof.

(The same in words: before the first play somebody names a pair of models that holds the truth. Who
is told more can only lose less.)
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from typing import Any, cast

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

from fpbandits.core.arrays import Floats, Ints
from fpbandits.problem.problem import Problem
from fpbandits.theory.beliefs import BUDGET, Beliefs
from fpbandits.theory.structure import gaps_by_pair

_MOST_PAIRS = 1_000
"""Pairs that are looked at; of more, those that are dearest to tell apart."""

_BUDGET = 25 * BUDGET
"""Multiplications of all pairs together, about."""

_BELIEFS = np.linspace(-15, 15, 61)
"""Log-odds of the beliefs of a pair that the prior may be split into."""


def floor_by_pairs(problem: Problem, times: Sequence[int]) -> Floats:
    """Return a lower bound on the Bayes regret of any policy, for each of these horizons."""
    prior = np.array(problem.prior or [1 / len(problem.models)] * len(problem.models))
    pairs = dear_pairs(problem)
    if not len(pairs):
        return np.zeros(len(times))
    columns = np.arange(len(problem.arms))

    def values(pair: Ints) -> tuple[Floats, Floats]:
        both = replace(problem, prior=None).reordered(pair, columns)
        beliefs = Beliefs.of(both, times[-1], min(_BUDGET / len(pairs), BUDGET / 4))
        points = np.unique(np.abs(beliefs.log_odds[:, np.newaxis] - _BELIEFS).argmin(axis=0))
        _, kept = beliefs.lower(times)
        return beliefs.posterior[points], kept[:, points]

    with ThreadPoolExecutor() as executor:
        found = list(executor.map(values, pairs))
    beliefs = np.concatenate([shares for shares, _ in found])
    worth = np.concatenate([kept for _, kept in found], axis=1)
    rows = np.repeat(pairs, [len(shares) for shares, _ in found], axis=0)
    places = np.arange(len(beliefs)).repeat(2)
    split = csr_array((beliefs.ravel(), (rows.ravel(), places)), (len(prior), len(beliefs)))
    return np.array([_best_split(split, each, prior) for each in worth])


def dear_pairs(problem: Problem) -> Ints:
    """Return the pairs of models that share no best arm, or the dearest to tell apart of many."""
    models = len(problem.models)
    flat = gaps_by_pair(problem)
    gaps = flat.reshape(models, -1, len(problem.arms))
    shares = np.array(problem.shares or (1.0,))
    pairs = np.array(list(combinations(range(models), 2)), dtype=np.intp)
    first, second = pairs.T
    least = np.zeros(len(pairs))
    for context, share in enumerate(shares):
        least += share * (gaps[first, context] + gaps[second, context]).min(axis=1)
    pairs = pairs[least > 0]
    if len(pairs) <= _MOST_PAIRS:
        return pairs
    # What a nat costs on the arm where it is cheapest, when both models are equally likely.
    told = np.stack([problem.rewards.divergence(m, np.arange(models)) for m in range(models)])
    first, second = pairs.T
    with np.errstate(divide="ignore", invalid="ignore"):
        price = (flat[first] + flat[second]) / (told[first, second] + told[second, first])
    dearest = np.nan_to_num(price, nan=np.inf).min(axis=1).argsort(kind="stable")[::-1]
    kept: Ints = pairs[np.sort(dearest[:_MOST_PAIRS])]
    return kept


def _best_split(split: csr_array, worth: Floats, prior: Floats) -> float:
    """Return Σ λ·V for the best λ; what is left of the prior is certainty, which loses nothing."""
    solved = linprog(-worth, A_ub=cast(Any, split), b_ub=prior, method="highs")
    if solved.x is None:
        return 0.0
    shares = np.maximum(solved.x, 0)
    # The solver keeps the rows to some digits: scaled down, they are kept to the last.
    return float(shares @ worth / max(1.0, ((split @ shares) / prior).max()))
