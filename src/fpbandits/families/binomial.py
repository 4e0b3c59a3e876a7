"""Binomial draws of any size: how many of n plays succeed, each with chance p.

Let d = k − np. By Stirling's formula k! = √(2πk)·(k/e)^k·e^δ(k), with δ(k) = 1/(12k) − …, so

    √(2πnpq)·P(k) = exp(δ(n) − side(k, np) − side(n − k, nq)),
    side(k, μ) = k·ln(k/μ) − (k − μ) + ½·ln(k/μ) + δ(k).

Log-gammas would cancel here: at n = 10^15 they have no digit left after the point. Nothing cancels
with v = (k − μ)/(k + μ) and s = v²/3 + v⁴/5 + …, since ln(k/μ) = 2·artanh(v) = 2v·(1 + s):

    side(k, μ) = v·((k − μ) + 1 + (2k + 1)·s) + δ(k).

What remains is to know d to the last digit: so np is kept as a sum of two numbers.

Draws are by inversion where np is small. Else they are by transformed rejection (W. Hörmann, The
generation of binomial random variates, 1993, algorithm BTRS): with U uniform on (−½, ½) and V on
(0, 1), k is the whole part of

    T(U) = (2a/(½ − |U|) + b)·U + c,    accepted if V·α ≤ T′(U)·√(2πnpq)·P(k).

Two things are added so that the distribution is right to the last digit at any n. T is counted from
a whole number near np, so that its fraction is not lost. And U is one of 2^53 numbers, each of
which stands for a cell, an interval of real numbers: where T passes a whole number within the cell,
more digits of U are drawn and T is compared with that number in twice the precision.

In exact arithmetic with real U and V the distribution would be exact. As computed, it is within
1e-14 of the binomial in total variation, for n up to 2^53 and any p.

All functions here are plain functions of numbers, which the compiler takes as they stand.
"""

from __future__ import annotations

import math
from typing import Any

FEW = 10.0
"""Draws are by inversion where np is less than this."""

_CELL = 2.0**-53
"""The width of a cell: the distance between two neighbouring values of a uniform number."""

_STIRLING = (
    0.08106146679532726,
    0.0413406959554093,
    0.02767792568499834,
    0.020790672103765093,
    0.016644691189821193,
    0.013876128823070748,
    0.01189670994589177,
    0.010411265261972096,
    0.009255462182712733,
    0.00833056343336287,
    0.007573675487951841,
    0.00694284010720953,
    0.006408994188004207,
    0.0059513701127588475,
    0.005554733551962801,
)
"""δ(k) for k = 1 … 15."""

_MOST_FEW = 201
"""Inversion tries so many k: with np below `FEW`, all others have a chance far below 2^−53."""

_SPLIT = 134217729.0
"""2^27 + 1, which splits a number into two of half the digits."""


def draw_binomial(n: int, p: float, random: Any) -> int:
    """Draw how many of ``n`` plays succeed, each with chance ``p``."""
    if p > 0.5:
        return n - _draw(n, 1 - p, random)
    return _draw(n, p, random)


def _draw(n: int, p: float, random: Any) -> int:
    """Draw for p ≤ ½."""
    if n * p < FEW:
        return _draw_few(n, p, random)
    return _draw_many(n, p, random)


def _draw_few(n: int, p: float, random: Any) -> int:
    """Draw by inversion, for np below `FEW`: add up P(0), P(1), … until they pass a uniform number.

    If rounding keeps all of them from passing it, try again with another.
    """
    left = random.random()
    if left < 1 - n * p:  # P(0) is at least that
        return 0
    chance_of_0, odds = math.exp(n * math.log1p(-p)), p / (1 - p)
    while True:
        chance = chance_of_0
        for k in range(_MOST_FEW):  # beyond n the chances are 0
            if left < chance:
                return k
            left -= chance
            chance *= (n - k) * odds / (k + 1)
        left = random.random()


