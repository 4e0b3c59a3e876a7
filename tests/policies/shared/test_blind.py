"""Indices as reasons: of the rules that have them, in the user's units."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fpbandits import Agent, Problem
from fpbandits.engine.ready import ready
from fpbandits.policies import parse_policy

PRICES = Problem.bernoulli([[2.0, 5.0, 8.0]], range=(-4, 16))


@pytest.mark.parametrize("word", ["ucb1", "kl-ucb", "moss"])
def test_an_arm_without_rewards_has_an_infinite_index(word: str) -> None:
    """The others have one of their own: their mean or more, and more where that is more."""
    own = ready(parse_policy(word), PRICES)
    state = own.policy.new_state(PRICES)
    state.plays[:2], state.sums[:2], state.counters[0] = 10, [2, 5], 20
    reasons = own.reasons(state, 0, None)
    assert reasons is not None
    assert reasons.rule == "plays the arm of the largest index"
    first, second, third = reasons.numbers["index"]
    # The means are 0.2 and 0.5 on [0, 1]: 0 and 6 in the user's units.
    assert 0 <= first < second
    assert 6 <= second < third == math.inf
    if word == "ucb1":
        radius = 20 * math.sqrt(2 * math.log(20) / 10)
        assert reasons.numbers["index"][:2] == pytest.approx(np.array([radius, 6 + radius]))


def test_a_rule_without_an_index_gives_no_reasons() -> None:
    """Neither before the first reward nor after it."""
    agent = Agent(PRICES, "thompson")
    for _ in range(2):
        reasons = agent.why()
        assert reasons.rule == "gives no numbers of its own"
        assert "index" not in reasons.arms["arm1"]
        agent.observe("arm1", 16)
