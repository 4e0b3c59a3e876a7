"""Deficits in several contexts, computed anew only for pairs whose rewards have changed.

A reward changes the costs of one pair of a context and an arm. A `Memo` in the workspace keeps the
costs of all pairs, and with each pair the part of the state that they were computed from: if that
part differs now, they are computed again. So it does not matter which agent or run used the
workspace before. What is to be computed again is −1 or NaN in the memo.
"""

from __future__ import annotations

import math

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import State
from fpbandits.policies.shared.deficit import surprise
from fpbandits.policies.shared.fit import Fit, Memo, first_best, minimum
from fpbandits.policies.shared.levels import Theta


@jitted
def weigh_in_contexts(theta: Theta, state: State, fit: Fit) -> int:
    """Fill ``fit.deficit``; return the first model that fits best.

    Costs are added up less those of a reference model, pair by pair, so that equal levels cancel
    exactly. If another model turns out to fit better it becomes the reference, and costs are added
    up again. The cost of rewards that a model rules out is finite but huge, so that differences are
    lost in rounding if the reference is ruled out: then a second step finds the best of the others.
    """
    memo, arms, deficit = fit.memo, theta.arms, fit.deficit
    for context in range(theta.best.shape[0]):
        for pair in range(context * arms, (context + 1) * arms):
            if _has_changed(state, memo, pair):
                _recompute(theta, state, fit, pair)
                memo.reference[context], memo.total[context] = -1, math.nan
    reference = fit.reference[0]
    _add_up(theta, fit, reference)
    for _ in range(2):
        best = first_best(deficit, minimum(deficit))
        if best != reference:
            reference = best
            _add_up(theta, fit, reference)
    fit.reference[0] = reference
    return int(reference)


@jitted
def _add_up(theta: Theta, fit: Fit, reference: int) -> None:
    """Fill ``fit.deficit`` with each model's cost of all rewards, less the reference's."""
    memo, deficit, arms = fit.memo, fit.deficit, theta.arms
    deficit.fill(0.0)
    for context in range(theta.best.shape[0]):
        if memo.reference[context] != reference:
            memo.reference[context] = reference
            memo.above[context].fill(0.0)
            for pair in range(context * arms, (context + 1) * arms):
                of_reference = memo.cost[pair, reference]
                for model in range(deficit.size):
                    memo.above[context, model] += memo.cost[pair, model] - of_reference
        for model in range(deficit.size):
            deficit[model] += memo.above[context, model]


@jitted
def _has_changed(state: State, memo: Memo, pair: int) -> bool:
    """Tell whether a pair's part of the state differs from that in the memo."""
    changed = memo.seen[pair, 0] != state.plays[pair] or memo.seen[pair, 1] != state.sums[pair]
    for k in range(memo.seen.shape[1] - 2):
        changed = changed or memo.seen[pair, 2 + k] != state.statistics[pair, k]
    return bool(changed)


@jitted
def _recompute(theta: Theta, state: State, fit: Fit, pair: int) -> None:
    """Put a pair's part of the state into the memo, and what its rewards cost each model.

    Unless models are weighed by law, n rewards with sum S cost S·win + (n − S)·loss. A term that
    all models share is left out, since only differences matter.
    """
    memo, n, total = fit.memo, state.plays[pair], state.sums[pair]
    memo.seen[pair, 0], memo.seen[pair, 1], memo.surprise[pair] = n, total, math.nan
    for k in range(memo.seen.shape[1] - 2):
        memo.seen[pair, 2 + k] = state.statistics[pair, k]
    for level in range(theta.counts[pair]):
        if theta.by_law:
            costs = cost_by_law(theta, state, pair, level)
        else:
            costs = total * theta.win[pair, level] + (n - total) * theta.loss[pair, level]
        fit.by_level[pair, level] = costs
    for model in range(fit.deficit.size):
        memo.cost[pair, model] = fit.by_level[pair, theta.codes[pair, model]]


@jitted
def cost_by_law(theta: Theta, state: State, pair: int, level: int) -> float:
    """Return −ℓ of the rewards of a pair at one of its levels, up to a term that all share."""
    cost = state.plays[pair] * theta.base[pair, level]
    for k in range(theta.cost.shape[2]):
        cost += state.statistics[pair, k] * theta.cost[pair, level, k]
    return float(cost)


@jitted
def fits_in_contexts(theta: Theta, memo: Memo, model: int, alarm: float) -> bool:
    """Tell whether a model's surprise, in all contexts together, is at most a limit.

    The limit is ``alarm`` + Σ ln(n + 1) over pairs with n plays, as `weigh_in_contexts` saw them.
    """
    limit, total, arms = alarm, 0.0, theta.arms
    if memo.model[0] != model:
        memo.model[0] = model
        memo.surprise.fill(math.nan)
        memo.total.fill(math.nan)
    for context in range(memo.total.size):
        if math.isnan(memo.total[context]):
            memo.allowed[context] = memo.total[context] = 0.0
            for pair in range(context * arms, (context + 1) * arms):
                n = memo.seen[pair, 0]
                if n > 0:
                    if math.isnan(memo.surprise[pair]):
                        q = theta.levels[pair, theta.codes[pair, model]]
                        memo.surprise[pair] = surprise(theta, n, memo.seen[pair, 1], q)
                    memo.allowed[context] += math.log(n + 1.0)
                    memo.total[context] += memo.surprise[pair]
        limit += memo.allowed[context]
        total += memo.total[context]
    return total <= limit
