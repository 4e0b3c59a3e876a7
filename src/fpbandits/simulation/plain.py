"""A run of a policy in ordinary Python, step by step: the loop of `kernel` without a compiler."""

from __future__ import annotations

import numpy as np

from fpbandits.core.arrays import Counts
from fpbandits.engine.plain import PlainPolicy, Seen, decide, start, take_in
from fpbandits.families import RewardFamily
from fpbandits.problem.problem import Problem
from fpbandits.simulation.delays import Schedule
from fpbandits.simulation.kernel import STOP, TIME


def play_plainly(
    policy: PlainPolicy,
    problem: Problem,
    laws: RewardFamily,
    random: np.random.Generator,
    times: Counts,
    stages: tuple[Counts, Counts],
    delayed: Schedule | None,
    progress: Counts,
    pulls: Counts,
) -> int:
    """Play one run and fill pulls[time, arm]; return how many steps it took, −1 if stopped."""
    law, draw_sum, state = laws.law(0), laws.draw_sum, policy.new_state(problem)
    statistics = np.zeros(laws.statistics)  # which no plain policy sees
    memory, contexts = start(policy, problem), range(max(1, len(problem.contexts)))
    pending, made = np.zeros(problem.pairs, np.int64), np.zeros(pulls.shape[1], np.int64)
    waiting: list[tuple[Seen, int, float]] = []
    arrived = 0
    views = [Seen(problem, state, 0, memory, context, pending) for context in contexts]
    upto, seen, t = np.cumsum(problem.shares)[:-1], views[0], 0
    starts, rows = stages
    first = int(rows[0]) * problem.pairs  # of the columns of the law
    several, changing, arms = len(views) > 1, len(starts) > 1, len(problem.arms)
    for recorded, time in enumerate(times.tolist()):
        while t < time:
            if several or changing:
                row = int(rows[np.searchsorted(starts, t, side="right") - 1])
                context = int((random.random() >= upto).sum()) if several else 0
                first = row * problem.pairs + context * arms
                memory, seen = seen.memory, views[context]
                seen.t, seen.memory = t, memory
            arm = decide(policy, seen, random)
            reward = draw_sum(law, first + arm, 1, random, statistics)
            made[first % len(made) + arm] += 1
            seen.t = t = t + 1
            if delayed is None:
                take_in(policy, seen, arm, reward)
            else:
                seen.pending[arm] += 1
                waiting.append((seen, arm, reward))
                while arrived < delayed.known[t]:
                    there, arm, reward = waiting[delayed.order[arrived]]
                    arrived += 1
                    there.pending[arm] -= 1
                    there.t, there.memory = t, seen.memory
                    take_in(policy, there, arm, reward)
                    seen.memory = there.memory
            if t % 128 == 0:
                progress[TIME] = t
                if progress[STOP]:
                    return -1
        pulls[recorded] = made
    return t
