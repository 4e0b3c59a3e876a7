"""Steps per second of pymab's Rust backend; run in an environment of its own."""

import json
import time

import numpy as np
import pymab
from pymab.policies import BernoulliThompsonSamplingPolicy, UCBPolicy

STEPS = 20_000


def speed(policy: object) -> float:
    """Play one run and return its steps per second."""
    environment = pymab.BanditEnvironment(
        means=np.array([0.6, 0.4, 0.3, 0.2]), reward_model=pymab.BernoulliReward()
    )
    config = pymab.ExperimentConfig(horizon=STEPS, n_replicates=1, seed=1, backend="rust")
    experiment = pymab.Experiment(environment=environment, policies={"p": policy}, config=config)
    start = time.perf_counter()
    experiment.run()
    return STEPS / (time.perf_counter() - start)


speed(UCBPolicy(n_arms=4))
print(
    json.dumps(
        {
            "ucb1": max(speed(UCBPolicy(n_arms=4)) for _ in range(3)),
            "thompson": max(speed(BernoulliThompsonSamplingPolicy(n_arms=4)) for _ in range(3)),
        }
    )
)
