r"""Whether rewards spread as the models say: if not, the likelihood misleads.

Means may be right and the rest of a distribution wrong: a deviation or a concentration. Then the
likelihood prefers whichever model makes large or small deviations likelier, and may settle on a
wrong one for good. So beside plays and sums an agent keeps the sum of all squared rewards.

For a model with means μ_i and variances v_i let Q = Σ(r − μ_i)² over all rewards. Its expectation
under the model is A = Σ_i n_i·v_i, if arm i was played n_i times.

* Rewards in [0, 1]: e^{λQ − (e^λ − 1)A} is a supermartingale for every λ, as (r − μ_i)² is in
  [0, 1]. Mixed over e^λ from an exponential distribution of mean 1 it is
  e^A·Γ(Q + 1)/(A + 1)^{Q + 1}.
* Normal rewards, all of variance v: with n rewards and x = Q/v, the likelihood mixed over
  precisions from Gamma(½, ½), divided by that of the model, is
  √½·Γ((n + 1)/2)/Γ(½)·((x + 1)/2)^{−(n + 1)/2}·e^{x/2}.

Either starts from 1. A model is refuted when it exceeds 1/ε. The right model is ever refuted with
probability at most ε, however often one looks.
"""

from __future__ import annotations

import math

import numpy as np

from fpbandits.agent.plausible import FALSE_ALARM, margins
from fpbandits.core.arrays import Bools, Counts, Floats
from fpbandits.problem.problem import Problem

LEVEL = 1e-4
"""ε: the probability that the right model is ever refuted."""


def spread_fits(problem: Problem, plays: Counts, sums: Floats, squares: float) -> bool:
    """Tell whether rewards, on [0, 1], spread as some plausible model says, if there is one.

    ``plays`` and ``sums`` are by pair, ``squares`` is the sum of all squared rewards.
    """
    plausible = margins(problem, plays, sums, FALSE_ALARM) >= 0
    fits = models_that_spread_so(problem, plays, sums, squares)
    return bool((plausible & fits).any() or not plausible.any())


def models_that_spread_so(problem: Problem, plays: Counts, sums: Floats, squares: float) -> Bools:
    """Tell of each model whether rewards spread as it says; arguments as of `spread_fits`."""
    from scipy.special import gammaln

    variances, means = problem.rewards.variances(), problem.rewards.unit_means
    if variances is None:
        return np.ones(len(problem.models), bool)
    total = np.maximum(squares - 2 * means @ sums + means**2 @ plays, 0.0)
    expected = variances @ plays
    if problem.rewards.bounded:
        evidence = expected + gammaln(total + 1) - (total + 1) * np.log1p(expected)
    else:
        half, x = (plays.sum() + 1) / 2, total / variances[:, 0]
        evidence = gammaln(half) - gammaln(0.5) - math.log(2) / 2
        evidence = evidence - half * np.log((x + 1) / 2) + x / 2
    return np.asarray(evidence <= math.log(1 / LEVEL))


def spread_warning(problem: Problem) -> str:
    """Say that rewards do not spread as the models say, and what to do."""
    rewards = problem.rewards
    scale = rewards.table if rewards.table != "means" else next(iter(rewards.fields))
    return (
        f"rewards do not spread as the models of {problem.name} say: means fit, and {scale} "
        "may not. The likelihood may settle on a wrong model. Give another "
        f"{scale}, or, for rewards in a range, likelihood=means"
    )
