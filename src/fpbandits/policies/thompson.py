"""Thompson sampling with a Beta(1, 1) prior for each arm (Thompson 1933; Agrawal, Goyal 2012).

Draw a mean for every arm from its posterior Beta(1 + S, 1 + n − S) and play the arm with the
largest one. For rewards in [0, 1] that are not 0 or 1, a reward r counts as a success with
probability r, so that the posterior is that of a Bernoulli arm of the same mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from fpbandits.policies.base import Policy, add_to_tally, implement, observe, plan
from fpbandits.problem import Problem


class ThompsonModel(NamedTuple):
    """Thompson sampling on arms knows how many there are, and nothing else."""

    arms: int


@dataclass(frozen=True)
class Thompson(Policy):
    """Thompson sampling, Beta(1, 1): the usual policy that is blind to Θ."""

    name = "thompson"
    knows = "the number of arms"
    guarantee = "E[R(T)] = (1 + o(1)) ln T Σ Δ_i/kl(μ_i, μ*) for Bernoulli rewards"
    leaps = False
    randomised = True

    def model(self, problem: Problem) -> ThompsonModel:
        """Return the number of arms."""
        return ThompsonModel(len(problem.arms))


@implement(plan, ThompsonModel)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    best, best_mean = 0, -1.0
    for arm in range(model.arms):
        wins = tally.sums[arm]
        mean = generator.beta(1 + wins, 1 + (tally.plays[arm] - wins))
        if mean > best_mean:
            best, best_mean = arm, mean
    desk.cycle[0] = best
    return 1, 1


@implement(observe, ThompsonModel)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    # Plans are for one round, so `total` is a single reward.
    if 0.0 < total < 1.0:
        total = 1.0 if generator.random() < total else 0.0
    add_to_tally(tally, arm, plays, total)
