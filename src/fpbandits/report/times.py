"""Times as people write them: they go to 10¹⁵ in simulations, and far beyond in formulas."""

from __future__ import annotations

import math


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
