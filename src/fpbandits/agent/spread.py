r"""Whether rewards spread as the models say: a wrong scale traps whoever trusts the likelihood.

Means may be right and the rest of a distribution wrong: a deviation or a concentration. Then the
likelihood prefers whichever model makes large or small deviations likelier, and may settle on a
wrong one for good. So beside plays and sums an agent keeps the sum of squared rewards of each arm.

For a model with mean μ_i and variance v_i let Q_i = Σ(r − μ_i)² over the n_i rewards of arm i.

* Rewards in [0, 1]: (r − μ_i)² is in [0, 1] with mean v_i. As for means, a mixture of Bernoulli
  likelihoods is a supermartingale: the model is refuted if
  Σ_i n_i·kl(Q_i/n_i, v_i) > ln(1/ε) + Σ_i ln(n_i + 1).
* Normal rewards: with Q = Σ_i Q_i/v_i and n = Σ_i n_i, the likelihood mixed over precisions from
  Gamma(½, ½) and divided by that of the model is
  Γ((n + 1)/2)/Γ(½) · √½ · ((Q + 1)/2)^{−(n + 1)/2} · e^{Q/2}. The model is refuted above 1/ε.

Either way a right model is refuted, at whatever time one looks, with probability at most ε.
"""

from __future__ import annotations

import math

import numpy as np

from fpbandits.core.arrays import Bools, Counts, Floats
from fpbandits.problem.problem import Problem

LEVEL = 1e-4
"""ε."""


def spread_fits(problem: Problem, plays: Counts, sums: Floats, squares: Floats) -> Bools:
    """Tell of each model whether rewards, in units, spread as it says."""
    from scipy.special import gammaln, rel_entr

    variances, played = problem.rewards.variances(), plays > 0
    if variances is None or not played.any():
        return np.ones(len(problem.models), bool)
    n, v, q = plays[played], variances[:, played], problem.rewards.unit_means[:, played]
    apart = np.maximum(squares[played] - 2 * q * sums[played] + n * q**2, 0.0)
    if problem.rewards.bounded:
        misfit = rel_entr(apart, n * v) + rel_entr(np.maximum(n - apart, 0.0), n * (1 - v))
        limit = math.log(1 / LEVEL) + np.log(n + 1.0).sum()
        return np.asarray(misfit.sum(axis=1) <= limit)
    count, total = n.sum(), (apart / v).sum(axis=1)
    evidence = gammaln((count + 1) / 2) - gammaln(0.5) + math.log(0.5) / 2
    evidence = evidence - (count + 1) / 2 * np.log((total + 1) / 2) + total / 2
    return np.asarray(evidence <= math.log(1 / LEVEL))


def warning(problem: Problem) -> str:
    """Say what is wrong, and what to do."""
    scale = next(iter(problem.rewards.fields))
    return (
        f"rewards do not spread as the models of {problem.name} say: means fit, and {scale} does "
        "not. The likelihood may settle on a wrong model. Give another "
        f"{scale}, or, for rewards in a range, likelihood=means"
    )
