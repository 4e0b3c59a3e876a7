r"""Upper bounds on regret: the default's, Theorem 1 for FP-UCB, optimist's and UCB1's.

Let 1 be the arm a*(θ°), |A| the number of candidate arms, and for a model θ outside B(θ°) with
another best arm i, with α = α(θ) > 0,

* k_i(θ) = min{k ≥ 3 : k > ⌈12 ln k/α²⌉}, the episode from which on θ should be ruled out,
* K_i(θ) = Σ_{k ≥ k_i(θ)} 2|A| k / (k − ⌈12 ln k/α²⌉)⁵, the chance that it is not,
* E_i(θ) = max{3, ⌈144/α⁴⌉}, from which Lemma 2 bounds k_i + K_i by 2E(E + 1)|A| + 4|A|α¹⁰.

**Proposition 1** bounds E[n_i(T)] for i ∈ A \ C(θ°), i ≠ 1, by C_i = 1 + 4|A| + k_i(θ) + K_i(θ).
Arm i is played while *any* θ with a*(θ) = i fits, so the bound must take the largest k_i + K_i; the
paper takes the smallest, and its bound is false (`docs/paper.md` has a counterexample).

**Proposition 2** bounds E[n_i(T)] for i ∈ C(θ°) by 2 + 4|A| + 12 ln T/β_i². The models
*outside* B(θ°) with a*(θ) = i bring arm i into play as well: corrected, the largest k_i + K_i among
them is added.

**Theorem 1** adds up: E[R(T)] ≤ constant + log_coefficient · ln T with

==================  ==========================  ==============================================
                    printed                     corrected
==================  ==========================  ==============================================
constant, B empty   D_1 = |A| max_i Δ_i C_i     Σ_i Δ_i · (bound on E[n_i] less its log term)
constant, else      D_2, which needs C_i where  the same sum
                    Proposition 1 gives none
log_coefficient     12 Σ_{i∈C} Δ_i/β_i²         12 Σ_{i∈C} Δ_i/β_i²
==================  ==========================  ==============================================

**Lemma 2**: the proof needs E ≥ ⌊144/α⁴⌋ + 1, which is one more than printed where 144/α⁴ is a
whole number; with that its conclusion holds. It is a crude bound.

Everything here is on [0, 1]; regret in the user's units is larger by the width of the range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext

import numpy as np

from fpbandits.core.arrays import TOLERANCE, Floats, Ints
from fpbandits.theory.lower import Theorem2
from fpbandits.theory.structure import Structure

DELTA = 0.1
"""The δ of `frugal`, in h(t) = κt^{1+δ}, and of `optimist`, in its threshold (1 + δ) ln t + b."""

_EXACT_TERMS = 512
"""Terms of K that are added up one by one."""

_MOST_AT_ONCE = 2048
"""Distances α whose terms are computed at a time, to save memory."""


@dataclass(frozen=True)
class Separation:
    """How many episodes it takes to rule out models at distances α: an entry per model."""

    alpha: Floats
    k: list[int]
    K: Floats
    lemma2: Floats
    lemma2_printed: Floats

    @property
    def episodes(self) -> Floats:
        """k_i(θ) + K_i(θ), a bound on the expected number of episodes in which θ still fits."""
        return np.array(self.k, dtype=np.float64) + self.K


@dataclass(frozen=True)
class Theorem1:
    """Theorem 1 for one θ°, on [0, 1]; arms and models by index.

    Attributes
    ----------
    separable, separation
        The models outside B(θ°) with another best arm, and how long each lasts.
    printed, corrected
        Bounds on E[n_i(T)] less its log term, by arm.
    printed_constant
        D_1; None where B(θ°) is not empty, since D_2 is not defined as printed.
    corrected_constant, log_coefficient
        E[R(T)] ≤ corrected_constant + log_coefficient · ln T.
    """

    separable: Ints
    separation: Separation
    printed: dict[int, float]
    corrected: dict[int, float]
    printed_constant: float | None
    corrected_constant: float
    log_coefficient: float


def theorem1(structure: Structure, truth: int) -> Theorem1:
    """Bound the regret of FP-UCB under the model ``truth``."""
    candidates = len(structure.candidate_arms)
    gaps, betas = structure.gaps(truth), structure.betas(truth)
    separable = structure.separable(truth)
    times = separation(structure.alphas(truth)[separable], candidates)
    episodes, best = times.episodes, structure.best_arm[separable]

    printed, corrected = {}, {}
    for arm in map(int, structure.candidate_arms):
        if arm == structure.best_arm[truth]:
            continue
        of_arm = episodes[best == arm]
        if arm in betas:
            corrected[arm] = 2 + 4 * candidates + float(of_arm.max(initial=0.0))
        else:
            printed[arm] = 1 + 4 * candidates + float(of_arm.min())
            corrected[arm] = 1 + 4 * candidates + float(of_arm.max())

    d1 = candidates * max((gaps[arm] * pulls for arm, pulls in printed.items()), default=0.0)
    return Theorem1(
        separable=separable,
        separation=times,
        printed=printed,
        corrected=corrected,
        printed_constant=None if betas else float(d1),
        corrected_constant=float(sum(gaps[arm] * pulls for arm, pulls in corrected.items())),
        log_coefficient=12 * float(sum(gaps[arm] / beta**2 for arm, beta in betas.items())),
    )


def default_bound(structure: Structure, truth: int, lower: Theorem2) -> float | None:
    """Return a bound on lim sup E[R(T)]/ln T of `frugal`, the default; None where none is known.

    The *rivals* of θ° on a best arm are the models that give it the same law and hold another arm
    for better. If no best arm of θ° has a rival, regret is bounded, and this is 0. If θ° has one
    best arm and every model that gives it the same law is a rival, it is (1 + δ)(1 + D)·|rivals|
    times the lower bound, where D is the largest D_i(θ°‖θ) of a rival θ on any arm i.
    ``docs/default-proofs.md`` has the proofs.

    >>> from fpbandits import load_problem
    >>> from fpbandits.theory.lower import theorem2
    >>> structure = Structure(load_problem("paper:two"))
    >>> [round(default_bound(structure, truth, theorem2(structure, truth)), 4) for truth in (0, 1)]
    [0.0, 0.5722]
    """
    best = np.flatnonzero(structure.best_arms[truth])
    same_law = np.stack(
        [structure.problem.rewards.same_law(truth, arm) for arm in best.tolist()], axis=1
    )
    rivals = same_law & ~structure.best_arms[:, best]
    if not rivals.any():
        return 0.0
    count = int(rivals.sum())
    if len(best) > 1 or same_law.sum() > count + 1:  # one more is θ° itself
        return None
    largest = float(structure.problem.rewards.divergence(truth, np.flatnonzero(rivals)).max())
    slope = (1 + DELTA) * (1 + largest) * count * lower.all_arms.coefficient
    return slope if math.isfinite(largest) else None


def optimist_bound(structure: Structure, truth: int) -> float | None:
    r"""Return an upper bound on lim sup E[R(T)]/ln T of `optimist`; None if best arms tie.

    Let θ° have a single best arm, 1. For a wrong arm a let D_a be the least D_a(θ°‖θ) over the θ
    that give 1 the same law and under which a is a best arm and 1 is not; they are in B(θ°).
    Then lim sup E[R(T)]/ln T ≤ (1 + δ) Σ_a Δ_a/D_a, and regret is bounded if that is 0.

    *Proof.* By the proof in ``docs/optimist.md``, all but finitely many of a's plays, in
    expectation, are on behalf of such a θ with ℓ(θ°) − ℓ(θ) ≤ c(T) = (1 + δ) ln T + b. Arm 1 adds
    nothing to that difference; the arms but 1 and a take at most X from it, whenever, where
    P(X ≥ x) ≤ e^{−x} (Ville); and n plays of a bring at least n(1 − ε)D_a, but for finitely many
    n, in expectation (independent steps of mean D_a, whose lower tails are exponentially small). So
    E[n_a(T)] ≤ (c(T) + E[X])/((1 − ε)D_a) + O(1), for every ε > 0; X is the largest of all such θ,
    and E[X] ≤ 1 + ln |Θ|. Where D_a is infinite, the first reward that θ rules out refutes it, and
    its plays are finite in expectation. ∎

    >>> from fpbandits import load_problem
    >>> structure = Structure(load_problem("paper:two"))
    >>> optimist_bound(structure, 0), round(optimist_bound(structure, 1), 4)
    (0.0, 0.2422)
    """
    if structure.best_arms[truth].sum() > 1:
        return None
    confused = structure.must_explore(truth)
    divergence = structure.problem.rewards.divergence(truth, confused)
    # By Pinsker's inequality a divergence stays positive, however close the means.
    distance = structure.means[truth] - structure.means[confused]
    divergence = np.maximum(divergence, 2 * distance**2)
    best_there = structure.best_arms[confused]
    least = np.min(divergence, axis=0, initial=np.inf, where=best_there)
    return (1 + DELTA) * float((structure.gaps(truth) / least).sum())


def ucb1_bound(gaps: Floats) -> tuple[float, float]:
    """Return (log_coefficient, constant) of E[R(T)] ≤ 8 ln T Σ 1/Δ_i + (1 + π²/3) Σ Δ_i.

    >>> log_coefficient, constant = ucb1_bound(np.array([0, .5, .25]))
    >>> round(log_coefficient, 6), round(constant, 6)
    (48.0, 3.217401)
    """
    positive = gaps[gaps > 0]
    return 8 * float((1 / positive).sum()), (1 + math.pi**2 / 3) * float(positive.sum())


def separation(alpha: Floats, candidates: int) -> Separation:
    """Compute k_i, K_i and Lemma 2's bound at distances ``alpha`` with |A| = ``candidates``.

    k is exact. K is an infinite sum, given with a relative error below 1e-10: `_EXACT_TERMS` terms
    are added up and the rest is enclosed between two integrals.

    >>> times = separation(np.array([.2, 1.]), candidates=4)
    >>> times.k
    [2327, 48]
    """
    levels, indices = np.unique(alpha, return_inverse=True)
    k: list[int] = []
    sums = np.empty_like(levels)
    for start in range(0, len(levels), _MOST_AT_ONCE):
        block = slice(start, start + _MOST_AT_ONCE)
        block_k, sums[block] = _first_and_sum(levels[block])
        k += block_k
    E = np.array([_lemma2_start(level) for level in levels.tolist()]).reshape(-1, 2)
    lemma2 = candidates * (2 * E * (E + 1) + 4 * levels[:, np.newaxis] ** 10)
    return Separation(
        alpha=alpha,
        k=[k[index] for index in indices.tolist()],
        K=2 * candidates * sums[indices],
        lemma2=lemma2[indices, 1],
        lemma2_printed=lemma2[indices, 0],
    )


def _lemma2_start(alpha: float) -> tuple[float, float]:
    """Return E_i(θ) as printed and as corrected; they differ where 144/α⁴ is a whole number.

    α comes from a difference of decimals such as .6 − .4, so "whole" is up to its rounding.
    """
    threshold = 144 / alpha**4
    whole = float(round(threshold))
    if abs(threshold - whole) <= 4 * TOLERANCE / alpha * threshold:
        return max(3.0, whole), max(3.0, whole + 1)
    return max(3.0, float(math.ceil(threshold))), max(3.0, math.floor(threshold) + 1.0)


def _first_and_sum(alpha: Floats) -> tuple[list[int], Floats]:
    """Return k_i and Σ_{k ≥ k_i} k/(k − ⌈c ln k⌉)⁵ with c = 12/α².

    With g(k) = k − c ln k the denominator is ⌊g(k)⌋⁵, and k > ⌈c ln k⌉ means g(k) ≥ 1: so k_i is
    the larger root of g = 1, rounded up. From there g is known by its start and small steps:
    g(k_i + j) = g(k_i) + j − c·log1p(j/k_i), accurate at any size of k_i.
    """
    from scipy.special import lambertw

    c = 12 / alpha**2
    # x − c ln x = 1 where x = −c·W(−e^{−1/c}/c). If c is below 1.5, x is below 3.
    far = np.maximum(c, 1.5)
    root = -far * lambertw(-np.exp(-1 / far) / far, -1).real
    first = np.maximum(np.ceil(root), 3.0)
    start = first - c * np.log(first)
    j = np.arange(_EXACT_TERMS + 1)
    with np.errstate(over="ignore"):
        g = start[:, np.newaxis] + j - c[:, np.newaxis] * np.log1p(j / first[:, np.newaxis])

    # Where rounding could move g across a whole number, compute it again with more digits.
    rounding = 8 * np.finfo(float).eps * first
    doubt = (rounding > 1e-9) | (np.abs(root - np.rint(root)) < 1e-9)
    doubt |= np.abs(g - np.rint(g)).min(axis=1) < 1e-9
    k = [0 if in_doubt else int(value) for in_doubt, value in zip(doubt, first, strict=True)]
    for row in np.flatnonzero(doubt).tolist():
        k[row], exact = _first_exactly(float(alpha[row]), float(root[row]))
        first[row] = k[row]
        g[row] = exact + j - c[row] * np.log1p(j / first[row])

    m = np.floor(g[:, :-1])
    terms = (first[:, np.newaxis] + j[:-1]) / (m * m * m * m * m)  # ** 5 is ten times slower
    return k, terms.sum(axis=1) + _rest(first + _EXACT_TERMS, g[:, -1], c)


def _first_exactly(alpha: float, near: float) -> tuple[int, float]:
    """Return k_i and g(k_i) in decimal arithmetic that leaves g twenty digits after the point."""
    with localcontext(prec=60):
        c = 12 / Decimal(alpha) ** 2
        root = Decimal(near)
        for _ in range(3):
            root -= (root - 1 - c * root.ln()) / (1 - c / root)
        k = max(3, int(root.to_integral_value(rounding="ROUND_CEILING")))
        return k, float(k - c * Decimal(k).ln())


def _rest(n: Floats, g: Floats, c: Floats) -> Floats:
    """Return the middle of an enclosure of Σ_{k ≥ n} k/⌊g(k)⌋⁵, where g(n) = g.

    g is convex with slope between s = 1 − c/n and 1 beyond n, so ⌊g(k)⌋ lies between
    g − 1 + s(k − n) and g + (k − n), and decreasing terms add up to no less than their integral
    and no more than the integral and the first one.
    """
    low = (n - g) / (4 * g**4) + 1 / (3 * g**3)
    s, b = 1 - c / n, g - 1
    high = n / b**5 + ((n - b / s) / (4 * b**4) + 1 / (3 * s * b**3)) / s
    return (low + high) / 2
