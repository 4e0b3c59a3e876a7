"""Baselines: what anyone could have done who plays one arm for good.

The best single arm is the one with the highest mean under the models, weighted by their prior: of
fitted models it is chosen on the units that they were fitted to, not on those of the log. With
contexts there is also the best arm of each context. Arms that the log never played are left out,
for it cannot tell what they would have earned.
"""

from __future__ import annotations

import numpy as np

from fpbandits.core.arrays import Bools, Ints
from fpbandits.problem.problem import Problem


def baselines(problem: Problem, drawn: Bools) -> dict[str, Ints]:
    """Return the arm that each baseline plays in each context, by the baseline's name."""
    prior = np.ones(len(problem.models)) if problem.prior is None else np.array(problem.prior)
    shape = max(1, len(problem.contexts)), len(problem.arms)
    drawn = drawn.reshape(shape)
    seen = drawn.any(axis=1)  # a context that never came says nothing about its arms
    means = (prior @ problem.rewards.means / prior.sum()).reshape(shape)
    shares = np.array(problem.shares or [1.0])
    found = {}
    everywhere = drawn[seen].all(axis=0)
    if everywhere.any():
        best = int(np.where(everywhere, shares @ means, -np.inf).argmax())
        found[f"always {problem.arms[best]}"] = np.full(shape[0], best)
    by_context: Ints = np.where(drawn, means, -np.inf).argmax(axis=1)
    if np.ptp(by_context[seen]) > 0:
        found["best arm by context"] = by_context
    return found
