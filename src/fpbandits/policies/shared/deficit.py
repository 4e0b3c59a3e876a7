"""How badly rewards fit a mean: n times a divergence from their observed mean, in nats.

The divergence is that of Bernoulli distributions for rewards in [0, 1], and that of normal
distributions of deviation ½ for rewards without a range.
"""

from __future__ import annotations

import math

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import State
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.levels import Theta

EQUAL = 1e-9
"""Deficits, and shares of probability, that differ by at most this count as equal."""


@jitted
def bernoulli_deficit(n: float, total: float, q: float) -> float:
    """Return n·kl(total/n, q), accurate also where total/n and q are close and n is huge."""
    rest = n - total  # the number of zeros, if rewards are 0 or 1
    excess = total - n * q
    deficit = 0.0
    if total > 0:
        deficit += total * math.log1p(excess / (n * q)) if q > 0 else IMPOSSIBLE * total
    if rest > 0:
        deficit += rest * math.log1p(-excess / (n * (1 - q))) if q < 1 else IMPOSSIBLE * rest
    return max(deficit, 0.0)


@jitted
def mean_deficit(n: int, total: float, q: float, normal: bool) -> float:
    """Return n times the divergence from the mean of n rewards of this ``total`` to ``q``."""
    if normal:
        excess = total - n * q
        return 2 * (excess * excess) / n
    return bernoulli_deficit(n, total, q)


@jitted
def surprise(theta: Theta, n: float, total: float, q: float) -> float:
    """Return the surprise of n rewards of sum S = ``total`` at the mean ``q``; see `nothing_fits`.

    It is n·kl(S/n, q) for rewards in [0, 1], and 2n(S/n − q)² · n/(n + 1) for normal ones.
    """
    if theta.normal:
        excess = total - n * q
        return 2 * (excess * excess) / (n + 1)
    return bernoulli_deficit(n, total, q)


@jitted
def allowance(state: State) -> float:
    """Return Σ ln(n_i + 1), the surprise allowed to a right model for its unknown means."""
    total = 0.0
    for arm in range(state.plays.size):
        total += math.log(state.plays[arm] + 1)
    return total
