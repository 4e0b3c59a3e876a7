"""Which models fit what was seen: one absolute test, whatever the policy.

Each model is judged by its own means. For rewards in [0, 1] the misfit of a model is
Σ_i n_i·kl(S_i/n_i, μ_i), with n_i rewards of arm i that add up to S_i; for normal rewards, of
deviation ½, it is Σ_i 2(S_i − n_i·μ_i)²/(n_i + 1). The true model's misfit exceeds
ln(1/ε) + Σ_i ln(n_i + 1) at any time, ever, with probability at most ε
(`fpbandits.policies.shared.likelihood.nothing_fits` says why).

Where the truth moves, no model need fit all rewards. There, of M models, one is plausible while its
posterior is at least ε/M: the true model has less with probability at most Σ ε/M = ε.
"""

from __future__ import annotations

import math

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.problem.problem import Problem

FALSE_ALARM = 1e-3
"""ε, where the policy has no ``false_alarm`` of its own."""


def margins(problem: Problem, plays: Counts, sums: Floats, false_alarm: float) -> Floats:
    """Return by how many nats each model's misfit is below what is allowed; negative: too large."""
    from scipy.special import rel_entr

    played = plays > 0
    n, total = plays[played], sums[played]
    q = problem.rewards.unit_means[:, played]
    if problem.rewards.bounded:
        misfit = rel_entr(total, n * q) + rel_entr(n - total, n * (1 - q))
    else:
        misfit = 2 * (total - n * q) ** 2 / (n + 1)
    allowed = math.log(1 / false_alarm) + np.log(n + 1.0).sum()
    left: Floats = allowed - misfit.sum(axis=1)
    return left


def posterior_margins(posterior: Floats, false_alarm: float) -> Floats:
    """Return by how many nats each model's posterior is above what is plausible."""
    with np.errstate(divide="ignore"):
        left: Floats = np.log(posterior) - math.log(false_alarm / len(posterior))
    return left
