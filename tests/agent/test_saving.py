"""Saved agents: what is new in this version survives, and files of earlier ones are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import Agent, ConflictError, InputError, Problem, StorageError
from fpbandits.agent.agent import Late

BETA = Problem.beta([[0.3, 0.6], [0.5, 0.4]], concentration=4, models=["x", "y"])


def play(agent: Agent, plays: int, seed: int = 0) -> list[Any]:
    generator, decisions = np.random.default_rng(seed), []
    for _ in range(plays):
        decision = agent.ask()
        decisions.append((decision, decision.probability))
        if generator.random() < 0.8:
            agent.tell(decision, float(generator.uniform(0.1, 0.9)))
    return decisions


@pytest.mark.parametrize("late", ["in-order", "all-in-order", "any"])
@pytest.mark.parametrize("policy", ["ucb1", "thompson-theta", "fp-ucb"])
def test_agents_go_on_as_if_nothing_had_happened(policy: str, late: Late, tmp_path: Path) -> None:
    """Exploration, order of rewards, statistics and log, by file, by text and by copy."""
    agent = Agent(BETA, policy, late=late, explore=0.3, log=True, seed=5)
    play(agent, 12)
    agent.save(tmp_path / "agent.json")
    others = [
        Agent.load(tmp_path / "agent.json", BETA),
        Agent.from_state(agent.state(), BETA),
        agent.another(seed=5, own_state=agent.own_state()),
    ]
    expected = play(agent, 12, seed=1)
    for other in others:
        assert play(other, 12, seed=1) == expected
        assert other.state() == agent.state()
        assert other.posterior() == agent.posterior()
        assert other.log == agent.log
        assert other.blocked == agent.blocked


@pytest.mark.parametrize(("policy", "known"), [("frugal", True), ("ucb1", False)])
def test_files_of_earlier_versions_have_a_posterior_if_their_policy_kept_statistics(
    policy: str, known: bool
) -> None:
    agent = Agent(BETA, policy)
    play(agent, 20)
    state = agent.state()
    if not known:
        state["statistics"] = []  # as they were written
    old = Agent.from_state(state, BETA)
    if known:
        assert old.posterior() == agent.posterior()
    else:
        count = sum(old.plays.values())
        for _ in range(2):  # also when it is saved again
            with pytest.raises(ConflictError, match=f"{count} rewards counted by their means"):
                old.posterior()
            old = Agent.from_state(old.state(), BETA)
    fresh = {**Agent(BETA, policy).state(), "statistics": []}
    assert Agent.from_state(fresh, BETA).posterior() == {"x": 0.5, "y": 0.5}


def test_what_is_not_used_is_not_written() -> None:
    normal = Problem.gaussian([[1.0, 0.0], [-1.0, 0.0]], deviation=1)
    coins = Problem.bernoulli([[0.5, 0.4]])
    for problem in (BETA, normal, coins):
        for policy in ("frugal", "ucb1"):
            agent = Agent(problem, policy)
            for plays in (0, 10):
                play(agent, plays)
                assert not {"explore", "log", "unweighed", "filter"} & agent.state().keys()


@pytest.mark.parametrize(
    "change",
    [
        {"explore": 2},
        {"explore": "x"},
        {"explore": 0.1, "policy": "thompson", "beliefs": []},
        {"late": "sometimes"},
        {"log": 3},
        {"log": [[9, 0.5]]},
        {"log": [[0]]},
        {"unweighed": "x"},
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any]) -> None:
    agent = Agent(BETA, "ucb1", log=True)
    play(agent, 5)
    with pytest.raises((StorageError, InputError)) as caught:
        Agent.from_state(json.loads(json.dumps(agent.state() | change)), BETA)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("policy", ["ucb1", "thompson", "frugal"])
def test_a_reward_in_the_middle_of_all_means_is_weighed_after_loading(policy: str) -> None:
    problem = Problem.gaussian([[1.0, 0.0], [-1.0, 0.0]], deviation=1)
    agent = Agent(problem, policy)
    agent.observe("arm1", 0.0)
    loaded = Agent.from_state(agent.state(), problem)
    for each in (agent, loaded):
        each.observe("arm1", 1.5)
    assert loaded.posterior() == agent.posterior()


@pytest.mark.parametrize("policy", ["ucb1", "frugal"])
def test_rewards_that_no_model_allows_are_kept_where_the_truth_moves(policy: str) -> None:
    problem = Problem.bernoulli([[1.0, 0.5], [1.0, 0.4]], transitions=[[0.9, 0.1], [0.1, 0.9]])
    agent = Agent(problem, policy)
    for _ in range(3):
        agent.observe("arm1", 0)
    assert "No model allows all rewards that count" in agent._repr_html_()
    assert agent.plausible() == {}
    loaded = Agent.from_state(agent.state(), problem)
    assert loaded.ask().arm == agent.ask().arm
