"""The upper tail of Beta distributions of any size: P(Beta(a, b) ≥ y), for y above the mean.

Let N = a + b, and P(a) be the probability of a successes in N trials, each with probability y. For
whole a and b the tail is the probability of fewer than a successes in N − 1 trials,

    a/(Ny) · P(a) · (1 + r_1 + r_1·r_2 + …),    r_i = (a − i)/(b + i) · (1 − y)/y,

and the density at y is ab/N · P(a)/(y(1 − y)). P(a) comes from `fpbandits.families.binomial`,
where nothing cancels; ln Γ(N) − ln Γ(a) − ln Γ(b) has no digits left at N = 10^14.

Near the mean the sum has some √N terms. So for large a and b the density, relative to that at y, is
integrated instead: with g(t) = ln(1 + t) − t,

    exp(−rate·s + (a − 1)·g(s/y) + (b − 1)·g(−s/(1 − y))) over s from 0 to 1 − y,

by the trapezoidal rule in t, where s = width·exp(t − e^−t): both ends vanish so fast that a step of
1/10 is enough for 12 digits.

Draws from a thin tail are made under the tangent exponential, which bounds the log-concave density.
"""

from __future__ import annotations

import math

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import Random
from fpbandits.families.binomial import artanh_rest, exact_product, log_chance

_LARGE = 1000.0
"""If a and b are both at least this, the density is integrated."""


@jitted
def upper_tail(a: float, b: float, y: float) -> float:
    """Return P(Beta(a, b) ≥ y), for whole a and b, and y above the mean."""
    total, x = a + b, 1 - y
    above = _excess(a, b, y)
    if y > 0.5:  # then 1 − y is exact
        log_at = log_chance(b, total, total * x, above)
    else:
        log_at = log_chance(a, total, total * y, -above)
    if log_at < -750.0:  # less than the least positive number
        return 0.0
    chance = math.exp(log_at) / math.sqrt(2 * math.pi * total * y * x) * (a / total)
    if min(a, b) < _LARGE:
        return chance / y * _sum(a, b, x / y)
    return chance * b / (y * x) * _integral(a, b, y, above)


@jitted
def _excess(a: float, b: float, y: float) -> float:
    """Return Ny − a = b − N(1 − y) to the last digit."""
    if y > 0.5:
        product, rest = exact_product(a + b, 1 - y)
        return (b - product) - rest
    product, rest = exact_product(a + b, y)
    return (product - a) + rest


@jitted
def draw_above(a: float, b: float, y: float, chance: float, random: Random) -> float:
    """Draw from Beta(a, b) given that it is at least y, an event of probability ``chance``."""
    if chance > 0.1:
        while True:
            mean: float = random.beta(a, b)
            if mean >= y:
                return mean
    if b == 1:  # no failure yet: the distribution function is x^a, which is inverted
        low = y**a
        drawn: float = (low + random.random() * (1 - low)) ** (1 / a)
        return drawn
    # The log density is concave, so it is below its tangent at y: draw from that, and reject. It
    # falls at y: where it still rises, ``chance`` is above 1 − 2/e, as for b = 2 and a → ∞.
    rate = _slope(y, _excess(a, b, y))
    while True:
        step: float = random.standard_exponential() / rate
        if y + step < 1 and random.standard_exponential() >= -_bend(a, b, y, step):
            return y + step


@jitted
def _slope(y: float, above: float) -> float:
    """Return how fast the log density falls at y, if Ny is ``above`` a: (b−1)/(1−y) − (a−1)/y."""
    return (above + (1 - 2 * y)) / (y * (1 - y))


@jitted
def _bend(a: float, b: float, y: float, step: float) -> float:
    """Return the log density at y + step, less its tangent from y."""
    return (a - 1) * _log_rest(step / y) + (b - 1) * _log_rest(-step / (1 - y))


@jitted
def _log_rest(t: float) -> float:
    """Return g(t) = ln(1 + t) − t."""
    v = t / (2 + t)
    if abs(v) > 0.1:
        return math.log1p(t) - t
    return v * (2 * artanh_rest(v) - t)


@jitted
def _sum(a: float, b: float, odds: float) -> float:
    """Return the probability of fewer than ``a`` successes, divided by that of a − 1."""
    total = term = 1.0
    losses = b
    while total + term > total:  # terms fall, and when a reaches 0 they are 0
        a -= 1
        losses += 1
        term *= a / losses * odds
        total += term
    return total


@jitted
def _integral(a: float, b: float, y: float, above: float) -> float:
    """Return the integral of the density from y on, relative to that at y."""
    rate = _slope(y, above)
    width = 1 / (abs(rate) + math.sqrt((a - 1) / y**2 + (b - 1) / (1 - y) ** 2))
    area = 0.0
    for tenths in range(-37, 45):
        t = tenths / 10
        shrink = math.exp(-t)
        s = width * math.exp(t - shrink)
        if s < 1 - y:
            area += s * (1 + shrink) * math.exp(_bend(a, b, y, s) - rate * s)
    return area / 10
