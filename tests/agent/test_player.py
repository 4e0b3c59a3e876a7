"""Exploration: how often, where, what it leaves alone, and that probabilities are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare

from fpbandits import Agent, Decision, InputError, PlainPolicy, Problem, load_problem
from fpbandits.core.streams import EXPLORATION, agent_stream
from fpbandits.engine.contract import Random
from fpbandits.engine.plain import Seen
from fpbandits.policies import POLICIES

ALARM = 1e-6
"""How often a test of frequencies may fail for no reason."""

TELLING = {
    "fp-llr",
    "fp-ucb",
    "frugal",
    "imed",
    "kl-ucb",
    "least-squares",
    "m-ucb",
    "moss",
    "optimist",
    "ossb",
    "thompson-theta",
    "ucb-c",
    "ucb-s",
    "ucb1",
}
"""Policies that can tell how likely each arm is."""

PROBLEM = Problem.bernoulli(
    [[0.8, 0.3, 0.5, 0.1], [0.3, 0.7, 0.5, 0.2], [0.4, 0.3, 0.6, 0.9]], prior={"theta1": 2}
)
CONTEXTS = Problem.bernoulli(
    [[[0.8, 0.3], [0.3, 0.9]], [[0.3, 0.7], [0.4, 0.2]]], contexts=["p", "q"]
)


class Coin(PlainPolicy):
    name = "coin"

    def choose(self, seen: Seen, random: Random) -> int:
        return int(random.integers(2))


def explores(seed: int, number: int, share: float) -> bool:
    return bool(agent_stream(seed, number, EXPLORATION).random() < share)


def played(policy: str, problem: Problem = PROBLEM, plays: int = 25, **options: Any) -> Agent:
    agent, generator = Agent(problem, policy, **options), np.random.default_rng(4)
    for step in range(plays):
        context = problem.contexts[step % len(problem.contexts)] if problem.contexts else None
        agent.tell(agent.ask(context), int(generator.random() < 0.5))
    return agent


@pytest.mark.parametrize(
    ("policy", "problem"),
    [
        *((policy, PROBLEM) for policy in ("frugal", "fp-ucb", "ucb1", "thompson-theta")),
        *((policy, CONTEXTS) for policy in ("frugal", "ucb1", "thompson-theta")),
    ],
)
def test_probabilities_are_those_of_decisions(policy: str, problem: Problem) -> None:
    """Two thousand agents in one state, with a seed each."""
    first = played(policy, problem, explore=0.4)
    state, context = first.own_state(), problem.contexts[0] if problem.contexts else None
    decisions = [first.another(seed=s, own_state=state).ask(context) for s in range(2000)]
    chances: dict[str, float] = {}
    for decision in decisions:
        assert decision.probability is not None
        assert chances.setdefault(decision.arm, decision.probability) == decision.probability
    arms = problem.arms
    assert sum(chances.values()) == pytest.approx(1)
    assert min(chances.values()) >= 0.4 / len(arms)
    counts = [sum(decision.arm == arm for decision in decisions) for arm in arms]
    assert chisquare(counts, [2000 * chances[arm] for arm in arms]).pvalue > ALARM


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_who_cannot_tell_probabilities_does_not_explore(policy: str) -> None:
    problem = load_problem("paper:permutations")  # all policies take it
    if policy in TELLING:
        assert Agent(problem, policy, explore=0.1).ask().probability is not None
    else:
        with pytest.raises(InputError, match=f"^{policy} draws arms and cannot tell how likely"):
            Agent(problem, policy, explore=0.1)
    Agent(problem, policy, explore=0)
    with pytest.raises(InputError, match="coin draws arms"):
        Agent(problem, Coin(), explore=0.1)


@pytest.mark.parametrize("policy", ["frugal", "fp-ucb", "ucb1", "thompson-theta"])
def test_exploring_changes_nothing_but_the_decision(policy: str) -> None:
    agent, share = played(policy, explore=0.5), 0.5
    tried = 0
    for _ in range(60):
        number, before = agent._ledger.next, (agent._packed.tobytes(), list(agent._to_hand_out))
        decision = agent.ask()
        if explores(0, number, share):
            tried += 1
            assert before == (agent._packed.tobytes(), agent._to_hand_out)
        agent.tell(decision, 1)
    assert 15 < tried < 45


def test_a_planned_arm_is_not_used_up() -> None:
    """UCB1's first round is every arm once, whatever exploration comes between."""
    agent = Agent(PROBLEM, "ucb1", explore=0.5)
    planned = [d.arm for d in (agent.ask() for _ in range(40)) if not explores(0, d.id, 0.5)]
    assert planned[:4] == list(PROBLEM.arms)


def test_without_exploration_decisions_are_as_they_were() -> None:
    for policy in ("frugal", "thompson-theta"):
        assert decisions_of(played(policy)) == decisions_of(played(policy, explore=0.0))


def decisions_of(agent: Agent) -> list[tuple[Decision, float | None]]:
    return [(decision, decision.probability) for decision in (agent.ask() for _ in range(20))]


def test_exploring_always_is_uniform() -> None:
    agent = Agent(PROBLEM, explore=1)
    decisions = [agent.ask() for _ in range(400)]
    assert {decision.probability for decision in decisions} == {0.25}
    counts = [sum(decision.arm == arm for decision in decisions) for arm in PROBLEM.arms]
    assert chisquare(counts).pvalue > ALARM


@pytest.mark.parametrize("explore", [-0.1, 1.1, float("nan"), "0.1", None, True])
def test_a_share_is_from_0_to_1(explore: Any) -> None:
    with pytest.raises(InputError, match="explore"):
        Agent(PROBLEM, explore=explore)
