"""The policies in plain Python, for comparison: each a few lines, sharing no code with the package.

Rewards are on [0, 1]. A reference is a generator: it yields an arm and is sent its reward.
"""

from __future__ import annotations

import math
from collections.abc import Generator

Player = Generator[int, float, None]


def fp_ucb(means: list[list[float]], slack: float = 0.0) -> Player:
    """Algorithm 1, line by line."""
    best = [min(i for i, m in enumerate(row) if m >= max(row) - 1e-12) for row in means]
    A = sorted(set(best))
    n, S = dict.fromkeys(A, 0), dict.fromkeys(A, 0.0)
    A_k, k = A, 0
    while True:
        for arm in A_k or A:
            S[arm] += yield arm
            n[arm] += 1
        k += 1
        A_k = sorted(
            {
                best[theta]
                for theta, row in enumerate(means)
                if all(
                    abs(S[i] / n[i] - row[i]) <= math.sqrt(3 * math.log(k) / n[i]) + slack
                    for i in A
                )
            }
        )


def ucb1(arms: int) -> Player:
    n, S = [0] * arms, [0.0] * arms
    for arm in range(arms):
        S[arm] += yield arm
        n[arm] += 1
    t = arms
    while True:
        index = [S[i] / n[i] + math.sqrt(2 * math.log(t) / n[i]) for i in range(arms)]
        arm = index.index(max(index))
        S[arm] += yield arm
        n[arm] += 1
        t += 1
