"""How badly rewards fit a mean: n times the divergence of it from what was observed.

For rewards in [0, 1] the divergence is that of Bernoulli laws, for normal ones their own.
"""

from __future__ import annotations

import math
from typing import Any

from fpbandits.engine.compiling import jitted
from fpbandits.families.information import IMPOSSIBLE

EQUAL = 1e-9
"""Misfits, or shares of mass, that differ by no more are taken for equal, whatever rounding did."""


@jitted
def likelihood_misfit(n: float, total: float, q: float) -> float:
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
def mean_misfit(n: int, total: float, q: float, normal: bool) -> float:
    """Return n times the divergence of the mean ``q`` from that of n rewards that add up so."""
    if normal:
        excess = total - n * q
        return 2 * (excess * excess) / n
    return likelihood_misfit(n, total, q)


@jitted
def surprise(theta: Any, n: float, total: float, q: float) -> float:
    """Return by how much n rewards fit the mean ``q`` worse than the best means they could have.

    For rewards in [0, 1] this is n·kl(S/n, q), for normal ones 2n(S/n − q)² · n/(n + 1).
    """
    if theta.normal:
        excess = total - n * q
        return 2 * (excess * excess) / (n + 1)
    return likelihood_misfit(n, total, q)


@jitted
def allowance(tally: Any) -> float:
    """Return Σ ln(n_i + 1), what a mixture over means takes for not knowing them."""
    total = 0.0
    for arm in range(tally.plays.size):
        total += math.log(tally.plays[arm] + 1)
    return total
