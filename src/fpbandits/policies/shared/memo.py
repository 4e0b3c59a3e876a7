"""Deficits in several contexts, added up anew only where something was seen since the last plan.

Each decision tells of one pair of a context and an arm, so all others have the costs that they
had. A `Memo` in the workspace keeps them, and with each pair the part of the state that they follow
from: if that is another now, they are computed again. So it does not matter whose plan was before.
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

    Deficits are added up context by context, less those of the reference of before, and once more
    if another model fits better now: equal levels cancel exactly. Rewards of 0 or 1 cost what their
    law says, S·win + (n − S)·loss, since only differences matter here.
    """
    memo, arms, deficit = fit.memo, theta.arms, fit.deficit
    for context in range(theta.best.shape[0]):
        for pair in range(context * arms, (context + 1) * arms):
            if _is_news(state, memo, pair):
                _note(theta, state, fit, pair)
                memo.reference[context], memo.total[context] = -1, math.nan
    before = fit.reference[0]
    _add_up(theta, fit, before)
    reference = first_best(deficit, minimum(deficit))
    if reference != before:
        _add_up(theta, fit, reference)
        fit.reference[0] = reference
    return reference


@jitted
def _add_up(theta: Theta, fit: Fit, reference: int) -> None:
    """Fill ``fit.deficit`` with what rewards cost every model, less that of the reference."""
    memo, deficit, arms = fit.memo, fit.deficit, theta.arms
    deficit.fill(0.0)
    for context in range(theta.best.shape[0]):
        if memo.reference[context] != reference:
            memo.reference[context] = reference
            memo.above[context].fill(0.0)
            for pair in range(context * arms, (context + 1) * arms):
                own = memo.cost[pair, reference]
                for model in range(deficit.size):
                    memo.above[context, model] += memo.cost[pair, model] - own
        for model in range(deficit.size):
            deficit[model] += memo.above[context, model]


@jitted
def _is_news(state: State, memo: Memo, pair: int) -> bool:
    """Tell whether a pair's part of the state is another than the memo says."""
    news = memo.seen[pair, 0] != state.plays[pair] or memo.seen[pair, 1] != state.sums[pair]
    for k in range(memo.seen.shape[1] - 2):
        news = news or memo.seen[pair, 2 + k] != state.statistics[pair, k]
    return bool(news)


@jitted
def _note(theta: Theta, state: State, fit: Fit, pair: int) -> None:
    """Take a pair's part of the state into the memo, and what it costs each model."""
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
    """Return −ℓ of the rewards of a pair by one of its laws, but for a term that all share."""
    cost = state.plays[pair] * theta.base[pair, level]
    for k in range(theta.cost.shape[2]):
        cost += state.statistics[pair, k] * theta.cost[pair, level, k]
    return float(cost)


@jitted
def fits_in_contexts(theta: Theta, memo: Memo, model: int, alarm: float) -> bool:
    """Tell whether, in several contexts, a model does not surprise by more than is allowed."""
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
