"""Misfits in several contexts, added up anew only where something was seen since the plan before.

Each decision tells of one pair of a context and an arm, so all others have the misfits that they
had. A *memo* in the scratch space keeps them, and with each pair the part of the tally that they
follow from: if that is another now, they are computed again. So it does not matter whose plan was
before.
"""

from __future__ import annotations

import math
from typing import Any

from fpbandits.engine.compiling import jitted
from fpbandits.engine.policy import REFERENCE
from fpbandits.policies.shared.levels import LINEAR, NOW
from fpbandits.policies.shared.misfit import EQUAL, surprise

# What a memo holds of a pair: its part of the tally; ln(n + 1); and the surprise under a model. Of
# the latter two it also holds the sums over each context, behind the pairs.
_PLAYS, _SUM, _LOG, _SURPRISE, _UNDER, _STATISTICS = range(6)

# What is known of a context: each model's misfit less the reference's, and whose that is.
_LESS, _REFERENCE = range(2)


@jitted
def weigh_in_contexts(theta: Any, tally: Any, scratch: Any) -> int:
    """Fill by_model[NOW] with every model's misfit less the least; return the first that has it.

    They are added up context by context, less those of the reference of before, and once more if
    another model fits better now: equal levels cancel exactly. Rewards of 0 or 1 cost what their
    law says, S·win + (n − S)·loss, since only differences matter here.
    """
    valid, arms = scratch.by_context[_REFERENCE], theta.arms
    for context in range(theta.best.shape[0]):
        changed = False
        for pair in range(context * arms, (context + 1) * arms):
            if _is_news(tally, scratch.memo[pair], pair):
                _note(theta, tally, scratch, pair)
                changed = True
        if changed:
            valid[context, 0] = -1
            scratch.memo[theta.codes.shape[0] + context, _UNDER] = -1
    misfit, before = scratch.by_model[NOW], scratch.notes[REFERENCE]
    _add_up(theta, scratch, before)
    least = math.inf
    for model in range(misfit.size):
        if misfit[model] < least:
            least = misfit[model]
    reference = 0
    while misfit[reference] > least + EQUAL:
        reference += 1
    if reference != before:
        _add_up(theta, scratch, reference)
        scratch.notes[REFERENCE] = reference
    return reference


@jitted
def _add_up(theta: Any, scratch: Any, reference: int) -> None:
    """Fill by_model[NOW] with every model's misfit less the reference's."""
    less, valid = scratch.by_context[_LESS], scratch.by_context[_REFERENCE]
    misfit, arms = scratch.by_model[NOW], theta.arms
    for model in range(misfit.size):
        misfit[model] = 0.0
    for context in range(theta.best.shape[0]):
        if valid[context, 0] != reference:
            valid[context, 0] = reference
            for model in range(misfit.size):
                less[context, model] = 0.0
            for pair in range(context * arms, (context + 1) * arms):
                best = scratch.by_pair[pair, reference]
                for model in range(misfit.size):
                    less[context, model] += scratch.by_pair[pair, model] - best
        for model in range(misfit.size):
            misfit[model] += less[context, model]


@jitted
def _is_news(tally: Any, memo: Any, pair: int) -> bool:
    """Tell whether a pair's part of the tally is another than the memo says."""
    if memo[_PLAYS] != tally.plays[pair] or memo[_SUM] != tally.sums[pair]:
        return True
    news = False
    for k in range(memo.size - _STATISTICS):
        news = news or memo[_STATISTICS + k] != tally.statistics[pair, k]
    return news


@jitted
def _note(theta: Any, tally: Any, scratch: Any, pair: int) -> None:
    """Take a pair's part of the tally into the memo, and what it costs each model."""
    n, total = tally.plays[pair], tally.sums[pair]
    memo, row, models = scratch.memo[pair], scratch.by_level[NOW, pair], scratch.by_pair[pair]
    memo[_PLAYS], memo[_SUM], memo[_LOG], memo[_UNDER] = n, total, math.log(n + 1.0), -1
    for k in range(memo.size - _STATISTICS):
        memo[_STATISTICS + k] = tally.statistics[pair, k]
    for level in range(theta.counts[pair]):
        if theta.kind == LINEAR:
            costs = n * theta.base[pair, level]
            for k in range(theta.cost.shape[2]):
                costs += tally.statistics[pair, k] * theta.cost[pair, level, k]
            row[level] = costs
        else:
            row[level] = total * theta.win[pair, level] + (n - total) * theta.loss[pair, level]
    for model in range(models.size):
        models[model] = row[theta.codes[pair, model]]


@jitted
def fits_in_contexts(theta: Any, tally: Any, scratch: Any, model: int, alarm: float) -> bool:
    """Tell whether, in several contexts, a model does not surprise by more than is allowed."""
    limit, total, arms, pairs = alarm, 0.0, theta.arms, tally.plays.size
    for context in range(theta.best.shape[0]):
        whole = scratch.memo[pairs + context]
        if whole[_UNDER] != model:
            whole[_UNDER], whole[_LOG], whole[_SURPRISE] = model, 0.0, 0.0
            for pair in range(context * arms, (context + 1) * arms):
                memo = scratch.memo[pair]
                if memo[_PLAYS] > 0:
                    if memo[_UNDER] != model:
                        memo[_UNDER] = model
                        q = theta.levels[pair, theta.codes[pair, model]]
                        memo[_SURPRISE] = surprise(theta, memo[_PLAYS], memo[_SUM], q)
                    whole[_LOG] += memo[_LOG]
                    whole[_SURPRISE] += memo[_SURPRISE]
        limit += whole[_LOG]
        total += whole[_SURPRISE]
    return total <= limit
