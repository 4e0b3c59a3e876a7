"""Any number of models: a lower bound on Bayes regret, from pairs of them.

V(p), the least Bayes regret from a belief p, is concave in p: it is a minimum over policies of what
each loses, which is linear in p. So however the prior is split into beliefs, π = Σ_s λ_s·p_s with λ
≥ 0, concavity gives V(π) ≥ Σ_s λ_s·V(p_s). Where only two models are possible under p_s, V(p_s) is
bounded from below (`fpbandits.theory.beliefs`). The best split is the solution of a linear program
in λ, with a column for each belief and a row for each model; any feasible λ proves a bound.

(In words: before the first play the policy is told a pair of models that contains the truth. With
this information the best policy can only lose less.)

A pair is here two models. (In `gaps_by_pair` it is a context and an arm.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import combinations
from threading import Event
from typing import Any, cast

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.special import expit

from fpbandits.core.arrays import Floats, Ints
from fpbandits.problem.problem import Problem
from fpbandits.theory.bracket import Lower, follow, stages
from fpbandits.theory.structure import gaps_by_pair

_MOST_PAIRS = 1_000
"""Pairs in the program; if there are more, those that cost most to tell apart are taken."""

_BUDGET = 1e10
"""About how many multiplications all pairs together may take in each of the `stages`, which are
stretches of the horizon. It is no strict limit (see `fpbandits.theory.beliefs`). One pair may take
at most a hundredth of it."""

_LOG_ODDS = np.linspace(-15, 15, 61)
"""The beliefs that the prior may be split into: log-odds of a pair's second model against its
first."""

_PATIENCE = 0.1
"""Seconds between two reports of progress."""


def floor_by_pairs(
    problem: Problem, times: Sequence[int], tell: Callable[[float], None] = lambda share: None
) -> Floats:
    """Return for each horizon in ``times``, which increase, a lower bound on any Bayes regret.

    ``tell`` is called, in this thread, with the share of the work that is done. An error that it
    raises ends the work.
    """
    prior = np.array(problem.prior or [1 / len(problem.models)] * len(problem.models))
    pairs = costly_pairs(problem)
    if not len(pairs):
        return np.zeros(len(times))
    budget = _BUDGET / max(len(pairs), 100)
    arms = np.arange(len(problem.arms))
    done = np.zeros(len(pairs))
    stopped = Event()

    def solve(number: int) -> Floats:
        """Return lower bounds on V at the beliefs of a pair: [time, belief]."""

        def note(share: float) -> None:
            done[number] = share
            if stopped.is_set():
                raise CancelledError

        # These two models only. Bounds are computed at every belief of `_LOG_ODDS`, so the prior of
        # the two is not used.
        two_models = replace(problem, prior=None).reordered(pairs[number], arms)
        best_by_plays, best = {}, np.zeros(len(_LOG_ODDS))
        # `follow` yields a bound at each of ``times``, and also at the end of each stage.
        for lower in follow(Lower, stages(two_models, times[-1], budget), times, note):
            # Regret never falls as plays are added; a bound may, where a coarser grid begins.
            best_by_plays[lower.plays] = best = np.maximum(best, lower.at(_LOG_ODDS))
        return np.array([best_by_plays[time] for time in times])

    with ThreadPoolExecutor() as executor:
        futures = [executor.submit(solve, number) for number in range(len(pairs))]
        try:
            while wait(futures, timeout=_PATIENCE).not_done:
                tell(float(done.mean()))
        except BaseException:
            stopped.set()
            executor.shutdown(cancel_futures=True)
            raise
    values = np.concatenate([future.result() for future in futures], axis=1)  # [time, belief]
    of_a_pair = np.column_stack([expit(-_LOG_ODDS), expit(_LOG_ODDS)])
    probabilities = np.tile(of_a_pair, (len(pairs), 1))
    models = np.repeat(pairs, len(of_a_pair), axis=0)  # [belief, 2], as `probabilities` is
    columns = np.arange(len(models)).repeat(2)
    beliefs = csr_array(
        (probabilities.ravel(), (models.ravel(), columns)), (len(prior), len(models))
    )
    found = []
    for values_at_time in values:
        tell(1.0)  # the programs are quick; between two of them the caller may end the work
        found.append(_best_split(beliefs, values_at_time, prior))
    return np.array(found)


def costly_pairs(problem: Problem) -> Ints:
    """Return the pairs of models that share no best arm in some context: [pair, 2].

    If there are more than `_MOST_PAIRS`, those that cost most to tell apart.
    """
    models = len(problem.models)
    flat_gaps = gaps_by_pair(problem)
    gaps = flat_gaps.reshape(models, -1, len(problem.arms))
    shares = np.array(problem.shares or (1.0,))
    pairs = np.array(list(combinations(range(models), 2)), dtype=np.intp).reshape(-1, 2)
    first, second = pairs.T
    least_loss = np.zeros(len(pairs))
    for context, share in enumerate(shares):
        least_loss += share * (gaps[first, context] + gaps[second, context]).min(axis=1)
    pairs = pairs[least_loss > 0]
    if len(pairs) <= _MOST_PAIRS:
        return pairs
    # The price of a nat: the loss of a play divided by its information, both averaged over the two
    # models (the halves cancel). The price of a pair is that of its cheapest context and arm. A
    # play that costs nothing and tells nothing, 0/0, counts as infinitely dear.
    nats = np.stack([problem.rewards.divergence(m, np.arange(models)) for m in range(models)])
    first, second = pairs.T
    with np.errstate(divide="ignore", invalid="ignore"):
        price = (flat_gaps[first] + flat_gaps[second]) / (nats[first, second] + nats[second, first])
    price[np.isnan(price)] = np.inf
    by_price = price.min(axis=1).argsort(kind="stable")[::-1]
    costliest: Ints = pairs[np.sort(by_price[:_MOST_PAIRS])]
    return costliest


def _best_split(beliefs: csr_array, values: Floats, prior: Floats) -> float:
    """Return Σ λ·V for the best λ.

    ``beliefs`` has the probability of each model: [model, belief]. ``values`` are the V of beliefs.
    What λ leaves of the prior goes to beliefs that are certain of a model, which lose nothing: so
    it suffices that Σ λ·p ≤ π.
    """
    solution = linprog(-values, A_ub=cast(Any, beliefs), b_ub=prior, method="highs")
    if solution.x is None:  # the solver failed
        return 0.0
    weights = np.maximum(solution.x, 0)
    # The solver is feasible up to its tolerance only: scaling down makes λ feasible exactly.
    return float(weights @ values / max(1.0, ((beliefs @ weights) / prior).max()))
