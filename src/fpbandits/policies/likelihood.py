r"""What policies that weigh the models against one another share.

Such a policy looks at the rewards through one number per model, its *misfit*: Σ_i of the misfit of
arm i's rewards with the mean μ_i(θ). Two kinds are used, and for both the misfit of n rewards on
[0, 1] that add up to S is a linear function of S and n, but for a term that all models share:

* likelihood: n·kl(S/n, q), with kl the Kullback–Leibler divergence of Bernoulli laws. For 0/1
  rewards this is −ln of the likelihood at mean q over its maximum. For any other rewards in [0, 1]
  it is what the inequality behind the guarantees needs (see ``docs/policies.md``): policies use
  means alone, whatever the family.
* squares: n·(S/n − q)².

A reward r costs model θ ``r·win + (1 − r)·loss``, of which only differences between models count.
So over a stretch of plays, the difference in misfit between two models is linear in the plays j and
the new rewards x, and lies between its values at the corners of the envelope: `bracket` gives, for
every model, how low and how high its misfit can get, less that of a reference model.

Where two models have the same mean on an arm, the arm adds exactly 0 to their difference: so a
model that looks like the reference on all arms played has a misfit that does not move by a bit.
"""

from __future__ import annotations

import math
from typing import Any

from fpbandits.arrays import Floats
from fpbandits.policies.base import LEAST, Tally
from fpbandits.policies.compiling import jitted
from fpbandits.policies.envelope import corners
from fpbandits.policies.levels import HIGH, IMPOSSIBLE, LOW, NOW, SQUARES
from fpbandits.problem import Problem

EQUAL = 1e-9
"""Misfits, or shares of mass, that differ by no more are taken for equal, whatever rounding did."""

_ROUNDING = 1e-7
"""What is left to spare where rewards move a misfit."""


def misfits(problem: Problem, tally: Tally) -> Floats:
    """Return the likelihood misfit of every model, less the least."""
    from scipy.special import rel_entr

    played = tally.plays > 0
    n, total = tally.plays[played], tally.sums[played]
    q = problem.rewards.unit_means[:, played]
    costs = (rel_entr(total, n * q) + rel_entr(n - total, n * (1 - q))).sum(axis=1)
    above: Floats = costs - costs.min()
    return above


@jitted
def likelihood_misfit(n: int, total: float, q: float) -> float:
    """Return n·kl(total/n, q), accurate also where total/n and q are close and n is huge."""
    rest = n - total
    excess = total - n * q
    misfit = 0.0
    if total > 0:
        misfit += total * math.log1p(excess / (n * q)) if q > 0 else IMPOSSIBLE * total
    if rest > 0:
        misfit += rest * math.log1p(-excess / (n * (1 - q))) if q < 1 else IMPOSSIBLE * rest
    return max(misfit, 0.0)


@jitted
def weigh(theta: Any, tally: Any, scratch: Any) -> int:
    """Fill by_model[NOW] with every model's misfit less the least; return the first that has it.

    by_level[NOW] holds each level's misfit less that of the best model's level, and values[LEAST]
    the least misfit itself.
    """
    misfit, table = scratch.by_model[NOW], scratch.by_level[NOW]
    arms, models = theta.codes.shape
    for model in range(models):
        misfit[model] = 0.0
    for arm in range(arms):
        n = tally.plays[arm]
        if n == 0:
            continue
        total = tally.sums[arm]
        for level in range(theta.counts[arm]):
            q = theta.levels[arm, level]
            if theta.kind == SQUARES:
                table[arm, level] = n * (total / n - q) ** 2
            else:
                table[arm, level] = likelihood_misfit(n, total, q)
        for model in range(models):
            misfit[model] += table[arm, theta.codes[arm, model]]
    least = math.inf
    for model in range(models):
        least = min(least, misfit[model])
    scratch.values[LEAST] = least
    reference = 0
    while misfit[reference] > least + EQUAL:
        reference += 1
    # Once more, arm by arm against the best model: equal levels cancel exactly.
    for model in range(models):
        misfit[model] = 0.0
    for arm in range(arms):
        if tally.plays[arm] == 0:
            continue
        own = table[arm, theta.codes[arm, reference]]
        for level in range(theta.counts[arm]):
            table[arm, level] -= own
        for model in range(models):
            misfit[model] += table[arm, theta.codes[arm, model]]
    return reference


@jitted
def bracket(
    theta: Any, envelope: Any, scratch: Any, length: int, more: int, reference: int
) -> None:
    """Enclose every model's misfit, less the reference's, while ``more`` further rounds are played.

    by_model[NOW] holds what `weigh` left there; [LOW] and [HIGH] get the lowest and highest value
    for 0 … ``more`` further plays of each of the first ``length`` arms of the cycle.
    """
    now, low, high = scratch.by_model[NOW], scratch.by_model[LOW], scratch.by_model[HIGH]
    lowest, highest = scratch.by_level[LOW], scratch.by_level[HIGH]
    models = theta.codes.shape[1]
    for model in range(models):
        low[model] = now[model]
        high[model] = now[model]
    for place in range(length):
        arm = scratch.cycle[place]
        down, up, least, most = corners(envelope, arm, more)
        own = theta.codes[arm, reference]
        for level in range(theta.counts[arm]):
            if level == own:
                lowest[arm, level] = 0.0
                highest[arm, level] = 0.0
                continue
            win = theta.win[arm, level] - theta.win[arm, own]
            loss = theta.loss[arm, level] - theta.loss[arm, own]
            a = down * loss
            b = up * win
            c = least * win + (more - least) * loss
            d = most * win + (more - most) * loss
            spare = _ROUNDING + 1e-12 * max(abs(c), abs(d))
            lowest[arm, level] = min(min(0.0, a), min(b, min(c, d))) - spare
            highest[arm, level] = max(max(0.0, a), max(b, max(c, d))) + spare
        for model in range(models):
            low[model] += lowest[arm, theta.codes[arm, model]]
            high[model] += highest[arm, theta.codes[arm, model]]


@jitted
def stays_best(theta: Any, scratch: Any, reference: int, arm: int) -> bool:
    """Tell from a `bracket` whether no model but those with best arm ``arm`` can fit best.

    With ``arm`` −1, whether the reference itself stays the one that fits best. The first of equals
    counts, and equals stay equal where no reward moves them.
    """
    low, high = scratch.by_model[LOW], scratch.by_model[HIGH]
    for model in range(theta.best.size):
        if model == reference or (arm >= 0 and theta.best[model] == arm):
            continue
        equal = low[model] == high[model] == 0 and model > reference
        if low[model] <= EQUAL and not equal:
            return False
    return True
