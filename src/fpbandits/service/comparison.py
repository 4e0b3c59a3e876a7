"""Mean reward per decision of two groups of units, with an interval that holds at all looks.

Unit i, of group g, has had D_i decisions with a reward by some look, and the sum R_i of these
rewards on [0, 1]. What is estimated is Δ = μ_1 − μ_2, where

    μ_g = Σ_{i ∈ g} E[R_i | D_i] / N_g,    N_g = Σ_{i ∈ g} D_i,

by Δ̂, the same with R_i in place of its expectation. Units are clusters: only that they are
independent of each other is used, not what happens within one. Let m_i = R_i/D_i, b_i = D_i/N_g
and p_i any prediction of m_i from the units before i in its group. For 0 ≤ λ b_i < 1, with
ψ(x) = −log(1 − x) − x,

    E exp(λ(Δ̂ − Δ) − Σ_i ψ(λ b_i)(m_i − p_i)²) ≤ 1,

and likewise for Δ − Δ̂ (Fan, Grama and Liu 2015, Lemma 4.1; Howard, Ramdas, McAuliffe and Sekhon
2021, Theorem 4). For few units, Σ_i (λ b_i)²/8 in place of the sum is better, for any λ (Hoeffding
1963). The mean of such terms over some λ, chosen from the D_i alone, exceeds 2/α with probability
at most α/2: that bounds |Δ̂ − Δ| at one look with error α.

There is a look whenever the number of rewards has grown by a quarter, the first at `FIRST`. Look
j = 1, 2, … has error α/(j(j + 1)); these sum to α, so with probability 1 − α the intervals of all
looks hold together, each for the Δ of its own look.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, logsumexp

from fpbandits.core.arrays import Floats

FIRST = 100
"""The number of rewards at the first look."""

GROWTH = 1.25
"""From a look to the next, the number of rewards grows by this factor."""

_VARIANCES = np.array([1 / 4, 1 / 16, 1 / 64, 1 / 256])
"""Each λ is the best one for such a variance of m_i."""


def looks() -> Iterator[int]:
    """Yield the numbers of rewards at which there is a look."""
    rewards = float(FIRST)
    while True:
        yield int(rewards)
        rewards *= GROWTH


def error_at(look: int, error: float) -> float:
    """Return the part of ``error`` that is spent at a look, counted from 1."""
    return error / (look * (look + 1))


def mean(decisions: Floats, sums: Floats) -> float:
    """Return the mean reward per decision of a group, by unit in order of enrolment."""
    return float(sums.sum() / decisions.sum())


def half_width(groups: list[tuple[Floats, Floats]], error: float) -> float:
    """Return h such that |Δ̂ − Δ| ≤ h at one look, except with probability ``error``.

    Parameters
    ----------
    groups
        The decisions D_i ≥ 1 and the sums R_i of each group's units, in order of enrolment.
    error
        The probability that the bound may fail.
    """
    ranges = np.concatenate([decisions / decisions.sum() for decisions, _ in groups])
    squares = np.concatenate([_residuals(*group) ** 2 for group in groups])
    threshold, total = np.log(2 / error), (ranges**2).sum()
    bernstein = np.minimum(np.sqrt(2 * threshold / (_VARIANCES * total)), 0.9 / ranges.max())
    parts = np.outer(bernstein, ranges)
    hoeffding = np.sqrt(8 * threshold / total)
    rates = np.append(bernstein, hoeffding)
    losses = np.append((-np.log1p(-parts) - parts) @ squares, hoeffding**2 * total / 8)

    def excess(width: float) -> float:
        """Return by how much the log of the mean of all terms exceeds the threshold."""
        return float(logsumexp(rates * width - losses) - np.log(len(rates)) - threshold)

    largest = float(((threshold + np.log(len(rates)) + losses) / rates).min())
    return float(brentq(excess, 0.0, largest + 1e-12))


def _residuals(decisions: Floats, sums: Floats) -> Floats:
    """Return m_i − p_i, with p_i the mean reward of the units before, and half a reward of 1."""
    before, past = np.cumsum(decisions) - decisions, np.cumsum(sums) - sums
    residuals: Floats = sums / decisions - (past + 0.5) / (before + 1)
    return residuals


def ratio_p_value(control: int, others: int, share: float) -> float:
    """Return a p-value of the control group's size that is valid whenever one looks.

    It is 1 over the Bayes factor of a uniform share against the ``share`` that was asked for. With
    probability at most p it is ever below p (Lindon and Malek 2022).

    >>> round(ratio_p_value(105, 895, 0.1), 2), ratio_p_value(200, 800, 0.1) < 1e-9
    (1.0, True)
    """
    log_likelihood = control * np.log(share) + others * np.log1p(-share)
    return float(np.exp(min(0.0, log_likelihood - betaln(control + 1, others + 1))))
