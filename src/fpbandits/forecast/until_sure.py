"""How many plays it takes until a verdict: an arm that is best under every model not ruled out.

A model is ruled out while its posterior odds are at most ``error`` times its prior odds, as by
`fpbandits.agent.belief.not_ruled_out`: the truth is ever ruled out with probability at most
``error``, at whatever time one looks. With contexts there must be such an arm in each of them.

Runs are played step by step, by a compiled loop of its own that ends at the first verdict.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fpbandits.core.arrays import TOLERANCE, Counts
from fpbandits.core.streams import run_stream
from fpbandits.engine.compiling import compiled, jitted
from fpbandits.engine.contract import CONTEXT, Ahead, in_context
from fpbandits.engine.policy import Contexts, Policy
from fpbandits.families.information import minus_log
from fpbandits.simulation.cell import Cell
from fpbandits.simulation.kernel import draw_context, draw_sum, law_of
from fpbandits.simulation.truths import truths

_plan, _observe = Policy.plan, Policy.observe


def plays_until_sure(cell: Cell, runs: int, error: float) -> Counts:
    """Return after how many plays each run has its first verdict; 0 for one that has none."""
    problem, horizon, seed = cell.problem, cell.spec.horizon, cell.spec.seed
    models, pairs = len(problem.models), problem.pairs
    costs = problem.rewards.costs()
    if costs is None:  # of 0/1 rewards, whose only statistic is their sum
        means = problem.rewards.unit_means
        costs = minus_log(1 - means), (minus_log(means) - minus_log(1 - means))[:, :, np.newaxis]
    base, cost = map(np.ascontiguousarray, costs)
    means = problem.rewards.unit_means.reshape(models, -1, len(problem.arms))
    best = np.ascontiguousarray(means >= means.max(axis=2, keepdims=True) - TOLERANCE)
    prior = np.array(problem.prior or [1 / models] * models)
    with np.errstate(divide="ignore"):
        odds, weights = error * prior / (1 - prior), np.log(prior)
    upto = np.cumsum(problem.shares or (1.0,))
    apart = len(upto) > 1 and cell.policy.contexts is Contexts.APART
    rows = truths(problem, cell.truth, seed, range(runs))

    def one(run: int) -> int:
        laws = cell.laws
        if rows is not None:
            laws = laws.reordered(rows[run : run + 1], np.arange(pairs))
        own, policy = cell.ready, cell.policy
        policy.renew(own.workspace)
        return play_until_sure(
            own.prepared,
            policy.new_state(problem),
            law_of(laws),
            own.workspace,
            run_stream(seed, run),
            upto,
            apart,
            horizon,
            base,
            cost,
            best,
            odds,
            weights.copy(),
            np.zeros(models),
            np.zeros(problem.rewards.statistics),
        )

    with ThreadPoolExecutor() as executor:
        return np.array(list(executor.map(one, range(runs))), np.int64)


@compiled
def play_until_sure(
    prepared: Any,
    state: Any,
    law: Any,
    workspace: Any,
    random: Any,
    upto: Any,
    apart: bool,
    horizon: int,
    base: Any,
    cost: Any,
    best: Any,
    odds: Any,
    weights: Any,
    shares: Any,
    statistics: Any,
) -> int:
    """Play one run up to its first verdict, and return when that is: 0 if never.

    ``odds`` are those up to which each model is ruled out, ``weights`` the logarithms of prior and
    likelihood together, ``shares`` and ``statistics`` to work in, by model and of one reward.
    ``base`` and ``cost`` are a family's `costs`, ``best[model, context, arm]`` best arms.
    """
    contexts = upto.size
    arms = base.shape[1] // contexts
    t, first, here = 0, 0, state
    while t < horizon:
        if contexts > 1:
            context = draw_context(upto, random)
            first = context * arms
            if apart:
                here = in_context(state, context, arms)
            else:
                state.counters[CONTEXT] = context
        length = _plan(prepared, here, workspace, Ahead(None, 1, t, None), random)[0]
        for place in range(length if contexts == 1 else 1):
            if t == horizon:
                break
            arm = workspace.cycle[place]
            pair = first + arm
            for k in range(statistics.size):
                statistics[k] = 0.0
            total = draw_sum(law, pair, 1, random, statistics)
            for k in range(statistics.size):
                state.statistics[pair, k] += statistics[k]
            _observe(prepared, here, arm if apart else pair, 1, total, random)
            t += 1
            for model in range(weights.size):
                weights[model] -= base[model, pair]
                if statistics.size == 0:
                    weights[model] -= total * cost[model, pair, 0]
                for k in range(statistics.size):
                    weights[model] -= statistics[k] * cost[model, pair, k]
            if is_sure(weights, odds, best, shares):
                return t
    return 0


@jitted
def is_sure(weights: Any, odds: Any, best: Any, shares: Any) -> bool:
    """Tell whether, in every context, some arm is best under every model that is not ruled out."""
    most, total = weights[0], 0.0
    for model in range(weights.size):
        most = max(most, weights[model])
    for model in range(weights.size):
        shares[model] = math.exp(weights[model] - most)
        total += shares[model]
    for context in range(best.shape[1]):
        found = False
        for arm in range(best.shape[2]):
            everywhere = True
            for model in range(weights.size):
                if best[model, context, arm]:
                    continue
                others = total - shares[model]
                if others == 0 or shares[model] > odds[model] * others:  # it is not ruled out
                    everywhere = False
                    break
            if everywhere:
                found = True
                break
        if not found:
            return False
    return True
