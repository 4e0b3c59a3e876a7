"""`Ledger`: which decisions of an agent are pending, and which rewards may count.

In order, an arm counts the rewards up to its first pending decision; those behind it are blocked.
All in order, that is so for all arms together: rewards count in the order of decisions. In any
order, a reward counts as soon as it is told.
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

CROWD = 20
"""When so many rewards of an arm are blocked by one decision, the agent warns."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """So many ``rewards`` of an arm are blocked by ``decision``, which is pending."""

    decision: int
    rewards: int

    def warning(self, whose: str) -> str:
        """Say what to do about them."""
        return (
            f"{whose}: {self.rewards} rewards wait for that of decision {self.decision}, and none "
            f"of them counts until it is told: tell({self.decision}, …), or "
            f"forget({self.decision}) if it will never come; late='any' counts rewards as they "
            "come, which is right where the delay does not depend on the reward"
        )


class Ledger:
    """The decisions that are pending, and the rewards that cannot count yet; arms by index."""

    __slots__ = ("_queues", "_told", "late", "next", "out")

    def __init__(self, late: Late) -> None:
        self.late = late
        self.next = 0
        # Pending decisions, with their arms; blocked rewards, with their arms; and the decisions
        # from the first pending one on, in order: by arm, or all of them under 0.
        self.out: dict[int, int] = {}
        self._told: dict[int, tuple[int, float]] = {}
        self._queues: dict[int, deque[int]] = {}

    def hand_out(self, arm: int) -> int:
        """Note a decision, and return its number."""
        number = self.next
        self.next += 1
        self.out[number] = arm
        if self.late != "any":
            self._queues.setdefault(self._queue_of(arm), deque()).append(number)
        return number

    def _queue_of(self, arm: int) -> int:
        return arm if self.late == "in-order" else 0

    def replace(self, number: int, arm: int) -> None:
        """Let the decision that was handed out last be of another arm."""
        before = self._queue_of(self.out.pop(number))
        if self.late != "any":
            self._queues[before].pop()
            if not self._queues[before]:
                del self._queues[before]
        self.next = number
        self.hand_out(arm)

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
        if number not in self.out:
            settled = f"decision {number} was told or forgotten already"
            raise ConflictError(settled, about=(("decision", int(number)),))
        return self.out[number]

    def settle(self, number: int, reward: float | None) -> list[tuple[int, int, float]]:
        """Take a decision's reward, or None if it will never come; return what may count now.

        That is decisions, each with its arm and its reward.
        """
        arm = self.out.pop(number)
        if reward is not None:
            self._told[number] = arm, reward
        # If rewards count in any order there are no queues: this decision comes first.
        key = self._queue_of(arm)
        queue = self._queues.get(key) or deque((number,))
        countable = []
        while queue and queue[0] not in self.out:
            first = queue.popleft()
            if first in self._told:
                countable.append((first, *self._told.pop(first)))
        if not queue:
            self._queues.pop(key, None)
        # A dictionary that was emptied keeps its memory; a new one takes none.
        self.out, self._told, self._queues = self.out or {}, self._told or {}, self._queues or {}
        return countable

    def pending(self, none: Counts) -> Counts:
        """Return of each arm how many decisions have a reward that does not count yet.

        ``none`` is that where there are none.
        """
        if not self.out and not self._told:
            return none
        blocked = (arm for arm, _ in self._told.values())
        return np.bincount([*self.out.values(), *blocked], minlength=none.size)

    def blocked(self, arm: int) -> Blocked | None:
        """Return what blocks an arm's rewards, if any of them are blocked."""
        queue = self._queues.get(self._queue_of(arm))
        if not self._told or queue is None:
            return None
        rewards = sum(each in self._told and self._told[each][0] == arm for each in queue)
        return Blocked(queue[0], rewards) if rewards else None

    def joins_a_crowd(self, number: int) -> bool:
        """Tell whether a reward is blocked, with so many others that `blocked` is worth a look.

        That look takes longer the more decisions are pending, so rewards that count at once skip
        it.
        """
        return number in self._told and len(self._told) >= CROWD

    def state(self) -> dict[str, Any]:
        """Return everything as values that JSON holds."""
        # An arm's own queue says whose rewards they are.
        told = [
            [number, reward, arm] if self.late == "all-in-order" else [number, reward]
            for number, (arm, reward) in self._told.items()
        ]
        return {
            "next": self.next,
            "out": [[number, arm] for number, arm in self.out.items()],
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
        ledger.out = {int(number): arms.index(arm) for number, arm in state["out"]}
        ledger._queues = {arms.index(arm): deque(map(int, queue)) for arm, queue in state["queues"]}
        told = state["told"]
        if told and late != "all-in-order":
            arm_of = {each: arm for arm, queue in ledger._queues.items() for each in queue}
            told = [[number, reward, arm_of.get(int(number), 0)] for number, reward in told]
        ledger._told = {
            int(number): (arms.index(arm), float(reward)) for number, reward, arm in told
        }
        ledger._check(bounded)
        return ledger

    def _check(self, bounded: bool) -> None:
        if not (self.out or self._told or self._queues):
            return
        queued = [number for queue in self._queues.values() for number in queue]
        if not all(0 <= number < self.next for number in {*self.out, *self._told, *queued}):
            raise ValueError("a decision was never made")
        limits = (0.0, 1.0) if bounded else (-sys.float_info.max, sys.float_info.max)
        if not all(limits[0] <= reward <= limits[1] for _, reward in self._told.values()):
            raise ValueError("a reward is out of range")
        if self._told.keys() & self.out.keys() or (self._told and self.late == "any"):
            raise ValueError("a reward is told and untold")
        if self.late == "any":
            return
        if len(set(queued)) < len(queued) or not {*self._told, *self.out} <= set(queued):
            raise ValueError("a decision is not where it belongs")
        arms = [*self.out.items(), *((number, arm) for number, (arm, _) in self._told.items())]
        if any(number not in self._queues.get(self._queue_of(arm), ()) for number, arm in arms):
            raise ValueError("a decision is in another arm's queue")
