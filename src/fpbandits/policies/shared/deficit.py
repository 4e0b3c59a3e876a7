"""How badly rewards fit a mean: n times the divergence of it from what was observed.

For rewards in [0, 1] the divergence is that of Bernoulli laws, for normal ones their own.
"""

from __future__ import annotations

import math

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import State
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.levels import Theta

EQUAL = 1e-9
"""Deficits, or shares of mass, that differ by no more count as equal, whatever rounding did."""


@jitted
def bernoulli_deficit(n: float, total: float, q: float) -> float:
    """Return n·kl(total/n, q), accurate also where total/n and q are close and n is huge."""
    rest = n - total
    excess = total - n * q
    deficit = 0.0
    if total > 0:
        deficit += total * math.log1p(excess / (n * q)) if q > 0 else IMPOSSIBLE * total
    if rest > 0:
        deficit += rest * math.log1p(-excess / (n * (1 - q))) if q < 1 else IMPOSSIBLE * rest
    return max(deficit, 0.0)


@jitted
def mean_deficit(n: int, total: float, q: float, normal: bool) -> float:
    """Return n times the divergence of the mean ``q`` from that of n rewards that add up so."""
    if normal:
        excess = total - n * q
        return 2 * (excess * excess) / n
    return bernoulli_deficit(n, total, q)


@jitted
def surprise(theta: Theta, n: float, total: float, q: float) -> float:
    """Return by how much n rewards fit the mean ``q`` worse than the best means they could have.

    For rewards in [0, 1] this is n·kl(S/n, q), for normal ones 2n(S/n − q)² · n/(n + 1).
    """
    if theta.normal:
        excess = total - n * q
        return 2 * (excess * excess) / (n + 1)
    return bernoulli_deficit(n, total, q)


@jitted
def allowance(state: State) -> float:
    """Return Σ ln(n_i + 1), what a mixture over means takes for not knowing them."""
    total = 0.0
    for arm in range(state.plays.size):
        total += math.log(state.plays[arm] + 1)
    return total
