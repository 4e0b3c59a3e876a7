"""How far rewards can stray, by trying every step; for how many rounds a plan holds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from plans import Stretch, stretches

from fpbandits import Problem
from fpbandits.engine.compiling import compile_for, compiled, prepare
from fpbandits.engine.contract import ROUNDS, Ahead, Envelope, State
from fpbandits.engine.envelope import certain_rounds, corners, mean_ahead, spare
from fpbandits.engine.policy import Policy


@compiled
def ahead(state: Any, envelope: Any, arm: int, more: int) -> tuple[float, float]:
    return mean_ahead(state, envelope, arm, more)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(stretches())
def test_the_range_of_a_mean_is_that_of_every_step(stretch: Stretch) -> None:
    n, total, p, more, spread = stretch
    state = State(np.array([n]), np.array([total]), np.zeros(4, np.int64))
    low, high = ahead(state, Envelope(np.array([p]), spread), 0, more)
    lows = [(total + stretch.limits(j)[0]) / (n + j) for j in range(more + 1)]
    highs = [(total + stretch.limits(j)[1]) / (n + j) for j in range(more + 1)]
    assert low <= min(lows) + 1e-12
    assert high >= max(highs) - 1e-12
    # And no wider than a fraction of a step explains.
    assert low >= min(lows) - 1 / n
    assert high <= max(highs) + 1 / n


def test_rewards_without_a_range_may_stray_at_once() -> None:
    """After j of 25 plays their sum is within √(25·4) of 0.3j."""
    found = corners(Envelope(np.array([0.3]), 4.0, bounded=False), 0, 25)
    assert found == pytest.approx((0, -10, 0, 10, 7.5 - 10, 7.5 + 10))


def test_what_is_spared_for_rounding_is_in_proportion() -> None:
    for number in (0.0, 0.5, -1e6, 3e9):
        assert 1 < spare(number) / (math.ulp(max(1.0, abs(number))) / 2) < 20


class Limit(NamedTuple):
    rounds: int


class Holds(Policy):
    """Its plans hold for so many rounds, and it counts who asks."""

    name = "holds"

    def prepare(self, problem: Problem) -> Limit:
        return Limit(0)

    @staticmethod
    def holds_for(prepared: Any, state: Any, workspace: Any, envelope: Any, rounds: int) -> bool:
        state.plays[0] += 1
        return bool(rounds <= prepared.rounds)


@compiled
def rounds_of(prepared: Any, state: Any, workspace: Any, ahead: Any, length: int) -> int:
    return certain_rounds(prepared, state, workspace, ahead, length)


def test_how_long_a_plan_holds_is_found_within_a_third_by_few_checks() -> None:
    policy, problem = Holds(), Problem.bernoulli([[0.5, 0.4]])
    made, state = type(prepare(policy, problem)), policy.new_state(problem)
    workspace, envelope = policy.workspace(made(0), 2), Envelope(np.array([0.5, 0.4]), 1.0)
    pending = np.zeros(2, np.int64)
    arguments: Any = (made(0), state, workspace, Ahead(envelope, 1, 0, pending), 1)
    code = compile_for(policy, rounds_of, arguments)
    for limit in (1, 2, 3, 5, 64, 100, 12_345, 10**9):
        for plays in (0, 1, 2, 3, 7, 130, 10**6, 10**12):
            for guess in (0, 1, 2, limit // 3, limit, 2 * limit, 10**7):
                for length in (1, 3):
                    state.plays[0], state.counters[ROUNDS] = 0, guess
                    found = code(
                        made(limit), state, workspace, Ahead(envelope, plays, 0, pending), length
                    )
                    most = max(1, min(limit, plays // length))
                    assert found <= most
                    assert found >= most if limit >= plays // length else found > 2 / 3 * limit - 1
                    far = abs(math.log2(max(most, 2) / min(max(guess, 2), max(plays, 2))))
                    assert state.plays[0] <= far + 4
                    if plays // length > 1:
                        assert state.counters[ROUNDS] == found


def test_without_an_envelope_a_plan_is_for_one_round() -> None:
    policy, problem = Holds(), Problem.bernoulli([[0.5, 0.4]])
    prepared, state = prepare(policy, problem), policy.new_state(problem)
    arguments: Any = (
        prepared,
        state,
        policy.workspace(prepared, 2),
        Ahead(None, 10**6, 0, state.plays),
        1,
    )
    assert compile_for(policy, rounds_of, arguments)(*arguments) == 1
