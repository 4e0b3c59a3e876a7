"""Steps per second of SMPyBandits; run in an environment of its own."""

import json
import time

from SMPyBandits.Arms import Bernoulli
from SMPyBandits.Policies import UCB, EpsilonGreedy, Thompson

STEPS = 20_000


def speed(kind: type) -> float:
    """Play one run and return its steps per second."""
    arms = [Bernoulli(mean) for mean in (0.6, 0.4, 0.3, 0.2)]
    policy = kind(4)
    policy.startGame()
    start = time.perf_counter()
    for _ in range(STEPS):
        arm = policy.choice()
        policy.getReward(arm, arms[arm].draw())
    return STEPS / (time.perf_counter() - start)


kinds = {"ucb1": UCB, "thompson": Thompson, "plain epsilon-greedy": EpsilonGreedy}
print(json.dumps({name: max(speed(kind) for _ in range(3)) for name, kind in kinds.items()}))
