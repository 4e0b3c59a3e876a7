"""A policy replayed on the rows of a log, unit by unit: each unit has its own agent.

Nothing is learned from a skipped row. So a decision stands until a row comes that played it: made
again it would be the same or, if the policy is randomised, have the same distribution. With
contexts a decision is made for each context that comes, and all of them are discarded once one was
accepted and the agent has learned from it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np

from fpbandits.agent.rewards import unit_reward
from fpbandits.core.arrays import Bools, Counts, Floats
from fpbandits.engine.ready import NO_STREAM, Arms, Ready
from fpbandits.errors import InputError
from fpbandits.evaluation.thinning import drawn_pairs, eligible
from fpbandits.logs.log import Log

_Written = tuple[Counts, Floats]
"""The counters of a state, and what is extra in it."""

_LARGEST = 1e100
_AT_ONCE = 256
"""Units between two signs of progress."""


class _Player:
    """An agent whose decisions need not be played; `Agent` hands each out for good."""

    def __init__(self, ready: Ready, random: np.random.Generator) -> None:
        self._ready, self._random = ready, random
        self._state = ready.policy.new_state(ready.problem)
        self._memory = ready.start()
        self._accepted = 0
        self._cycle: list[int] = []  # of a round that was begun, the arms to come
        self._forget_plans()

    def _forget_plans(self) -> None:
        """Discard all plans; later ones start from the present state."""
        # By context and set: the arms to play, and the policy's state after planning.
        self._plans: dict[tuple[int, Arms | None], tuple[list[int], _Written, Any]] = {}
        self._before = self._written(), self._memory

    def _written(self) -> _Written:
        """Return a copy of what planning writes to."""
        return self._state.counters.copy(), self._state.extra.copy()

    def _write(self, written: _Written) -> None:
        """Put that back."""
        self._state.counters[:], self._state.extra[:] = written

    def decision(self, context: int, among: Arms | None) -> int:
        """Return the arm that it would play in a context, among those that are eligible."""
        planned = self._planned(among)
        if planned is not None:
            return planned
        plan = self._plans.get((context, among))
        if plan is None:
            written, memory = self._before
            self._write(written)
            if memory is not None:
                memory = deepcopy(memory)
            arms, memory = self._ready.plan(
                self._state, self._accepted, memory, self._random, context, None, among
            )
            plan = self._plans[context, among] = arms, self._written(), memory
        return plan[0][0]

    def _planned(self, among: Arms | None) -> int | None:
        """Return the next arm of a cycle that was begun, if one is eligible."""
        return next((arm for arm in self._cycle if among is None or arm in among), None)

    def accept(self, context: int, among: Arms | None, pair: int, reward: float) -> None:
        """Play the decision, and take in its reward, on [0, 1]."""
        planned = self._planned(among)
        if planned is not None:
            self._write(self._before[0])
            self._cycle.remove(planned)
            memory = self._memory
        else:
            arms, written, memory = self._plans[context, among]
            self._write(written)
            if among is None:
                self._cycle = arms[1:]
        self._accepted += 1
        self._memory = self._ready.observe(
            self._state, self._accepted, memory, pair, reward, self._random
        )
        self._forget_plans()


@dataclass(frozen=True, eq=False)
class Accepted:
    """What a policy would have decided as the log did.

    Attributes
    ----------
    rows
        The rows that it accepts.
    stuck
        How many units it asked for each pair of those that the log never played.
    """

    rows: Bools
    stuck: Counts


def accepted_rows(
    ready: Ready, log: Log, usable: Bools, seed: int, tell: Callable[[float], None]
) -> Accepted:
    """Replay a policy on the usable rows."""
    # In a thread: Ctrl-C, which only the main one gets, must not come while compiled code is given
    # a random stream. That would crash it.
    stopped = Event()
    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(_accepted, ready, log, usable, seed, tell, stopped).result()
        finally:
            stopped.set()


def _accepted(
    ready: Ready,
    log: Log,
    usable: Bools,
    seed: int,
    tell: Callable[[float], None],
    stopped: Event,
) -> Accepted:
    accepted = np.zeros(len(log.reward), bool)
    rows = log.by_unit()
    rows = rows[usable[rows]]
    ends = np.cumsum(np.bincount(log.unit[rows], minlength=len(log.units)))
    rewards = ready.problem.rewards
    arms = len(log.arms)
    context, arm = (part.tolist() for part in np.divmod(log.pair[rows], arms))
    pair = log.pair[rows].tolist()
    reward = ((log.reward[rows] - rewards.zero) / rewards.width).tolist()
    number = rows.tolist()
    sets = _sets_of(log)
    among = [sets[number] for number in log.among[rows].tolist()] if log.among is not None else None
    never = set(np.flatnonzero(~drawn_pairs(log)).tolist())
    stuck = np.zeros(log.pairs, np.int64)
    start = 0
    for unit, end in enumerate(ends.tolist()):
        random = NO_STREAM
        if ready.policy.randomised:
            random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(unit, 1)))
        player = _Player(ready, random)
        asked = set()
        for place in range(start, end):
            some = None if among is None else among[place]
            decision = player.decision(context[place], some)
            if decision == arm[place]:
                player.accept(context[place], some, pair[place], reward[place])
                accepted[number[place]] = True
            elif never:
                asked.add(context[place] * arms + decision)
        stuck[list(asked & never)] += 1
        start = end
        if stopped.is_set():
            break
        if unit % _AT_ONCE == 0:
            tell(end / max(1, len(rows)))
    tell(1.0)
    return Accepted(accepted, stuck)


def _sets_of(log: Log) -> list[Arms | None]:
    """Return the sets of eligible arms, by index; None for all arms."""
    return [None if row.all() else tuple(np.flatnonzero(row).tolist()) for row in eligible(log)]


def check_rewards(ready: Ready, log: Log) -> None:
    """Refuse a reward that is impossible under the problem, or whose square overflows."""
    large = np.abs(log.reward) > _LARGEST
    if large.any():
        row = int(large.argmax())
        raise InputError(
            f"the reward {log.reward[row]:g} is beyond {_LARGEST:g}: scale the rewards"
        ).at(("index", row))
    kinds = np.stack([log.pair.astype(np.float64), log.reward], axis=1)
    _, first = np.unique(kinds, axis=0, return_index=True)
    for row in np.sort(first).tolist():
        pair = int(log.pair[row])
        place = ("index", row), ("arm", log.pair_names[pair])
        unit_reward(ready, pair, float(log.reward[row]), *place)


def sums_by_unit(log: Log, rows: Bools | slice = np.s_[:]) -> tuple[Floats, Floats]:
    """Return the summed rewards of these rows, or of all, and their number, of each unit."""
    unit, reward, units = log.unit[rows], log.reward[rows], len(log.units)
    counts = np.bincount(unit, minlength=units).astype(np.float64)
    sums: Floats = np.bincount(unit, reward, units).astype(np.float64)
    return sums, counts
