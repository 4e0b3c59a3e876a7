"""FP-UCB: how far it leaps, what it counts as misfits, what slack does."""

from __future__ import annotations

import math

import numpy as np
from plans import plan_ahead

from fpbandits import FPUCB, Agent, Problem, load_problem
from fpbandits.engine.compiling import prepare
from fpbandits.engine.contract import CLOCK, Envelope


def test_leaps_reach_far() -> None:
    """A stability check that always said no would pass every other test."""
    problem = load_problem("paper:permutations")
    policy = FPUCB()
    state = policy.new_state(problem)
    state.plays[:] = [10**6, 400, 300, 150]
    state.sums[:] = [600_000, 160, 90, 30]
    state.counters[CLOCK] = 10**6
    envelope = Envelope(np.array([0.6, 0.4, 0.3, 0.2]), math.log(2e18) / 2)
    prepared = prepare(policy, problem)
    cycle, rounds = plan_ahead(policy, prepared, state, envelope, 10**12, np.random.default_rng(0))
    assert cycle == [0]
    assert rounds > 5 * 10**5


def test_misfits_are_counted_from_the_second_episode_on() -> None:
    problem = Problem.bernoulli([[0.1, 0.9], [0.9, 0.1]])
    agent = Agent(problem, FPUCB())
    for _ in range(400):
        agent.tell(agent.ask().id, 0.5)
    assert agent.misfits > 100
    good = Agent(problem, FPUCB())
    for number in range(400):
        decision = good.ask()
        good.tell(decision.id, float(decision.arm == "arm2" or number % 10 == 0))
    assert good.misfits == 0
