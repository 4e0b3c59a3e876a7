"""Numbers that the paper's proofs rely on: sums of series, sides of inequalities.

They depend on no simulation.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import binom, zeta

from fpbandits.problem.problem import Problem
from fpbandits.theory.bounds import separation
from fpbandits.theory.structure import Structure


def compute_numbers() -> dict[str, float]:
    """Compute all of these numbers, by name."""
    at_each = [separation(np.linspace(0.01, 1, 991), candidates) for candidates in (2, 4, 16)]
    shares = np.array([times.episodes / times.lemma2_printed for times in at_each])
    at_alpha_2 = separation(np.array([0.2]), 4)
    k = np.arange(at_alpha_2.k[0], 10**5, dtype=float)
    threshold = 2 * math.sqrt(3 / math.e)
    radius = math.sqrt(3 * math.log(60) / 60)  # in episode 60, after 60 plays
    return {
        "Σ 2 k⁻⁵": float(2 * zeta(5)),
        "K at α = .2": float(at_alpha_2.K[0]),
        "K at α = .2, to 1e5": float((8 * k / (k - np.ceil(300 * np.log(k))) ** 5).sum()),
        "margin of θ°": radius - (1 - 0.5),
        "margin of a stand-in": radius - (1 - 0.9),
        "lemma 1: least β − Δ": _least_beta_less_gap(),
        "lemma 2: largest share of the bound": float(shares.max()),
        "lemma 2: least share of the bound": float(shares.min()),
        # α²√k − 12 at α = .2 and k = E + 1 = 90,001, which Lemma 2's proof takes to exceed 1
        "lemma 2: step (a)": 0.2**2 * math.sqrt(90_001) - 12,
        "lemma 2: step (b)": _step_b(),
        "k just above 2√(3/e)": _first_episode(threshold),
        "2√(3/e)": threshold,
        "first α with k = 3": math.sqrt(6 * math.log(3)),
    }


def _least_beta_less_gap() -> float:
    """Return the least β_i − Δ_i in 2,000 random sets of models with unique best arms."""
    random = np.random.default_rng(1)
    least = math.inf
    for _ in range(2_000):
        arms = int(random.integers(2, 6))
        means = random.integers(1, 20, (int(random.integers(2, 12)), arms)) / 20
        means = np.unique(means, axis=0)
        ordered = np.sort(means, axis=1)
        means = means[ordered[:, -1] > ordered[:, -2]]
        if not len(means):
            continue
        structure = Structure(Problem.bernoulli(means.tolist()))
        for truth in range(len(means)):
            gaps = structure.gaps(truth)
            for arm, beta in structure.betas(truth).items():
                least = min(least, beta - float(gaps[arm]))
    return least


def _step_b() -> float:
    """Return Σ_{k≥4} k^{7/2}/(k − 1)⁵ = Σ_m binom(7/2, m) ζ(3/2 + m, 3), by the binomial series."""
    m = np.arange(40)
    return float((binom(3.5, m) * zeta(1.5 + m, 3)).sum())


def _first_episode(alpha: float) -> int:
    """Return min{k ≥ 3 : k > ⌈12 ln k/α²⌉}, by trying 3, 4, and so on."""
    k = 3
    while k <= math.ceil(12 * math.log(k) / alpha**2):
        k += 1
    return k
