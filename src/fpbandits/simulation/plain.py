"""A run of a policy in ordinary Python, step by step: the loop of `kernel` without a compiler."""

from __future__ import annotations

import numpy as np

from fpbandits.arrays import Counts
from fpbandits.families import RewardFamily
from fpbandits.policies.plain import PlainPolicy, Seen, decide, start, take_in
from fpbandits.problem import Problem
from fpbandits.simulation.kernel import STOP, TIME


def play_plainly(
    policy: PlainPolicy,
    problem: Problem,
    truth: RewardFamily,
    random: np.random.Generator,
    times: Counts,
    meter: Counts,
    pulls: Counts,
) -> int:
    """Play one run and fill pulls[time, arm]; return how many steps it took, −1 if stopped."""
    law, draw_sum = truth.law(0), truth.draw_sum
    statistics = np.zeros(truth.statistics)  # which no plain policy sees
    seen = Seen(problem, policy.tally(problem), 0, start(policy, problem))
    for recorded, time in enumerate(times.tolist()):
        while seen.t < time:
            arm = decide(policy, seen, random)
            reward = draw_sum(law, arm, 1, random, statistics)
            seen.t += 1
            take_in(policy, seen, arm, reward)
            if seen.t % 128 == 0:
                meter[TIME] = seen.t
                if meter[STOP]:
                    return -1
        pulls[recorded] = seen.plays
    return seen.t
