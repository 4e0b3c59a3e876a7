"""The policies in plain Python, for comparison: each a few lines, sharing no code with the package.

Rewards are on [0, 1]. A reference is a generator: it yields an arm and is sent its reward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from scipy.optimize import brentq

Player = Generator[int, float, None]
Stream = Callable[[int], Any]
"""The random stream of a decision, by its number."""

EQUAL = 1e-9


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


def kl(p: float, q: float) -> float:
    if (q <= 0 < p) or (q >= 1 > p):
        return math.inf
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def imed(arms: int, n: list[int] | None = None, S: list[float] | None = None) -> Player:
    n, S = n or [0] * arms, S or [0.0] * arms
    while True:
        if 0 in n:
            arm = n.index(0)
        else:
            means = [S[i] / n[i] for i in range(arms)]
            top = max(means)
            number = [n[i] * kl(means[i], top) + math.log(n[i]) for i in range(arms)]
            arm = first_least(number)
        S[arm] += yield arm
        n[arm] += 1


def kl_ucb(arms: int) -> Player:
    n, S = [0] * arms, [0.0] * arms
    while True:
        if 0 in n:
            arm = n.index(0)
        else:
            index = []
            for i in range(arms):
                mean, bound = S[i] / n[i], math.log(sum(n)) / n[i]
                if mean >= 1 or bound == 0:
                    index.append(mean)
                elif kl(mean, 1 - 1e-16) <= bound:
                    index.append(1.0)
                else:
                    root = brentq(lambda q, m=mean, b=bound: kl(m, q) - b, mean, 1 - 1e-16)
                    index.append(float(root))
            arm = next(i for i in range(arms) if index[i] >= max(index) - 1e-12)
        S[arm] += yield arm
        n[arm] += 1


def misfits(means: Any, n: list[int], S: list[float], squares: bool = False) -> list[float]:
    """What the rewards cost each model, less the least."""
    total = []
    for row in means:
        cost = 0.0
        for q, plays, wins in zip(row, n, S, strict=True):
            if plays:
                mean = wins / plays
                cost += plays * ((mean - q) ** 2 if squares else kl(mean, q))
        total.append(cost)
    return [cost - min(total) for cost in total]


def best_arm(row: list[float]) -> int:
    return min(i for i, mean in enumerate(row) if mean >= max(row) - 1e-12)


def first_least(costs: list[float]) -> int:
    return next(i for i, cost in enumerate(costs) if cost <= min(costs) + EQUAL)


def fp_llr(means: list[list[float]]) -> Player:
    A = sorted({best_arm(row) for row in means})
    n, S = [0] * len(means[0]), [0.0] * len(means[0])
    cycle, k = A, 0
    while True:
        for arm in cycle:
            S[arm] += yield arm
            n[arm] += 1
        k += 1
        limit = 2 * math.log(k) + math.log(len(means)) + EQUAL
        fits = [cost <= limit for cost in misfits(means, n, S)]
        cycle = sorted({best_arm(row) for row, fit in zip(means, fits, strict=True) if fit})


def optimist(
    means: list[list[float]], delta: float = 0.1, offset: float = 0.7, safe: float = math.inf
) -> Player:
    arms = len(means[0])
    n, S = [0] * arms, [0.0] * arms
    while True:
        own = [sum(n[i] * kl(S[i] / n[i], row[i]) for i in range(arms) if n[i]) for row in means]
        if min(own) > safe + sum(math.log(plays + 1) for plays in n):
            yield from imed(arms, n, S)
        costs = misfits(means, n, S)
        limit = (1 + delta) * math.log(max(sum(n), 1)) + offset + EQUAL
        top = max(max(row) for row, cost in zip(means, costs, strict=True) if cost <= limit)
        mass = [0.0] * arms
        for row, cost in zip(means, costs, strict=True):
            if cost <= limit and max(row) >= top - 1e-12:
                for i in range(arms):
                    if row[i] >= max(row) - 1e-12:
                        mass[i] += math.exp(-cost)
        arm = next(i for i in range(arms) if mass[i] >= max(mass) * (1 - EQUAL))
        S[arm] += yield arm
        n[arm] += 1


def least_squares(means: list[list[float]]) -> Player:
    n, S = [0] * len(means[0]), [0.0] * len(means[0])
    while True:
        arm = best_arm(means[first_least(misfits(means, n, S, squares=True))])
        S[arm] += yield arm
        n[arm] += 1


def _fits(row: list[float], n: list[int], S: list[float], scale: float, t: int) -> bool:
    return all(
        abs(S[i] / n[i] - row[i]) <= math.sqrt(scale * math.log(t) / n[i])
        for i in range(len(n))
        if n[i]
    )


def ucb_s(means: list[list[float]], alpha: float = 4.0) -> Player:
    arms = len(means[0])
    n, S = [0] * arms, [0.0] * arms
    while True:
        t = max(sum(n), 1)
        inside = [row for row in means if _fits(row, n, S, alpha / 4, t)]
        if inside:
            top = max(map(max, inside))
            arm = min(best_arm(row) for row in inside if max(row) >= top - 1e-12)
        else:
            index = [
                S[i] / n[i] + math.sqrt(2 * math.log(t) / n[i]) if n[i] else math.inf
                for i in range(arms)
            ]
            arm = index.index(max(index))
        S[arm] += yield arm
        n[arm] += 1


def ucb_c(means: list[list[float]], alpha: float = 3.0) -> Player:
    arms = len(means[0])
    n, S = [0] * arms, [0.0] * arms
    while True:
        t = max(sum(n), 1)
        inside = [row for row in means if _fits(row, n, S, alpha / 2, t)]
        competitive = {best_arm(row) for row in inside} or set(range(arms))
        index = [
            S[i] / n[i] + math.sqrt(alpha / 2 * math.log(t) / n[i]) if n[i] else math.inf
            for i in range(arms)
        ]
        arm = min(competitive, key=lambda i: (-index[i], i))
        S[arm] += yield arm
        n[arm] += 1


Rates = list[tuple[list[int], list[float]]]
"""For each model: which ones must be told from it, and how often to play each arm for that."""


def ata(means: list[list[float]], rates: Rates, stream: Stream, c: float = 1.0) -> Player:
    arms = len(means[0])
    n, S = [0] * arms, [0.0] * arms
    while True:
        costs = misfits(means, n, S)
        guess = first_least(costs)
        arm = best_arm(means[guess])
        rivals, pulls = rates[guess]
        ratio = min((costs[r] - costs[guess] for r in rivals), default=math.inf)
        if ratio <= math.log(c * (sum(n) + 1)):
            shares = (
                [pull / sum(pulls) for pull in pulls]
                if sum(pulls) > 0
                else [0.0 if i == arm else 1 / (arms - 1) for i in range(arms)]
            )
            bounds = np.cumsum(shares)
            arm = int(np.searchsorted(bounds, stream(sum(n)).random(), side="right"))
            arm = min(arm, max(i for i in range(arms) if shares[i] > 0))
        S[arm] += yield arm
        n[arm] += 1


def ossb(means: list[list[float]], rates: Rates, epsilon: float = 0.01) -> Player:
    arms = len(means[0])
    n, S, s = [0] * arms, [0.0] * arms, 0
    while True:
        guess = first_least(misfits(means, n, S))
        c, best = rates[guess][1], best_arm(means[guess])
        log = math.log(sum(n) + 1)
        if all(n[x] >= c[x] * log for x in range(arms) if x != best):
            arm = best
        else:
            s += 1
            arm = n.index(min(n))
            if min(n) > epsilon * s:
                arm = min((x for x in range(arms) if c[x] > 0), key=lambda x: (n[x] / c[x], x))
        S[arm] += yield arm
        n[arm] += 1


def bpr(arms: int, largest: float, gap: float, stream: Stream) -> Player:
    n, S = [0] * arms, [0.0] * arms
    while True:
        if 0 in n:
            arm = n.index(0)
        else:
            seen = [S[i] / n[i] for i in range(arms)]
            arm = seen.index(max(seen))
            if max(seen) < largest - gap / 2:
                weights = np.array([(largest - mean) ** -2 for mean in seen])
                draw = stream(sum(n)).random() * weights.sum()
                arm = min(int(np.searchsorted(np.cumsum(weights), draw, side="right")), arms - 1)
        S[arm] += yield arm
        n[arm] += 1


def thompson_theta(means: list[list[float]], stream: Stream) -> Player:
    n, S = [0] * len(means[0]), [0.0] * len(means[0])
    while True:
        weights = np.exp(-np.array(misfits(means, n, S)))
        draw = stream(sum(n)).random() * weights.sum()
        model = min(int(np.searchsorted(np.cumsum(weights), draw, side="right")), len(means) - 1)
        arm = best_arm(means[model])
        S[arm] += yield arm
        n[arm] += 1
