"""UCB1 (Auer, Cesa-Bianchi, Fischer 2002): optimism in the face of uncertainty, arm by arm.

Each arm once; then, with n_i plays of mean μ̂_i after t plays in all, the arm with the largest index
μ̂_i + √(2 ln t/n_i), the first of them where indices tie.

How long will the leader surely lead? While it is played, its index is at least that of the lowest
mean in the envelope, and the others' indices grow with ln t alone. With u = n + j the leader's
lowest index is p + C/u + √(2 ln t/u) once the envelope's two limits have crossed, a concave
function of 1/√u or a decreasing one of u: so it is least at the crossing or at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from fpbandits.policies.base import (
    CLOCK,
    Policy,
    add_to_tally,
    furthest,
    implement,
    observe,
    plan,
    repeats,
    strays,
)
from fpbandits.problem import Problem


class UCB1Model(NamedTuple):
    """UCB1 knows how many arms there are, and nothing else."""

    arms: int


@dataclass(frozen=True)
class UCB1(Policy):
    """UCB1: the classical policy that is blind to Θ."""

    name = "ucb1"
    knows = "the number of arms"
    guarantee = "E[R(T)] ≤ 8 ln T Σ 1/Δ_i + (1 + π²/3) Σ Δ_i"
    leaps = True

    def model(self, problem: Problem) -> UCB1Model:
        """Return the number of arms."""
        return UCB1Model(len(problem.arms))


@implement(plan, UCB1Model)
def _plan(
    model: Any, tally: Any, envelope: Any, desk: Any, budget: int, generator: Any
) -> tuple[int, int]:
    # Counted apart: adding up the plays would put the logarithm behind the last play's outcome.
    t = tally.counters[CLOCK]
    if t == 0:
        for arm in range(model.arms):
            desk.cycle[arm] = arm
        return model.arms, 1
    twice_log = 2 * math.log(t)
    best_index = -1.0
    for arm in range(model.arms):
        n = tally.plays[arm]
        # Live, an arm may have nothing told yet: optimism plays it until something is.
        index = tally.sums[arm] / n + math.sqrt(twice_log / n) if n > 0 else math.inf
        if index > best_index:
            best_index = index
            # Stored here, and not after the loop, this stays a branch, which the processor
            # foresees: twice as fast as waiting for every index.
            desk.cycle[0] = arm
    if budget == 1 or best_index == math.inf:
        return 1, 1

    desk.numbers[2, 0] = twice_log
    for arm in range(model.arms):
        desk.numbers[0, arm] = tally.sums[arm] / tally.plays[arm]
        desk.numbers[1, arm] = 1 / tally.plays[arm]
    return 1, furthest(model, tally, envelope, desk, budget)


@implement(repeats, UCB1Model)
def _repeats(model: Any, tally: Any, envelope: Any, desk: Any, rounds: int) -> bool:
    leader, t = desk.cycle[0], tally.counters[CLOCK]
    more = rounds - 1
    n, total, p = tally.plays[leader], tally.sums[leader], envelope.means[leader]
    deviation = strays(envelope, leader, more)
    crossing = more if deviation >= more * p else deviation / p
    twice_log = desk.numbers[2, 0]
    end = n + more
    least = min(
        total / (n + crossing) + math.sqrt(twice_log / (n + crossing)),
        (total + max(0.0, more * p - deviation)) / end + math.sqrt(twice_log / end),
    )
    twice_log = 2 * math.log(t + more)
    for arm in range(model.arms):
        # A little to spare for rounding, and ties count against the leader.
        index = desk.numbers[0, arm] + math.sqrt(twice_log * desk.numbers[1, arm])
        if arm != leader and index >= least - 1e-15:
            return False
    return True


@implement(observe, UCB1Model)
def _observe(model: Any, tally: Any, arm: int, plays: int, total: float, generator: Any) -> None:
    add_to_tally(tally, arm, plays, total)
    tally.counters[CLOCK] += plays
