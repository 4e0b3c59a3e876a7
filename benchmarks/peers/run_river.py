"""Pulls and updates per second of river's bandit policies; run in an environment of its own."""

import json
import time

from river import bandit

STEPS = 20_000


def speed() -> float:
    """Pull and update one policy, and return its steps per second."""
    policy = bandit.UCB(delta=1, seed=1)
    arms = range(4)
    start = time.perf_counter()
    for _ in range(STEPS):
        policy.update(policy.pull(arms), 1.0)
    return STEPS / (time.perf_counter() - start)


print(json.dumps({"ask and tell": max(speed() for _ in range(3))}))
