"""Which models fit the rewards: one absolute test, whatever the policy.

Each model is judged by its own means. For rewards in [0, 1] the misfit of a model is
Σ_i n_i·kl(S_i/n_i, μ_i), with n_i rewards of arm i that add up to S_i; for normal rewards, of
deviation ½, it is Σ_i 2(S_i − n_i·μ_i)²/(n_i + 1). The true model's misfit ever exceeds
ln(1/ε) + Σ_i ln(n_i + 1) with probability at most ε
(`fpbandits.policies.shared.likelihood.nothing_fits` says why).

If the truth moves, no model need fit all rewards. Then a model, one of M, is plausible while its
posterior is at least ε/M: the true model's is less with probability at most Σ ε/M = ε.
"""

from __future__ import annotations

import math

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.problem.problem import Problem

FALSE_ALARM = 1e-3
"""ε, if the policy has no ``false_alarm`` of its own."""


def margins(problem: Problem, plays: Counts, sums: Floats, false_alarm: float) -> Floats:
    """Return how many nats each model's misfit is below what is allowed; negative if above."""
    from scipy.special import rel_entr

    played = plays > 0
    n, total = plays[played], sums[played]
    q = problem.rewards.unit_means[:, played]
    if problem.rewards.bounded:
        misfit = rel_entr(total, n * q) + rel_entr(n - total, n * (1 - q))
    else:
        misfit = 2 * (total - n * q) ** 2 / (n + 1)
    allowed = math.log(1 / false_alarm) + np.log(n + 1.0).sum()
    below: Floats = allowed - misfit.sum(axis=1)
    return below


def posterior_margins(posterior: Floats, false_alarm: float) -> Floats:
    """Return how many nats each model's posterior is above the least that is plausible."""
    with np.errstate(divide="ignore"):
        above: Floats = np.log(posterior) - math.log(false_alarm / len(posterior))
    return above