def _draw_many(n: int, p: float, random: Any) -> int:
    """Draw by transformed rejection, for np of `FEW` or more.

    The constants are Hörmann's; α of the docstring above is ``scale``.
    """
    size = float(n)
    mean, rest = exact_product(size, p)
    near = math.floor(mean)  # T and the drawn number are counted from here
    excess = (mean - near) + rest  # np − near
    spread = math.sqrt(mean * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    # Rounded to few digits, so that its distance from a whole number is exact.
    c = math.floor(1024 * excess) / 1024 + 0.5
    scale = (2.83 + 5.1 / b) * spread
    quick = 0.92 - 4.2 / b  # below it V is accepted at once, if ½ − |U| is at least 0.07
    margin = (204.1 * a + b) * 8 * _CELL  # T passes no whole number farther off within such a cell
    while True:
        u, v = random.random() - 0.5, random.random()
        edge = 0.5 - abs(u)
        if edge >= 0.07 and v <= quick:
            y = (2 * a / edge + b) * u + c
            whole = math.floor(y)
            if not margin < y - whole < 1 - margin:
                whole = _whole_part(u, edge, a, b, c, y, random)
            return int(near) + int(whole)
        if edge == 0:
            continue
        y = (2 * a / edge + b) * u + c
        if not -near <= y < size - near + 1:
            continue
        slope = a / (edge * edge) + b
        whole = math.floor(y)
        if not slope * 8 * _CELL < y - whole < 1 - slope * 8 * _CELL:
            whole = _whole_part(u, edge, a, b, c, y, random)
        k = near + whole
        if not 0 <= k <= size:
            continue
        if v * scale <= slope * math.exp(log_chance(k, size, mean, whole - excess)):
            return int(k)


def _whole_part(
    u: float, edge: float, a: float, b: float, c: float, y: float, random: Any
) -> float:
    """Return the whole part of T at a random point of the cell of ``u``, where T is near ``y``.

    Only one whole number is near: T is above or below it. (½ − |U|)·(T(U) − whole) is
    2aU + (bU − (whole − c))·(½ − |U|), and its slope where it vanishes is (½ − |U|)·T′(U).
    """
    whole = math.floor(y + 0.5)
    product, missing = exact_product(b, u)
    gap = product - (whole - c)
    behind = product - gap  # Knuth's exact sum
    missing += (product - (gap + behind)) + (behind - (whole - c))
    first, first_missing = exact_product(2 * a, u)
    second, second_missing = exact_product(gap, edge)
    value = (first + second) + (first_missing + second_missing + missing * edge)
    slope = a / edge + b * edge
    return whole if random.random() * _CELL * slope >= -value else whole - 1.0


def log_chance(k: float, n: float, mean: float, deviation: float) -> float:
    """Return ln(√(2πnpq)·P(k)), given np as ``mean`` and k − np, exact, as ``deviation``."""
    return stirling(n) - _side(k, mean, deviation) - _side(n - k, n - mean, -deviation)


def _side(k: float, mean: float, deviation: float) -> float:
    """Return side(k, mean), given k − mean as ``deviation``."""
    if k == 0:
        return mean - 0.5 * math.log(2 * math.pi * mean)
    v = deviation / (k + mean)
    if abs(v) > 0.1:
        return (k + 0.5) * math.log(k / mean) - deviation + stirling(k)
    return v * (deviation + 1 + (2 * k + 1) * artanh_rest(v)) + stirling(k)


def artanh_rest(v: float) -> float:
    """Return s = artanh(v)/v − 1 = v²/3 + v⁴/5 + …, for |v| up to 0.1."""
    w = v * v
    if w < 1e-6:
        return w * (1 / 3 + w * (1 / 5 + w / 7))
    far = w * (1 / 9 + w * (1 / 11 + w * (1 / 13 + w * (1 / 15 + w / 17))))
    return w * (1 / 3 + w * (1 / 5 + w * (1 / 7 + far)))


def stirling(k: float) -> float:
    """Return δ(k) = ln k! − ½·ln(2πk) − k·ln k + k, for whole numbers from 1 on."""
    if k < 16:
        return _STIRLING[int(k) - 1]
    inverse = 1 / k
    w = inverse * inverse
    return inverse * (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188))))


def exact_product(x: float, y: float) -> tuple[float, float]:
    """Return the rounded product of x and y and its rounding error, xy less it (Dekker 1971)."""
    product = x * y
    split = _SPLIT * x
    x_high = split - (split - x)
    x_low = x - x_high
    split = _SPLIT * y
    y_high = split - (split - y)
    y_low = y - y_high
    missing = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, missing
