"""The binomial law at any size: how many of n plays succeed, each with chance p.

Let d = k − np. By Stirling's formula k! = √(2πk)·(k/e)^k·e^δ(k), with δ(k) = 1/(12k) − …, so

    √(2πnpq)·P(k) = exp(δ(n) − side(k, np) − side(n − k, nq)),
    side(k, μ) = k·ln(k/μ) − (k − μ) + ½·ln(k/μ) + δ(k).

Log-gammas would cancel here: at n = 10^15 they have no digit left after the point. Nothing cancels
with v = (k − μ)/(k + μ) and s = v²/3 + v⁴/5 + …, since ln(k/μ) = 2·artanh(v) = 2v·(1 + s):

    side(k, μ) = v·((k − μ) + 1 + (2k + 1)·s) + δ(k).

What remains is to have d itself to the last digit: np is kept as a sum of two numbers.

Draws are by inversion where np is small. Else they are by transformed rejection (W. Hörmann, The
generation of binomial random variates, 1993, algorithm BTRS): with U uniform on (−½, ½) and V on
(0, 1), k is the whole part of

    T(U) = (2a/(½ − |U|) + b)·U + c,    accepted if V·α ≤ T′(U)·√(2πnpq)·P(k).

Two things are added so that the law is right to the last digit at any n. T is the distance from a
whole number near np, so that its fraction is not lost. And U is one of 2^53 numbers, each of which
stands for a cell: where a whole number falls into T's image of the cell, more digits of U are drawn
and T is compared with it in twice the precision.

In exact arithmetic with real U and V the law would be exact. As computed, a draw's law is within
1e-14 of the binomial in total variation, for n up to 2^53 and any p.

All functions here are plain ones of numbers. The compiler takes them as they stand.
"""

from __future__ import annotations

import math
from typing import Any

FEW = 10.0
"""Draw by inversion where np is less."""

_CELL = 2.0**-53
"""How far two neighbours of a uniform number are apart."""

_STIRLING = (
    0.0,
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
"""δ(k) for k = 0 … 15; that of 0 is not used."""


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
    """Add up chances from 0 on until they pass a uniform number."""
    left = random.random()
    if left < 1 - n * p:  # the chance of none is at least that
        return 0
    none, odds = math.exp(n * math.log1p(-p)), p / (1 - p)
    while True:
        chance = none
        for k in range(min(n, 200) + 1):  # beyond 200 nothing is left of 53 digits
            if left < chance:
                return k
            left -= chance
            chance *= (n - k) * odds / (k + 1)
        left = random.random()


def _draw_many(n: int, p: float, random: Any) -> int:
    """Draw by transformed rejection, for np of `FEW` or more."""
    size = float(n)
    mean, rest = exact_product(size, p)
    near = math.floor(mean)
    excess = (mean - near) + rest  # np − near
    spread = math.sqrt(mean * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    # In few digits, so that its distance from a whole number is exact.
    c = math.floor(1024 * excess) / 1024 + 0.5
    scale = (2.83 + 5.1 / b) * spread
    quick = 0.92 - 4.2 / b
    margin = (204.1 * a + b) * 8 * _CELL  # for every U whose distance from ±½ is at least 0.07
    while True:
        u, v = random.random() - 0.5, random.random()
        edge = 0.5 - abs(u)
        if edge >= 0.07 and v <= quick:
            y = (2 * a / edge + b) * u + c
            whole = math.floor(y)
            if not margin < y - whole < 1 - margin:
                whole = _settled(u, edge, a, b, c, y, random)
            return int(near) + int(whole)
        if edge == 0:
            continue
        y = (2 * a / edge + b) * u + c
        if not -near <= y < size - near + 1:
            continue
        slope = a / (edge * edge) + b
        whole = math.floor(y)
        if not slope * 8 * _CELL < y - whole < 1 - slope * 8 * _CELL:
            whole = _settled(u, edge, a, b, c, y, random)
        k = near + whole
        if not 0 <= k <= size:
            continue
        if v * scale <= slope * math.exp(log_chance(k, size, mean, whole - excess)):
            return int(k)


def _settled(u: float, edge: float, a: float, b: float, c: float, y: float, random: Any) -> float:
    """Return the whole part of T somewhere in the cell of ``u``, which has a whole number near by.

    (½ − |U|)·(T(U) − whole) is 2aU + (bU − (whole − c))·(½ − |U|), and its slope where it vanishes
    is (½ − |U|)·T′(U).
    """
    whole = math.floor(y + 0.5)
    product, more = exact_product(b, u)
    gap = product - (whole - c)
    behind = product - gap  # Knuth's exact sum
    more += (product - (gap + behind)) + (behind - (whole - c))
    first, first_rest = exact_product(2 * a, u)
    second, second_rest = exact_product(gap, edge)
    value = (first + second) + (first_rest + second_rest + more * edge)
    slope = a / edge + b * edge
    return whole if random.random() * _CELL * slope >= -value else whole - 1.0


def log_chance(k: float, n: float, mean: float, deviation: float) -> float:
    """Return ln(√(2πnpq)·P(k)); ``mean`` is np, and ``deviation`` is k − np to the last digit."""
    return stirling(n) - _side(k, mean, deviation) - _side(n - k, n - mean, -deviation)


def _side(k: float, mean: float, deviation: float) -> float:
    """Return side(k, mean), where ``deviation`` is k − mean."""
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
        return _STIRLING[int(k)]
    inverse = 1 / k
    w = inverse * inverse
    return inverse * (1 / 12 - w * (1 / 360 - w * (1 / 1260 - w * (1 / 1680 - w / 1188))))


def exact_product(x: float, y: float) -> tuple[float, float]:
    """Return xy as a rounded product and what is missing (Dekker 1971)."""
    product = x * y
    split = 134217729.0 * x  # 2^27 + 1
    x_high = split - (split - x)
    x_low = x - x_high
    split = 134217729.0 * y
    y_high = split - (split - y)
    y_low = y - y_high
    missing = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, missing
