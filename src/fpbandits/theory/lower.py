"""Theorem 2: what every good policy must pay, as a linear program.

A policy whose regret grows slower than any power of T under every model must, under θ°, gather
information against each model that looks like θ° while a*(θ°) is played but has a better arm:
if c_u ln T is the number of its plays of arm u, then Σ_u c_u D_u(θ°‖θ) ≥ 1 for each such θ. So

    lim inf E[R(T)]/ln T  ≥  min Σ_u c_u Δ_u   subject to   Σ_u c_u D_u(θ°‖θ) ≥ 1 for all those θ,

which is the paper's minimum over the simplex of a maximum over θ, written without the ratio.

The paper departs from this in two ways, and both are here. It lets θ range over B(θ°), which with
tied best arms, or with laws of equal mean, holds models that force nothing
(`Structure.must_explore`): `printed` is the value so obtained. And it lets u range over A only;
but an arm that is best nowhere may tell models apart cheaply: `all_arms` lets it.

Two kinds of constraint cost nothing and drop out. Where some D_u(θ°‖θ) is infinite, a vanishing
share of plays of u is enough. Where an arm tied for best under θ° tells θ apart, it can be
played for ever. Where several c attain the minimum, the most even one is taken: it is unique, and
does not depend on the order of arms and models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fpbandits.core.arrays import Floats, Ints
from fpbandits.theory.structure import BestArms, Structure

_SPARE = 1e-9
"""A solution that costs more than the cheapest by less than this fraction counts as cheapest."""

_SAME = 1e-6
"""Solutions that differ by less than this fraction of their sum count as the same."""


@dataclass(frozen=True)
class Cheapest:
    """The cheapest exploration: its regret and its plays of each arm, both per unit of ln T."""

    coefficient: float
    pulls: dict[int, float]


@dataclass(frozen=True)
class Theorem2:
    """Theorem 2 for one θ°, on [0, 1]; arms and models by index."""

    confusion_set: Ints
    candidate_arms: Cheapest
    all_arms: Cheapest
    printed: Cheapest


def theorem2(structure: Structure, truth: int) -> Theorem2:
    """Bound the regret of every uniformly good policy under the model ``truth`` from below."""
    best = structure.best_arm[truth]
    among_candidates = structure.candidate_arms[structure.candidate_arms != best]
    among_all = np.flatnonzero(np.arange(structure.means.shape[1]) != best)
    confused, needed = structure.confusion_set(truth), structure.must_explore(truth)

    restricted = cheapest(structure, truth, needed, among_candidates)
    same_arms = len(among_all) == len(among_candidates)
    same_set = len(confused) == len(needed)
    return Theorem2(
        confusion_set=needed,
        candidate_arms=restricted,
        all_arms=restricted if same_arms else cheapest(structure, truth, needed, among_all),
        printed=restricted if same_set else cheapest(structure, truth, confused, among_candidates),
    )


def cheapest(structure: BestArms, truth: int, against: Ints, arms: Ints) -> Cheapest:
    """Return the cheapest plays of ``arms`` that tell θ° from all the models ``against``."""
    gaps = structure.gaps(truth)[arms]
    information = structure.problem.rewards.divergence(truth, against)[:, arms]
    # Means count as equal within a tolerance, so a model may differ from θ° by less than floats
    # show: its constraint cannot be met then.
    constraints = ~np.isinf(information).any(axis=1) & information.any(axis=1)
    information = information[constraints]
    costly = gaps > 0
    by_tied_arms = (information[:, ~costly] > 0).any(axis=1)

    pulls = np.zeros(len(arms))
    # In units of regret spent, x_u = c_u·Δ_u, every arm costs the same.
    efficiency = information[np.ix_(~by_tied_arms, costly)] / gaps[costly]
    spent = _cover(efficiency, np.ones(len(efficiency)))
    pulls[costly] = spent / gaps[costly]
    # Plays of tied arms cost nothing: of those that suffice, take the fewest.
    missing = 1 - information[by_tied_arms] @ pulls
    pulls[~costly] = _cover(information[np.ix_(by_tied_arms, ~costly)], missing)
    return Cheapest(float(spent.sum()), dict(zip(arms.tolist(), pulls.tolist(), strict=True)))


def _cover(gain: Floats, need: Floats) -> Floats:
    """Return the x ≥ 0 of least sum with gain · x ≥ need; of several, the most even one.

    Each row of ``gain`` must have a positive entry.
    """
    gain, need = gain[need > 0], need[need > 0]
    if not len(need):
        return np.zeros(gain.shape[1])
    from scipy.optimize import linprog

    # The solver's tolerances are absolute: scale each row by its largest gain, then all rows by
    # the largest need.
    largest = gain.max(axis=1)
    need = need / largest
    scale = need.max()
    solution = linprog(
        np.ones(gain.shape[1]),
        A_ub=-gain / largest[:, np.newaxis],
        b_ub=-need / scale,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not solution.success:
        raise ArithmeticError(f"the lower bound's linear program failed: {solution.message}")
    assert solution.x is not None
    x: Floats = np.maximum(solution.x, 0.0)
    even: Floats = _most_even(gain / largest[:, np.newaxis], need / scale, x) * scale
    return even


def _most_even(gain: Floats, need: Floats, x: Floats) -> Floats:
    """Return the most even of all solutions that cost as little as ``x``: that of least norm.

    Minimisers need not be unique, and which of them a solver finds depends on the order of rows and
    columns. The one of least norm is unique, and moves along if arms or models are reordered.
    It is found by least distance programming, which is a non-negative least squares problem (Lawson
    and Hanson 1974, chapter 23).
    """
    from scipy.optimize import nnls

    arms = len(x)
    limits = np.vstack([gain, np.eye(arms), -np.ones(arms)])
    at_least = np.concatenate([need, np.zeros(arms), [-x.sum() * (1 + _SPARE)]])
    system, target = np.vstack([limits.T, at_least]), np.eye(arms + 1)[-1]
    residual = system @ nnls(system, target)[0] - target
    even: Floats = np.maximum(-residual[:-1] / residual[-1], 0.0)
    # Where the minimiser is unique, the linear program's solution has more correct digits.
    return x if np.abs(even - x).max() <= _SAME * x.sum() else even
