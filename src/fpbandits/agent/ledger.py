"""`Ledger`: which decisions of an agent are out, and which rewards may count.

In order, an arm counts the rewards up to its first decision that is still untold; those told behind
it wait. In any order, a reward counts as soon as it is told.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fpbandits.core.arrays import Counts
from fpbandits.errors import ConflictError, UnknownError, quote

CROWD = 20
"""When so many rewards of an arm wait behind one that is not told, that is worth a word."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """So many ``rewards`` of an arm were told and wait for that of ``decision``, which was not."""

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
    """The decisions that are out, and the rewards that cannot count yet; arms by index."""

    __slots__ = ("_queues", "_told", "in_order", "next", "out")

    def __init__(self, in_order: bool) -> None:
        self.in_order = in_order
        self.next = 0
        # Decisions that are out, with their arms; rewards that cannot count yet; and for each arm
        # its decisions in order, from the first that is out.
        self.out: dict[int, int] = {}
        self._told: dict[int, float] = {}
        self._queues: dict[int, deque[int]] = {}

    def hand_out(self, arm: int) -> int:
        """Note a decision, and return its number."""
        number = self.next
        self.next += 1
        self.out[number] = arm
        if self.in_order:
            if arm in self._queues:
                self._queues[arm].append(number)
            else:
                self._queues[arm] = deque((number,))
        return number

    def arm_of(self, number: Any) -> int:
        """Return the arm of a decision that is out, or say that it is not."""
        whole = isinstance(number, int | np.integer) and not isinstance(
            number, bool | np.timedelta64
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

    def settle(self, number: int, reward: float | None) -> list[tuple[int, float]]:
        """Take a decision's reward, or None if it will never come; return what may count now."""
        arm = self.out.pop(number)
        if reward is not None:
            self._told[number] = reward
        settled = [number]
        if self.in_order:
            queue = self._queues[arm]
            settled = []
            while queue and queue[0] not in self.out:
                settled.append(queue.popleft())
            if not queue:
                del self._queues[arm]
        countable = [(each, self._told.pop(each)) for each in settled if each in self._told]
        # A dictionary that was emptied keeps its room; a new one takes none.
        self.out, self._told, self._queues = self.out or {}, self._told or {}, self._queues or {}
        return countable

    def pending(self, none: Counts) -> Counts:
        """Return of each arm how many decisions have a reward that does not count yet.

        ``none`` is that where there are none.
        """
        if not self.out and not self._told:
            return none
        if self.in_order:
            counts = np.zeros_like(none)
            for arm, queue in self._queues.items():
                counts[arm] = len(queue)
            return counts
        return np.bincount(list(self.out.values()), minlength=none.size)

    def blocked(self, arm: int) -> Blocked | None:
        """Return what an arm's rewards wait for, if any of them do."""
        queue = self._queues.get(arm)
        if not self._told or queue is None:
            return None
        rewards = sum(number in self._told for number in queue)
        return Blocked(queue[0], rewards) if rewards else None

    def joins_a_crowd(self, number: int) -> bool:
        """Tell whether a reward must wait, and so many others that it is worth looking for whom.

        To look takes longer the more decisions are out: so not for rewards that count at once.
        """
        return number in self._told and len(self._told) >= CROWD

    def state(self) -> dict[str, Any]:
        """Return everything as values that JSON holds."""
        return {
            "next": self.next,
            "out": [[number, arm] for number, arm in self.out.items()],
            "told": [[number, reward] for number, reward in self._told.items()],
            "queues": [[arm, list(queue)] for arm, queue in self._queues.items()],
        }

    @classmethod
    def from_state(
        cls, state: Mapping[str, Any], in_order: bool, arms: range, bounded: bool = True
    ) -> Ledger:
        """Return the ledger that `state` describes; ValueError if there can be no such ledger.

        Rewards are on [0, 1] if they are ``bounded``.
        """
        ledger = cls(in_order)
        ledger.next = int(state["next"])
        # A range's index is the arm itself, and a ValueError if there is no such arm.
        ledger.out = {int(number): arms.index(arm) for number, arm in state["out"]}
        ledger._told = {int(number): float(reward) for number, reward in state["told"]}
        ledger._queues = {arms.index(arm): deque(map(int, queue)) for arm, queue in state["queues"]}
        ledger._check(bounded)
        return ledger

    def _check(self, bounded: bool) -> None:
        if not (self.out or self._told or self._queues):
            return
        queued = [number for queue in self._queues.values() for number in queue]
        if not all(0 <= number < self.next for number in {*self.out, *self._told, *queued}):
            raise ValueError("a decision was never made")
        limits = (0.0, 1.0) if bounded else (-sys.float_info.max, sys.float_info.max)
        if not all(limits[0] <= reward <= limits[1] for reward in self._told.values()):
            raise ValueError("a reward is out of range")
        if self._told.keys() & self.out.keys() or (self._told and not self.in_order):
            raise ValueError("a reward is told and untold")
        if not self.in_order:
            return
        if len(set(queued)) < len(queued) or not {*self._told, *self.out} <= set(queued):
            raise ValueError("a decision is not where it belongs")
        if any(number not in self._queues.get(arm, ()) for number, arm in self.out.items()):
            raise ValueError("a decision is in another arm's queue")
