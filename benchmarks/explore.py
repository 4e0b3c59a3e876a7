"""Evaluate policies on the log of an agent that explores, and see whether intervals hold.

`python benchmarks/explore.py [LOGS]`: every log is that of 60 units, whose types are drawn from the
prior, each served 80 times by an agent of the default policy with explore=0.1. `evaluate` estimates
from it what three other policies would earn per decision. The table says what they do earn, by
4,000 units that play them, and which share of the 95 % intervals holds that. An estimate is of as
many decisions per unit as the log accepts, so as many are played.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import fpbandits as fpb

UNITS, ROWS, EXPLORE = 60, 80, 0.1
PROBLEM = fpb.Problem.bernoulli(
    [[0.8, 0.4], [0.3, 0.6]], arms=["a", "b"], models=["x", "y"], prior={"x": 2, "y": 1}
)
POLICIES = ["ucb1", "thompson", "thompson-theta"]


def serve(
    policy: str, truth: int, plays: int, random: np.random.Generator, **options: Any
) -> tuple[list[str], list[float], list[float | None]]:
    """Return arms, rewards and probabilities of a unit's decisions."""
    agent = fpb.Agent(PROBLEM, policy, seed=int(random.integers(2**40)), **options)
    arms, rewards, probabilities = [], [], []
    for _ in range(plays):
        decision = agent.ask()
        mean = PROBLEM.means[truth, PROBLEM.arms.index(decision.arm)]
        reward = float(random.random() < mean)
        agent.tell(decision, reward)
        arms.append(decision.arm)
        rewards.append(reward)
        probabilities.append(decision.probability)
    return arms, rewards, probabilities


def log_of(random: np.random.Generator) -> dict[str, list[object]]:
    """Return a log, by column."""
    log: dict[str, list[object]] = {"unit": [], "arm": [], "reward": [], "probability": []}
    for unit, truth in enumerate(random.choice(2, UNITS, p=PROBLEM.prior).tolist()):
        arms, rewards, chances = serve("frugal", truth, ROWS, random, explore=EXPLORE)
        log["unit"] += [unit] * ROWS
        log["arm"] += arms
        log["reward"] += rewards
        log["probability"] += chances
    return log


def true_value(policy: str, random: np.random.Generator) -> float:
    """Reward per decision of units that make as many decisions as a log accepts."""
    least, earned, made = EXPLORE / len(PROBLEM.arms), 0.0, 0
    for truth in random.choice(2, 4000, p=PROBLEM.prior).tolist():
        _, rewards, _ = serve(policy, truth, int(random.binomial(ROWS, least)), random)
        earned, made = earned + sum(rewards), made + len(rewards)
    return earned / made


def main(logs: int) -> None:
    """Print the table."""
    truth = {policy: true_value(policy, np.random.default_rng(1)) for policy in POLICIES}
    held = dict.fromkeys(POLICIES, 0)
    errors: dict[str, list[float]] = {policy: [] for policy in POLICIES}
    for number in range(logs):
        log = log_of(np.random.default_rng((2, number)))
        columns = {name: np.array(column) for name, column in log.items()}
        found = fpb.evaluate(
            columns,
            PROBLEM,
            POLICIES,
            unit="unit",
            arm="arm",
            reward="reward",
            propensity="probability",
        )
        for policy, earned in found.policies.items():
            low, high = earned.mean.interval
            held[policy] += low <= truth[policy] <= high
            errors[policy].append(earned.mean.value - truth[policy])
    print(f"{logs} logs of {UNITS} units and {ROWS} rows each, explore={EXPLORE}")
    for policy in POLICIES:
        bias = np.mean(errors[policy])
        deviation = np.std(errors[policy]) / logs**0.5
        print(
            f"{policy:15s} earns {truth[policy]:.4f}; covered {held[policy] / logs:6.1%}; "
            f"bias {bias:+.4f} ± {deviation:.4f}"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
