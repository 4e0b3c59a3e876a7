"""The optimist: what stays plausible, and what it does when no model fits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import reference

from fpbandits import Agent, Optimist, Problem, load_problem
from fpbandits.policies import IMED
from fpbandits.policies.base import CLOCK, MISFITS, STAGE

WRONG = Problem.bernoulli([[0.1, 0.9], [0.9, 0.1]])


def test_margins_are_what_is_left_of_the_threshold() -> None:
    problem = load_problem("paper:permutations")
    policy = Optimist(delta=0.3, offset=1.5)
    tally = policy.tally(problem)
    tally.plays[:], tally.sums[:], tally.counters[CLOCK] = [50, 20, 3, 0], [30, 9, 1, 0], 73
    costs = reference.misfits(problem.means.tolist(), tally.plays.tolist(), tally.sums.tolist())
    expected = 1.3 * math.log(73) + 1.5 - np.array(costs)
    np.testing.assert_allclose(policy.margins(problem, tally), expected)


def test_without_the_option_misfits_are_counted_and_nothing_is_given_up() -> None:
    agent = Agent(WRONG, Optimist())
    for _ in range(400):
        agent.tell(agent.ask().id, 0.5)
    assert agent.misfits > 0
    assert agent._tally.counters[STAGE] == 0


@pytest.mark.parametrize("safe", [1.0, 7.0])
def test_safe_gives_up_the_models_for_good_and_goes_on_with_imed(safe: float) -> None:
    agent, blind = Agent(WRONG, Optimist(safe=safe)), Agent(WRONG, IMED())
    generator = np.random.default_rng(3)
    before = after = 0
    for _ in range(600):
        given_up = agent._tally.counters[STAGE] == 1
        decision = agent.ask()
        if given_up:
            assert decision.arm == blind.ask().arm
            after += 1
        else:
            before += 1
        reward = float(generator.random() < (0.5 if decision.arm == "arm1" else 0.45))
        agent.tell(decision.id, reward)
        blind.observe(decision.arm, reward)
    assert before > 5
    assert after > 100
    # The plan that raised the alarm is the first that is counted.
    assert agent._tally.counters[MISFITS] >= after


def test_a_model_that_fits_is_not_given_up() -> None:
    """Seed 1; 50 agents, each of which raises a false alarm with a chance below e^−7."""
    generator = np.random.default_rng(1)
    for _ in range(50):
        agent = Agent(WRONG, Optimist(safe=7))
        for _ in range(100):
            decision = agent.ask()
            chance = 0.1 if decision.arm == "arm1" else 0.9
            agent.tell(decision.id, float(generator.random() < chance))
        assert agent._tally.counters[STAGE] == agent.misfits == 0
