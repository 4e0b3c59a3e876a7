"""`Ledger`: which decisions of an agent are pending, and which rewards may count.

In order, an arm counts the rewards up to its first pending decision; those behind it are blocked.
All in order, all arms together count the rewards up to the first pending decision. In any order, a
reward counts as soon as it is told.

Arms are indices; if there are contexts, those of pairs of a context and an arm.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fpbandits.core.arrays import Counts
from fpbandits.errors import ConflictError, UnknownError, quote

Late = Literal["in-order", "all-in-order", "any"]
"""Which rewards count while others are pending."""

CROWD = 20
"""When so many rewards of an arm are blocked by one decision, the agent warns."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """How many ``rewards`` of an arm are blocked, and by which pending ``decision``."""

    decision: int
    rewards: int

    def warning(self, whose: str) -> str:
        """Say what to do about them; ``whose`` names the arm."""
        return (
            f"{whose}: {self.rewards} rewards wait for that of decision {self.decision}, and none "
            f"of them counts until it is told: tell({self.decision}, …), or "
            f"forget({self.decision}) if it will never come; late='any' counts rewards as they "
            "come, which is right where the delay does not depend on the reward"
        )


class Ledger:
    """The decisions that are pending, and the rewards that cannot count yet.

    Attributes
    ----------
    late
        Which rewards count while others are pending.
    next
        The number of the next decision.
    pending
        The arm of each pending decision.
    """

    __slots__ = ("_blocked", "_queues", "late", "next", "pending")

    def __init__(self, late: Late) -> None:
        self.late = late
        self.next = 0
        self.pending: dict[int, int] = {}
        # The arm and the reward of each decision whose reward is blocked.
        self._blocked: dict[int, tuple[int, float]] = {}
        # The decisions from the first pending one on, in order: by arm, or all of them under 0.
        self._queues: dict[int, deque[int]] = {}

    def hand_out(self, arm: int) -> int:
        """Note a decision, and return its number."""
        number = self.next
        self.next += 1
        self.pending[number] = arm
        if self.late != "any":
            self._queues.setdefault(self._queue_of(arm), deque()).append(number)
        return number

    def _queue_of(self, arm: int) -> int:
        return arm if self.late == "in-order" else 0

    def arm_of(self, number: Any) -> int:
        """Return the arm of a pending decision, or say that it is not pending."""
        whole = type(number) is int or (  # nearly always, so this comes first
            isinstance(number, int | np.integer) and not isinstance(number, bool | np.timedelta64)
        )
        if not whole or not 0 <= number < self.next:
            raise UnknownError(
                f"unknown decision {quote(number)}: this agent has made no such decision",
                about=(("decision", quote(number)),),
            )
        if number not in self.pending:
            resolved = f"decision {number} was told or forgotten already"
            raise ConflictError(resolved, about=(("decision", int(number)),))
        return self.pending[number]

    def resolve(self, number: int, reward: float | None) -> list[tuple[int, int, float]]:
        """Take in a pending decision's reward, or None if it will never come.

        Return the rewards that may count now, in order: decision, arm and reward of each.
        """
        arm = self.pending.pop(number)
        if reward is not None:
            self._blocked[number] = arm, reward
        # If rewards count in any order there are no queues: this decision comes first.
        key = self._queue_of(arm)
        queue = self._queues.get(key) or deque((number,))
        countable = []
        while queue and queue[0] not in self.pending:
            first = queue.popleft()
            if first in self._blocked:
                countable.append((first, *self._blocked.pop(first)))
        if not queue:
            self._queues.pop(key, None)
        # A dictionary that was emptied keeps its memory; a new one takes none.
        self.pending, self._blocked, self._queues = (
            self.pending or {},
            self._blocked or {},
            self._queues or {},
        )
        return countable

    def count_pending(self, zeros: Counts) -> Counts:
        """Return how many decisions of each arm are pending or blocked.

        ``zeros`` has a zero for each arm, and is returned if there are no such decisions.
        """
        if not self.pending and not self._blocked:
            return zeros
        blocked = (arm for arm, _ in self._blocked.values())
        return np.bincount([*self.pending.values(), *blocked], minlength=zeros.size)

    def blocked(self, arm: int) -> Blocked | None:
        """Return what blocks an arm's rewards; None if none of them are blocked."""
        queue = self._queues.get(self._queue_of(arm))
        if not self._blocked or queue is None:
            return None
        rewards = sum(
            number in self._blocked and self._blocked[number][0] == arm for number in queue
        )
        return Blocked(queue[0], rewards) if rewards else None

    def joins_a_crowd(self, number: int) -> bool:
        """Tell whether this decision's reward is blocked, and `CROWD` or more are in all.

        Only then is `blocked` worth calling: it takes longer the more decisions are pending.
        """
        return number in self._blocked and len(self._blocked) >= CROWD

    def state(self) -> dict[str, Any]:
        """Return everything as values that JSON holds."""
        # In order, the arm of a blocked reward follows from the queue that its decision is in.
        told = [
            [number, reward, arm] if self.late == "all-in-order" else [number, reward]
            for number, (arm, reward) in self._blocked.items()
        ]
        return {
            "next": self.next,
            "out": [[number, arm] for number, arm in self.pending.items()],
            "told": told,
            "queues": [[arm, list(queue)] for arm, queue in self._queues.items()],
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], late: Late, arms: range, bounded: bool = True
    ) -> Ledger:
        """Return the ledger that `state` describes; ValueError if there can be no such ledger.

        Rewards are on [0, 1] if they are ``bounded``.
        """
        ledger = cls(late)
        ledger.next = int(state["next"])
        # A range's index is the arm itself, and a ValueError if there is no such arm.
        ledger.pending = {int(number): arms.index(arm) for number, arm in state["out"]}
        ledger._queues = {arms.index(arm): deque(map(int, queue)) for arm, queue in state["queues"]}
        told = state["told"]
        if told and late != "all-in-order":
            arm_of = {number: arm for arm, queue in ledger._queues.items() for number in queue}
            told = [[number, reward, arm_of.get(int(number), 0)] for number, reward in told]
        ledger._blocked = {
            int(number): (arms.index(arm), float(reward)) for number, reward, arm in told
        }
        ledger._check(bounded)
        return ledger

    def _check(self, bounded: bool) -> None:
        """Raise a ValueError if the numbers contradict each other."""
        if not (self.pending or self._blocked or self._queues):
            return
        queued = [number for queue in self._queues.values() for number in queue]
        if not all(0 <= number < self.next for number in {*self.pending, *self._blocked, *queued}):
            raise ValueError("a decision was never made")
        low, high = (0.0, 1.0) if bounded else (-sys.float_info.max, sys.float_info.max)
        if not all(low <= reward <= high for _, reward in self._blocked.values()):
            raise ValueError("a reward is out of range")
        if self._blocked.keys() & self.pending.keys() or (self._blocked and self.late == "any"):
            raise ValueError("a reward is told and pending")
        if self.late == "any":
            return
        if len(set(queued)) < len(queued) or not {*self._blocked, *self.pending} <= set(queued):
            raise ValueError("a decision is not where it belongs")
        arms = [
            *self.pending.items(),
            *((number, arm) for number, (arm, _) in self._blocked.items()),
        ]
        if any(number not in self._queues.get(self._queue_of(arm), ()) for number, arm in arms):
            raise ValueError("a decision is in another arm's queue")
