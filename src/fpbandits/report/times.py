"""Times as people type and write them.

They go to 10¹⁵ in simulations, and far beyond in formulas. What is typed, 3.5e4, can be read back;
what is written, 35,000, reads better.
"""

from __future__ import annotations

import math
import re

_MOST = 100
"""Beyond this power of ten, numbers say no more than that they are beyond it."""

_TYPED = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)(?!\w)")
_POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def time_text(time: float) -> str:
    """Return a time to two digits, as people type it.

    >>> time_text(42), time_text(35_000), time_text(1e6)
    ('42', '3.5e4', '1e6')
    """
    return power_text(math.log10(time))


def power_text(log: float) -> str:
    """Return 10^log, which may be too large for a number, to two digits.

    >>> power_text(193.61), power_text(6)
    ('4.1e193', '1e6')
    """
    if log < 3:
        return f"{10**log:.0f}"
    digits, carried = f"{10 ** (log % 1):.1e}".split("e")
    return f"{digits.removesuffix('.0')}e{math.floor(log) + int(carried)}"


def as_written(text: str) -> str:
    """Return a text with the powers of ten in it as people write them.

    >>> as_written("3.5e4, 1e6, 1.19e+07, 8.9e-15 and 4.1e193")
    '35,000, 10⁶, 1.19 · 10⁷, 8.9 · 10⁻¹⁵ and beyond 10¹⁰⁰'
    """
    return _TYPED.sub(lambda found: _written(found[1], int(found[2])), text)


def _written(digits: str, power: int) -> str:
    if power > _MOST:
        return f"beyond 10{str(_MOST).translate(_POWERS)}"
    if 0 <= power < 7 and (float(digits) != 1 or power < 4):
        return f"{round(float(f'{digits}e{power}'), 6):,.10g}"
    ten = f"10{str(power).translate(_POWERS)}"
    return ten if float(digits) == 1 else f"{digits} · {ten}"
