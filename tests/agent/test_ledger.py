"""Which rewards may count, against a list of all decisions that is searched each time."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fpbandits.agent.ledger import CROWD, Blocked, Late, Ledger
from fpbandits.errors import ConflictError, UnknownError

ARMS = range(3)


@dataclass
class Entry:
    arm: int
    pending: bool = True
    reward: float | None = None
    counted: bool = False

    @property
    def blocked(self) -> bool:
        return self.reward is not None and not self.counted


@dataclass
class Naive:
    """Every decision ever made, in order."""

    late: Late
    entries: list[Entry] = field(default_factory=list)

    def resolve(self, number: int, reward: float | None) -> list[tuple[int, int, float]]:
        resolved = self.entries[number]
        resolved.pending, resolved.reward = False, reward
        countable = []
        for decision, entry in enumerate(self.entries):
            if entry.arm != resolved.arm and self.late != "all-in-order":
                continue
            if entry.pending and self.late != "any":
                break
            if entry.blocked:
                assert entry.reward is not None
                entry.counted = True
                countable.append((decision, entry.arm, entry.reward))
        return countable

    def pending(self) -> dict[int, int]:
        return {n: entry.arm for n, entry in enumerate(self.entries) if entry.pending}

    def blocked(self, arm: int) -> Blocked | None:
        rewards = sum(entry.blocked for entry in self.entries if entry.arm == arm)
        if not rewards:
            return None
        all_arms = self.late == "all-in-order"
        return Blocked(min(n for n, of in self.pending().items() if all_arms or of == arm), rewards)


def again(ledger: Ledger) -> Ledger:
    """The same ledger, by way of JSON."""
    state = json.loads(json.dumps(ledger.state(), allow_nan=False))
    return Ledger.from_state(state, ledger.late, ARMS)


steps = st.tuples(
    st.sampled_from(["hand out", "hand out", "settle", "settle", "forget", "save and load"]),
    st.integers(0, 10**6),
    st.floats(0, 1),
)


@pytest.mark.parametrize("late", get_args(Late))
def test_what_counts_when(late: Late) -> None:
    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(st.lists(steps, min_size=40, max_size=150))
    def challenge(sequence: list[tuple[str, int, float]]) -> None:
        ledger, naive = Ledger(late), Naive(late)
        for what, pick, reward in sequence:
            out = sorted(naive.pending())
            if what == "hand out":
                naive.entries.append(Entry(pick % len(ARMS)))
                assert ledger.hand_out(pick % len(ARMS)) == len(naive.entries) - 1
            elif what == "save and load":
                ledger = again(ledger)
            elif out:
                number = out[pick % len(out)]
                its_reward = reward if what == "settle" else None
                assert ledger.arm_of(number) == naive.entries[number].arm
                assert ledger.resolve(number, its_reward) == naive.resolve(number, its_reward)
                waits = [n for n, entry in enumerate(naive.entries) if entry.blocked]
                crowd = number in waits and len(waits) >= CROWD
                assert ledger.joins_a_crowd(number) is crowd
                with pytest.raises(ConflictError, match=f"decision {number} was told or forg"):
                    ledger.arm_of(number)
            assert ledger.pending == naive.pending()
            assert [ledger.blocked(arm) for arm in ARMS] == [naive.blocked(arm) for arm in ARMS]
        assert ledger.state() == again(ledger).state()

    challenge()


@pytest.mark.parametrize("late", get_args(Late))
def test_a_crowd_is_so_many_that_wait(late: Late) -> None:
    ledger, in_order = Ledger(late), late != "any"
    for _ in range(CROWD + 2):
        ledger.hand_out(1)
    for number in range(1, CROWD + 2):
        counts = ledger.resolve(number, 0.5)
        assert ledger.joins_a_crowd(number) is (in_order and number >= CROWD)
        assert counts == ([] if in_order else [(number, 1, 0.5)])
    assert ledger.blocked(1) == (Blocked(0, CROWD + 1) if in_order else None)
    assert ledger.blocked(0) is None
    assert len(ledger.resolve(0, None)) == (CROWD + 1 if in_order else 0)
    assert ledger.blocked(1) is None


@pytest.mark.parametrize("number", [-1, 2, True, 0.0, "0", None])
def test_decisions_that_were_never_made(number: Any) -> None:
    ledger = Ledger("in-order")
    ledger.hand_out(0), ledger.hand_out(2)
    assert ledger.arm_of(np.int64(1)) == 2
    with pytest.raises(UnknownError, match="this agent has made no such decision"):
        ledger.arm_of(number)


WHOLE = {
    "next": 5,
    "out": [[0, 0], [3, 1]],
    "told": [[2, 0.5]],
    "queues": [[0, [0, 2]], [1, [3]]],
}


def test_an_honest_state_is_taken() -> None:
    ledger = Ledger.from_state(WHOLE, "in-order", ARMS)
    assert ledger.state() == WHOLE
    assert ledger.resolve(0, 1.0) == [(0, 0, 1.0), (2, 0, 0.5)]


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        ({"next": 3}, "never made"),
        ({"told": [[2, 0.5], [-1, 0.5]]}, "never made"),
        ({"queues": [[0, [0, 2]], [1, [3, 9]]]}, "never made"),
        ({"told": [[2, 1.5]]}, "out of range"),
        ({"told": [[2, float("nan")]]}, "out of range"),
        ({"told": [[2, 0.5], [3, 0.5]]}, "told and pending"),
        ({"queues": [[0, [0]], [1, [3]]]}, "not where it belongs"),
        ({"queues": [[0, [0, 2]]]}, "not where it belongs"),
        ({"queues": [[0, [0, 2]], [1, [3, 2]]]}, "not where it belongs"),
        ({"queues": [[0, [3, 2]], [1, [0]]]}, "another arm's queue"),
        ({"out": [[0, 0], [3, 7]]}, "7"),
        ({"queues": [[0, [0, 2]], [9, [3]]]}, "9"),
    ],
)
def test_forged_states_are_refused(forged: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Ledger.from_state(WHOLE | forged, "in-order", ARMS)


def test_all_in_order_a_state_says_whose_a_reward_is() -> None:
    whole = WHOLE | {"told": [[2, 0.5, 1]], "queues": [[0, [0, 2, 3]]]}
    ledger = Ledger.from_state(whole, "all-in-order", ARMS)
    assert ledger.state() == whole
    assert ledger.blocked(1) == Blocked(0, 1)
    assert ledger.resolve(3, 1.0) == []
    assert ledger.resolve(0, None) == [(2, 1, 0.5), (3, 1, 1.0)]
    with pytest.raises(ValueError, match="another arm's queue"):
        Ledger.from_state(whole | {"queues": [[1, [0, 2, 3]]]}, "all-in-order", ARMS)


def test_in_any_order_nothing_waits() -> None:
    with pytest.raises(ValueError, match="told and pending"):
        Ledger.from_state(WHOLE | {"queues": []}, "any", ARMS)
    honest = WHOLE | {"queues": [], "told": []}
    assert Ledger.from_state(honest, "any", ARMS).state() == honest


@pytest.mark.parametrize("late", ["in-order", "any", "all-in-order"])
def test_pending_is_what_neither_counts_nor_was_forgotten(late: Late) -> None:
    ledger, none = Ledger(late), np.zeros(2, np.int64)
    assert ledger.count_pending(none) is none
    for arm in (0, 1, 0, 0):
        ledger.hand_out(arm)
    assert ledger.count_pending(none).tolist() == [3, 1]
    ledger.resolve(2, None)  # forgotten, behind one that is pending
    assert ledger.count_pending(none).tolist() == [2, 1]
    ledger.resolve(3, 1.0)  # in order, it does not count yet
    assert ledger.count_pending(none).tolist() == [2 if late != "any" else 1, 1]
    ledger.resolve(0, 1.0)
    assert ledger.count_pending(none).tolist() == [1 if late == "all-in-order" else 0, 1]
