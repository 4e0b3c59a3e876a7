"""Deficits in several contexts: rules that keep them decide as plain twins that keep nothing."""

from __future__ import annotations

from typing import Any

import context_twins
import numpy as np
import pytest
from context_twins import WORDS, player, random_problem

from fpbandits import Agent, Problem
from fpbandits.core.streams import PLANS, agent_stream
from fpbandits.policies import parse_policy


@pytest.mark.parametrize("word", WORDS)
def test_agents_in_contexts_decide_as_plain_python_does(word: str) -> None:
    """Random problems, contexts and 0/1 rewards, decision for decision."""
    generator = np.random.default_rng(6)
    for _ in range(6):
        problem = random_problem(generator)
        agent, twin_player = Agent(problem, parse_policy(word), seed=4), player(word, problem)
        for number in range(150):
            context = int(generator.integers(len(problem.contexts)))
            expected = twin_player.decide(context, agent_stream(4, number, PLANS))
            decision = agent.ask(context=problem.contexts[context])
            assert decision.arm == problem.arms[expected]
            assert decision.context == problem.contexts[context]
            reward = float(generator.random() < problem.means[-1][context][expected])
            agent.tell(decision.id, reward)
            twin_player.told(context, expected, reward)


@pytest.mark.parametrize(
    "kind", [context_twins.Optimist, context_twins.ThompsonTheta, context_twins.IDSTheta]
)
def test_contexts_are_weighed_by_the_law_of_their_rewards(kind: Any) -> None:
    """Normal rewards, in the user's units."""
    words = {"Optimist": "optimist", "ThompsonTheta": "thompson-theta", "IDSTheta": "ids-theta"}
    word = words[kind.__name__]
    generator = np.random.default_rng(7)
    for _ in range(6):
        means = generator.choice([-3.0, 1.0, 4.0, 6.5], (4, 3, 3))
        problem = Problem.gaussian(means, deviation=2.5, contexts=["a", "b", "c"])
        agent = Agent(problem, parse_policy(word), seed=4)
        twin_player = kind(problem, context_twins.of_normal(2.5))
        for number in range(120):
            context = int(generator.integers(3))
            expected = twin_player.decide(context, agent_stream(4, number, PLANS))
            decision = agent.ask(context="abc"[context])
            assert decision.arm == problem.arms[expected]
            reward = float(generator.normal(means[-1, context, expected], 2.5))
            agent.tell(decision.id, reward)
            twin_player.told(context, expected, reward)
