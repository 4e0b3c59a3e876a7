"""Times and large numbers as text.

Times go to 10¹⁵ in simulations, and far beyond in formulas. Options and JSON have them as people
type them, such as 3.5e4; pages and figures have them as people print them, such as 35,000.
"""

from __future__ import annotations

import math
import re

_LARGEST_POWER = 100
"""Numbers beyond this power of ten are printed as "beyond 10¹⁰⁰"."""

_TYPED = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)(?!\w)")
"""A number as people type it: its digits, and its power of ten."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
"""The raised form of each character of a power."""


def time_text(time: float) -> str:
    """Return a time to two digits, as people type it; see also `as_written`.

    >>> time_text(42), time_text(35_000), time_text(1e6)
    ('42', '3.5e4', '1e6')
    """
    return power_text(math.log10(time))


def power_text(log: float) -> str:
    """Return 10^log to two digits, as people type it; it may be too large for a float.

    >>> power_text(193.61), power_text(6)
    ('4.1e193', '1e6')
    """
    if log < 3:
        return f"{10**log:.0f}"
    digits, carried = f"{10 ** (log % 1):.1e}".split("e")
    return f"{digits.removesuffix('.0')}e{math.floor(log) + int(carried)}"


def as_written(text: str) -> str:
    """Return a text with its powers of ten as people print them.

    >>> as_written("3.5e4, 1e6, 1.19e+07, 8.9e-15 and 4.1e193")
    '35,000, 10⁶, 1.19 · 10⁷, 8.9 · 10⁻¹⁵ and beyond 10¹⁰⁰'
    """
    return _TYPED.sub(lambda match: _print_number(match[1], int(match[2])), text)


def _print_number(digits: str, power: int) -> str:
    """Return digits · 10^power as people print it: in full below 10⁷, but 10⁴, 10⁵ and 10⁶."""
    if power > _LARGEST_POWER:
        return f"beyond 10{str(_LARGEST_POWER).translate(_RAISED)}"
    if 0 <= power < 7 and (float(digits) != 1 or power < 4):
        return f"{round(float(f'{digits}e{power}'), 6):,.10g}"
    ten = f"10{str(power).translate(_RAISED)}"
    return ten if float(digits) == 1 else f"{digits} · {ten}"
