"""How far rewards can stray, by trying every step; for how many rounds a plan holds."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from plans import Stretch, stretches

from fpbandits import Problem
from fpbandits.engine import envelope as module
from fpbandits.engine.compiling import compile_for, compiled, prepare
from fpbandits.engine.contract import COUNTERS, ROUNDS, Ahead, Envelope, State
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


@pytest.mark.parametrize(
    ("mean", "spread", "found"),
    [
        (0.25, 0.16, (8, 0, 8 / 3, 8 / 3, 4.25, 8.25)),  # w = 2: all limits cross
        (0.25, 4.0, (25, 0, 40 / 3, 40 / 3, 0, 16.25)),  # w = 10: the lower limits do not
        (0.75, 4.0, (40 / 3, 0, 25, 25, 8.75, 25)),  # nor the upper ones
        (0.0, 4.0, (25, 0, 0, 0, 0, 0)),  # such rewards do not vary
        (1.0, 4.0, (0, 0, 25, 25, 25, 25)),
        (0.0, math.inf, (25, 0, 25, 25, 0, 25)),  # the worst case: anything may come
        (1.0, math.inf, (25, 0, 25, 25, 0, 25)),
    ],
)
def test_where_the_limits_of_25_rewards_cross(
    mean: float, spread: float, found: tuple[float, ...]
) -> None:
    """After j plays their sum is within √(25·spread) of j·mean, and from 0 to j."""
    with np.errstate(all="ignore"):
        assert corners(Envelope(np.array([mean]), spread), 0, 25) == pytest.approx(found)


def test_what_is_spared_for_rounding_is_in_proportion() -> None:
    for number in (0.0, 0.5, -1e6, 3e9):
        assert 1 < spare(number) / (math.ulp(max(1.0, abs(number))) / 2) < 20
    assert [spare(number) for number in (0.5, -2.0)] == pytest.approx([1e-15, 2e-15], abs=0)


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


@pytest.mark.parametrize(
    ("limit", "last", "plays", "asked"),
    [
        (100, 0, 1000, [2, 4, 8, 16, 32, 64, 128, 96]),  # doubled from 2, then bisected once
        (70, 0, 1000, [2, 4, 8, 16, 32, 64, 128, 96]),
        (5, 80, 1000, [80, 40, 20, 10, 5, 7]),  # halved from the rounds of the last plan
        (1, 0, 1000, [2]),
        (9, 0, 2, [2]),
        (1000, 700, 1000, [700, 1000]),
        (1000, 10**6, 60, [60]),
        (9, 0, 1, []),
        (9, 0, 0, []),
    ],
)
def test_which_rounds_are_checked(
    monkeypatch: pytest.MonkeyPatch, limit: int, last: int, plays: int, asked: list[int]
) -> None:
    checked: list[int] = []

    def holds_for(prepared: Any, state: Any, workspace: Any, envelope: Any, rounds: int) -> bool:
        checked.append(rounds)
        return rounds <= limit

    monkeypatch.setattr(module, "_holds_for", holds_for)
    envelope = Envelope(np.array([0.5]), 1.0)
    for length in (1, 3):
        counters = np.zeros(COUNTERS, np.int64)
        counters[ROUNDS] = last
        state = State(np.zeros(1, np.int64), np.zeros(1), counters)
        sure = certain_rounds(None, state, None, Ahead(envelope, plays * length, 0, None), length)
        assert checked == asked
        assert sure == max([rounds for rounds in asked if rounds <= limit], default=1)
        assert counters[ROUNDS] == (sure if asked else last)
        checked.clear()
    # By default a plan is one arm long.
    state.counters[ROUNDS] = last
    certain_rounds(None, state, None, Ahead(envelope, plays, 0, None))
    assert checked == asked


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
