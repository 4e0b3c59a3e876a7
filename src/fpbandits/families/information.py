"""Divergences without cancellation: accurate where two distributions are nearly the same.

A lower bound divides by a divergence, so its relative error matters.
"""

from __future__ import annotations

from math import factorial

import numpy as np
from numpy.polynomial.polynomial import polyval

from fpbandits.core.arrays import Floats

IMPOSSIBLE = 1e250
"""The cost, in nats, of a reward that a model rules out: finite, so that 0 times it is 0."""


def information(p: Floats, q: Floats) -> Floats:
    """Return p·ln(p/q) − p + q. Its sum over all outcomes is the divergence D(p‖q).

    Every term is non-negative, so that nothing cancels in the sum. With u = q/p − 1 a term is
    p·(u − ln(1 + u)), which has a series for small u: so it is accurate where p and q are nearly
    equal, too.
    """
    p, q = np.broadcast_arrays(p, q)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        u = (q - p) / p
        small = np.abs(u) < 0.01
        v = np.where(small, u, 0.0)
        series = v * v * polyval(v, [(-1) ** n / n for n in range(2, 10)])
        log_ratio = np.where(np.abs(u) < 0.5, np.log1p(u), np.log(q) - np.log(p))
        terms = np.where(small, p * series, (q - p) - p * log_ratio)
    return np.where(p == 0, q, terms)


def information_of_chances(p: Floats, q: Floats) -> Floats:
    """Return the divergence of success with chance p from success with chance q."""
    return information(p, q) + information(1 - p, 1 - q)


def minus_log(p: Floats) -> Floats:
    """Return −ln p, or `IMPOSSIBLE` where p is 0."""
    with np.errstate(divide="ignore"):
        return np.minimum(-np.log(p), IMPOSSIBLE)


def log_gamma_bregman(x: Floats, y: Floats) -> Floats:
    """Return ln Γ(x) − ln Γ(y) − ψ(y)(x − y) ≥ 0, accurate where x and y are nearly equal."""
    from scipy.special import digamma, gammaln, polygamma

    x, y = np.broadcast_arrays(x, y)
    step = x - y
    small = np.abs(step) < 0.01 * y
    h = np.where(small, step, 0.0)
    terms = [polygamma(n - 1, y) / factorial(n) for n in range(2, 9)]
    series = h * h * polyval(h, terms, tensor=False)
    return np.where(small, series, gammaln(x) - gammaln(y) - digamma(y) * step)
