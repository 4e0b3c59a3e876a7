"""Brute force: the paper's definitions and bounds by plain loops, sharing no code with the package.

Everything is on [0, 1]. Slow on purpose; `distance ≥ 0.02` keeps the loops over k short.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations

import numpy as np
from scipy.integrate import quad
from scipy.special import betaln

SAME = 1e-12

Divergence = Callable[[int, int, int], float]
"""(truth, other, arm) -> the divergence of the arm's law under `other` from that under `truth`."""


def kl_bernoulli(p: float, q: float) -> float:
    total = 0.0
    for a, b in ((p, q), (1 - p, 1 - q)):
        if a > 0:
            total += math.inf if b == 0 else a * (math.log(a) - math.log(b))
    return total


def kl_discrete(p: list[float], q: list[float]) -> float:
    total = 0.0
    for a, b in zip(p, q, strict=True):
        if a > 0:
            total += math.inf if b == 0 else a * (math.log(a) - math.log(b))
    return total


@cache
def kl_beta(p: float, q: float, concentration: float) -> float:
    """By numerical integration of the definition, over t = ln(x/(1 − x)) to tame the ends."""
    (a, b), (c, d) = ((m * concentration, (1 - m) * concentration) for m in (p, q))

    def integrand(t: float) -> float:
        log_x, log_rest = -np.logaddexp(0, -t), -np.logaddexp(0, t)
        one = a * log_x + b * log_rest - betaln(a, b)
        other = c * log_x + d * log_rest - betaln(c, d)
        return float(np.exp(one) * (one - other))

    value, _ = quad(integrand, -np.inf, np.inf, epsabs=1e-12, epsrel=1e-10, limit=500)
    return float(value)


@cache
def k_of(alpha: float) -> int:
    k = 3
    while not k > math.ceil(12 * math.log(k) / alpha**2):
        k += 1
    return k


@cache
def K_of(alpha: float, candidates: int) -> float:
    """Twenty thousand terms: what is left out is below 1e-12 of the sum."""
    first = k_of(alpha)
    return math.fsum(
        2 * candidates * k / (k - math.ceil(12 * math.log(k) / alpha**2)) ** 5
        for k in range(first, first + 20_000)
    )


@dataclass
class Oracle:
    """One case, by the definitions."""

    means: list[list[float]]
    truth: int
    divergence: Divergence
    same_law: Callable[[int, int, int], bool]
    best: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.best = [self.best_arms(theta)[0] for theta in range(len(self.means))]
        self.star = self.best[self.truth]
        self.A = sorted(set(self.best))
        self.B = [
            theta
            for theta in range(len(self.means))
            if self.best[theta] != self.star and self.alpha(theta) <= SAME
        ]
        self.C = sorted({self.best[theta] for theta in self.B})
        self.others = [
            theta
            for theta in range(len(self.means))
            if self.best[theta] != self.star and theta not in self.B
        ]
        self.gaps = [
            0.0
            if arm in self.best_arms(self.truth)
            else self.means[self.truth][self.star] - self.means[self.truth][arm]
            for arm in range(len(self.means[0]))
        ]
        self.betas = {
            arm: min(
                abs(self.means[self.truth][arm] - self.means[theta][arm])
                for theta in self.B
                if self.best[theta] == arm
            )
            for arm in self.C
        }

    def best_arms(self, theta: int) -> list[int]:
        row = self.means[theta]
        return [arm for arm, mean in enumerate(row) if max(row) - mean <= SAME]

    def alpha(self, theta: int) -> float:
        return abs(self.means[self.truth][self.star] - self.means[theta][self.star])

    def lasting(self, theta: int) -> float:
        alpha = self.alpha(theta)
        return k_of(alpha) + K_of(alpha, len(self.A))

    def pulls(self, arm: int, *, printed: bool) -> float | None:
        """The bound on E[n_i] less its log term; None where the paper gives none."""
        lasting = [self.lasting(theta) for theta in self.others if self.best[theta] == arm]
        if arm in self.C:
            return None if printed else 2 + 4 * len(self.A) + max(lasting, default=0.0)
        return 1 + 4 * len(self.A) + (min(lasting) if printed else max(lasting))

    def log_coefficient(self) -> float:
        return 12 * sum(self.gaps[arm] / self.betas[arm] ** 2 for arm in self.C)

    def needed(self) -> list[int]:
        """The models that any good policy must tell from the truth by exploring."""
        return [
            theta
            for theta in self.B
            if self.star not in self.best_arms(theta)
            and self.same_law(self.truth, theta, self.star)
        ]

    def lower(self, against: list[int], arms: list[int]) -> float:
        """The least Σ c·Δ with Σ c·D ≥ 1 for all, by trying every corner of the polyhedron."""
        arms = [arm for arm in arms if arm != self.star]
        free = [arm for arm in arms if self.gaps[arm] == 0]
        costly = [arm for arm in arms if self.gaps[arm] > 0]
        rows = []
        for theta in against:
            divergences = {arm: self.divergence(self.truth, theta, arm) for arm in arms}
            if any(math.isinf(d) for d in divergences.values()):
                continue
            if any(divergences[arm] > 0 for arm in free):
                continue
            rows.append([divergences[arm] for arm in costly])
        return _corner_minimum(np.array(rows), np.array([self.gaps[arm] for arm in costly]))


def _corner_minimum(rows: np.ndarray, cost: np.ndarray) -> float:
    """Minimise cost·c over c ≥ 0, rows·c ≥ 1: the optimum is where len(cost) of them are equal."""
    if not len(rows):
        return 0.0
    # A row that asks for no more than another one cannot bind.
    rows = np.unique(rows, axis=0)
    rows = np.array(
        [
            row
            for i, row in enumerate(rows)
            if not any((other <= row).all() for j, other in enumerate(rows) if j != i)
        ]
    )
    dimension = len(cost)
    walls = np.vstack([rows, np.eye(dimension)])
    heights = np.concatenate([np.ones(len(rows)), np.zeros(dimension)])
    chosen = np.array(list(combinations(range(len(walls)), dimension)))
    systems, sides = walls[chosen], heights[chosen]
    regular = np.abs(np.linalg.det(systems)) > 1e-14
    corners = np.linalg.solve(systems[regular], sides[regular][..., None])[..., 0]
    feasible = (corners >= -1e-9).all(axis=1) & (corners @ rows.T >= 1 - 1e-9).all(axis=1)
    return float((corners[feasible] @ cost).min())
