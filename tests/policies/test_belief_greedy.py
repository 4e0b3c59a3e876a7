"""Belief-greedy play, against the same written in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from fpbandits import Agent, BeliefGreedy, Problem
from fpbandits.policies import parse_policy

MEANS = np.array(
    [[[0.9, 0.5, 0.1], [0.2, 0.4, 0.6]], [[0.2, 0.5, 0.4], [0.7, 0.1, 0.3]], [[0.4, 0.3, 0.8]] * 2]
).astype(float)


@pytest.mark.parametrize("transitions", [None, [[0.7, 0.2, 0.1], [0, 0.9, 0.1], [0.3, 0.3, 0.4]]])
def test_it_plays_the_arm_of_the_largest_expected_reward(transitions: object) -> None:
    problem = Problem.bernoulli(MEANS, contexts=["m", "d"], transitions=transitions)  # type: ignore[arg-type]
    chain = np.eye(3) if transitions is None else np.array(transitions)
    agent, random = Agent(problem, "belief-greedy"), np.random.default_rng(0)
    belief = np.full(3, 1 / 3)
    for _ in range(150):
        context = int(random.integers(2))
        expected = belief @ MEANS[:, context]
        some = sorted(random.choice(3, 2, replace=False))
        among = agent.why(problem.contexts[context], [problem.arms[arm] for arm in some])
        assert problem.arms.index(among.arm) == some[expected[some].argmax()]
        decision = agent.ask(problem.contexts[context])
        arm = problem.arms.index(decision.arm)
        assert arm == expected.argmax()
        paid = int(random.random() < 0.5)
        agent.tell(decision, paid)
        likely = MEANS[:, context, arm] if paid else 1 - MEANS[:, context, arm]
        belief = belief * likely @ chain
        belief /= belief.sum()
        np.testing.assert_allclose(list(agent.posterior().values()), belief, rtol=1e-9)


def test_of_equals_it_plays_the_first() -> None:
    agent = Agent(Problem.bernoulli([[0.5, 0.5, 0.4], [0.2, 0.2, 0.4]]), BeliefGreedy())
    assert agent.ask().arm == "arm3"  # expected to lose less than either of the others
    agent.observe("arm1", 1)
    agent.observe("arm1", 1)
    assert Agent.from_state(agent.state(), agent.problem).ask().arm == "arm1"


def test_it_is_named_and_not_among_all() -> None:
    assert parse_policy("belief-greedy:change_rate=0.1") == BeliefGreedy(change_rate=0.1)
