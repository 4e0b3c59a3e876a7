"""Beliefs that leak, against the filter of a hidden chain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fpbandits import Agent, InputError, Optimist, Problem, ThompsonTheta, simulate


@pytest.mark.parametrize("prior", [None, {"x": 5.0, "y": 0.5}])
@pytest.mark.parametrize(
    "policy", [ThompsonTheta(change_rate=0.05), Optimist(change_rate=0.05)], ids=str
)
def test_beliefs_leak_as_those_of_a_chain_that_is_drawn_anew(policy: Any, prior: Any) -> None:
    """Against the forward filter of a hidden chain that leaves for the prior before each play."""
    means = np.array([[0.9, 0.5], [0.2, 0.5], [0.4, 0.3]])
    problem = Problem.bernoulli(means, models=["x", "y", "z"], prior=prior)
    start = np.array([5, 0.5, 1]) / 6.5 if prior else np.full(3, 1 / 3)
    agent, generator = Agent(problem, policy), np.random.default_rng(3)
    belief = start
    for _ in range(60):
        decision = agent.ask()
        found = np.exp(-np.array(agent.state()["beliefs"][:3]))
        np.testing.assert_allclose(found / found.sum(), belief, rtol=1e-9)
        reward = int(generator.random() < 0.5)
        arm = problem.arms.index(decision.arm)
        agent.tell(decision.id, reward)
        belief = belief * (means[:, arm] if reward else 1 - means[:, arm])
        belief = 0.95 * belief / belief.sum() + 0.05 * start


def test_late_rewards_leak_once_for_each() -> None:
    """Plans without news change no belief; three rewards at once leak as three plays do."""
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]])
    agent = Agent(problem, ThompsonTheta(change_rate=0.1), late="any")
    decisions = [agent.ask() for _ in range(4)]
    before = agent.state()["beliefs"]
    assert before[:2] == [0, 0]
    for decision in decisions[:3]:
        agent.tell(decision.id, 1)
    agent.ask()
    plays = [agent.plays["arm1"], agent.plays["arm2"]]
    likelihood = np.array([0.9, 0.2]) ** plays[0] * 0.5 ** plays[1]
    belief = 0.9**3 * likelihood / likelihood.sum() + (1 - 0.9**3) / 2
    found = np.exp(-np.array(agent.state()["beliefs"][:2]))
    np.testing.assert_allclose(found / found.sum(), belief / belief.sum(), rtol=1e-9)


def test_leaking_beliefs_follow_a_truth_that_changes() -> None:
    """Seeds fixed; what forgets loses a twentieth of what does not, with a wide margin."""
    problem = Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], models=["loyal", "thrifty"])
    policies = [
        Optimist(),
        Optimist(change_rate=1e-4),
        ThompsonTheta(),
        ThompsonTheta(change_rate=1e-4),
    ]
    result = simulate(
        problem, policies, truth={0: "loyal", 5000: "thrifty"}, horizon=10**4, runs=30
    )
    for name in ("optimist", "thompson-theta"):
        forgetful = result.final_regret(f"{name}:change_rate=0.0001").mean()
        assert forgetful < 0.05 * result.final_regret(name).mean()
    again = Agent(problem, ThompsonTheta(change_rate=0.01))
    for reward in (1, 0, 1):
        again.tell(again.ask().id, reward)
    other = Agent.from_state(again.state(), problem)
    assert [again.ask().arm for _ in range(5)] == [other.ask().arm for _ in range(5)]


@pytest.mark.parametrize("kind", [Optimist, ThompsonTheta])
def test_a_change_is_no_more_than_certain(kind: Any) -> None:
    assert kind(change_rate=1).change_rate == 1
    with pytest.raises(
        InputError, match="change_rate is 2: it is the probability of a change before"
    ):
        kind(change_rate=2)
    with pytest.raises(InputError, match="it must be 0 or more"):
        kind(change_rate=-0.1)
