"""How fast sums of rewards are drawn, beside the sampler that Numba compiles for NumPy, in one run.

Run by ``make bench``. Ratios of processor times measured in turn, the best of several, since
machines are shared and noisy. Each stands beside its limit.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from engine import claim

from fpbandits.engine.compiling import compiled
from fpbandits.families.binomial import draw_binomial

DRAWS = 100_000
SIZES = (2, 5, 30, 100, 1_000, 10**6, 10**9, 10**12, 2**53)
CHANCES = (0.5, 0.9, 0.1, 1e-3, 1e-6, 1e-9, 1e-12)


@compiled
def ours(sizes: Any, chances: Any, random: Any) -> int:
    """Draw from many laws: in arrays, so that nothing is computed once for all."""
    total = 0
    for place in range(sizes.size):
        total += draw_binomial(sizes[place], chances[place], random)
    return total


@compiled
def numpys(sizes: Any, chances: Any, random: Any) -> int:
    """Draw as NumPy does."""
    total = 0
    for place in range(sizes.size):
        total += random.binomial(sizes[place], chances[place])
    return total


def seconds(work: Any) -> float:
    """Return the processor time that work takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    print("\nOne binomial draw, time relative to NumPy's as compiled by Numba")
    generator = np.random.default_rng(0)
    for p in CHANCES:
        for n in SIZES:
            laws = np.full(DRAWS, n), np.full(DRAWS, p)
            works = [partial(draw, *laws, generator) for draw in (ours, numpys)]
            for work in works:
                work()
            times = [[seconds(work) for work in works] for _ in range(5)]
            one, other = (min(column) for column in zip(*times, strict=True))
            claim(f"  n = {n:.0e}, p = {p:g}: {one / DRAWS * 1e9:.0f} ns", one / other, 1.3)
