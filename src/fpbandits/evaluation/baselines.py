"""Baselines: what playing one arm for good would have earned.

The best single arm is the one with the highest mean under the models, weighted by their prior. So
if models were fitted, it is chosen on the units that they were fitted to, not on those of the log.
With contexts there is also the best arm of each context. Arms that the log never played are left
out, for it cannot tell what they would have earned. If not all arms are always eligible there is
one baseline, the best eligible arm in each row.
"""

from __future__ import annotations

import numpy as np

from fpbandits.core.arrays import Bools, Floats, Ints
from fpbandits.problem.problem import Problem


def best_eligible(problem: Problem, drawn: Bools, sets: Bools) -> Ints:
    """Return the arm of the highest mean, [context, set], among eligible arms.

    ``drawn[pair]`` tells which pairs the log ever played, ``sets[set, arm]`` which arms are
    eligible.
    """
    means = _means(problem)[:, np.newaxis]
    possible = drawn.reshape(means.shape[0], 1, -1) & sets
    best: Ints = np.where(possible, means, -np.inf).argmax(axis=2)
    return best


def _means(problem: Problem) -> Floats:
    """Return means[context, arm], averaged over the prior."""
    prior = np.ones(len(problem.models)) if problem.prior is None else np.array(problem.prior)
    shape = max(1, len(problem.contexts)), len(problem.arms)
    means: Floats = (prior @ problem.rewards.means / prior.sum()).reshape(shape)
    return means


def baselines(problem: Problem, drawn: Bools) -> dict[str, Ints]:
    """Return the arm that each baseline plays in each context, by the baseline's name."""
    shape = max(1, len(problem.contexts)), len(problem.arms)
    drawn = drawn.reshape(shape)
    seen = drawn.any(axis=1)  # a context that never came says nothing about its arms
    means = _means(problem)
    shares = np.array(problem.shares or np.ones(shape[0]))
    arms = {}
    everywhere = drawn[seen].all(axis=0)
    if everywhere.any():
        best = int(np.where(everywhere, shares @ means, -np.inf).argmax())
        arms[f"always {problem.arms[best]}"] = np.full(shape[0], best)
    by_context: Ints = np.where(drawn, means, -np.inf).argmax(axis=1)
    if np.ptp(by_context[seen]) > 0:
        arms["best arm by context"] = by_context
    return arms
