"""A policy replayed on the rows of a log, unit by unit: each unit has its own agent.

The agent learns nothing from a skipped row. So a decision stands until a row comes that played it:
made again it would be the same or, if the policy is randomised, have the same distribution. With
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
"""The parts of a state that planning writes to: its counters and its extra numbers."""

_LARGEST = 1e100
"""The largest reward whose square surely does not overflow, nor a sum of many."""

_AT_ONCE = 256
"""Units between two reports of progress."""


class _Player:
    """An agent whose decisions need not be played; a decision of `Agent` is final."""

    def __init__(self, ready: Ready, random: np.random.Generator) -> None:
        self._ready, self._random = ready, random
        self._state = ready.policy.new_state(ready.problem)
        self._memory = ready.start()
        self._accepted = 0
        self._cycle: list[int] = []  # the arms to come of a round that was begun
        self._forget_plans()

    def _forget_plans(self) -> None:
        """Discard all plans; new ones start from the present state."""
        # By context and set: the arms to play, and the policy's state after planning.
        self._plans: dict[tuple[int, Arms | None], tuple[list[int], _Written, Any]] = {}
        self._before = self._copy_written(), self._memory

    def _copy_written(self) -> _Written:
        """Return a copy of what planning writes to."""
        return self._state.counters.copy(), self._state.extra.copy()

    def _restore(self, written: _Written) -> None:
        """Put such a copy back."""
        self._state.counters[:], self._state.extra[:] = written

    def decide(self, context: int, among: Arms | None) -> int:
        """Return the arm that it would play in a context, among those that are eligible."""
        planned = self._next_planned(among)
        if planned is not None:
            return planned
        plan = self._plans.get((context, among))
        if plan is None:
            written, memory = self._before
            self._restore(written)
            arms, memory = self._ready.plan(
                self._state, self._accepted, deepcopy(memory), self._random, context, None, among
            )
            plan = self._plans[context, among] = arms, self._copy_written(), memory
        return plan[0][0]

    def _next_planned(self, among: Arms | None) -> int | None:
        """Return the next eligible arm of a round that was begun; None if there is none."""
        if not self._cycle:  # nearly always
            return None
        return next((arm for arm in self._cycle if among is None or arm in among), None)

    def accept(self, context: int, among: Arms | None, pair: int, reward: float) -> None:
        """Play the decision, and take in its reward, on [0, 1]."""
        planned = self._next_planned(among)
        if planned is not None:
            self._restore(self._before[0])
            self._cycle.remove(planned)
            memory = self._memory
        else:
            arms, written, memory = self._plans[context, among]
            self._restore(written)
            if among is None:
                self._cycle = arms[1:]
        self._accepted += 1
        self._memory = self._ready.observe(
            self._state, self._accepted, memory, pair, reward, self._random
        )
        self._forget_plans()


@dataclass(frozen=True, eq=False)
class Accepted:
    """In which rows a policy would have decided as the log did.

    Attributes
    ----------
    rows
        Whether each row is accepted.
    stuck
        For how many units the policy asked for each pair that the log never played.
    """

    rows: Bools
    stuck: Counts


def accept_rows(
    ready: Ready, log: Log, usable: Bools, seed: int, report: Callable[[float], None]
) -> Accepted:
    """Replay a policy on the usable rows; ``report`` is called with the share that is done."""
    # In a thread: Ctrl-C interrupts only the main thread, and would crash the process while
    # compiled code is given a random stream.
    stopped = Event()
    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(_replay, ready, log, usable, seed, report, stopped).result()
        finally:
            stopped.set()


def _replay(
    ready: Ready,
    log: Log,
    usable: Bools,
    seed: int,
    report: Callable[[float], None],
    stopped: Event,
) -> Accepted:
    """Replay a policy unit by unit, until all are done or it is stopped."""
    accepted = np.zeros(len(log.reward), bool)
    rows = log.by_unit()
    rows = rows[usable[rows]]
    ends = np.cumsum(np.bincount(log.unit[rows], minlength=len(log.units)))
    rewards = ready.problem.rewards
    arms = len(log.arms)
    context, arm = (part.tolist() for part in np.divmod(log.pair[rows], arms))
    pair = log.pair[rows].tolist()
    reward = ((log.reward[rows] - rewards.zero) / rewards.width).tolist()
    row_of = rows.tolist()
    sets = _sets_of(log)
    among = [sets[index] for index in log.among[rows].tolist()] if log.among is not None else None
    never = set(np.flatnonzero(~drawn_pairs(log)).tolist())
    stuck = np.zeros(log.pairs, np.int64)
    start = 0
    for unit, end in enumerate(ends.tolist()):
        random = NO_STREAM
        if ready.policy.randomised:
            random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(unit, 1)))
        player = _Player(ready, random)
        asked = set()
        for index in range(start, end):
            eligible_arms = None if among is None else among[index]
            decision = player.decide(context[index], eligible_arms)
            if decision == arm[index]:
                player.accept(context[index], eligible_arms, pair[index], reward[index])
                accepted[row_of[index]] = True
            elif never:
                asked.add(context[index] * arms + decision)
        stuck[list(asked & never)] += 1
        start = end
        if stopped.is_set():
            break
        if unit % _AT_ONCE == 0:
            report(end / max(1, len(rows)))
    report(1.0)
    return Accepted(accepted, stuck)


def _sets_of(log: Log) -> list[Arms | None]:
    """Return the sets of eligible arms, by index; None for all arms."""
    return [None if row.all() else tuple(np.flatnonzero(row).tolist()) for row in eligible(log)]


def check_rewards(ready: Ready, log: Log) -> None:
    """Refuse a reward that is impossible under the problem, or beyond `_LARGEST`."""
    large = np.abs(log.reward) > _LARGEST
    if large.any():
        row = int(large.argmax())
        raise InputError(
            f"the reward {log.reward[row]:g} is beyond {_LARGEST:g}: scale the rewards"
        ).at(("index", row))
    # Of equal pairs and rewards the first row. (One number for both sorts faster than two columns.)
    _, rewards = np.unique(log.reward, return_inverse=True)
    _, first = np.unique(rewards * log.pairs + log.pair, return_index=True)
    for row in np.sort(first).tolist():
        pair = int(log.pair[row])
        place = ("index", row), ("arm", log.pair_names[pair])
        unit_reward(ready, pair, float(log.reward[row]), *place)


def sums_by_unit(log: Log, rows: Bools | slice = np.s_[:]) -> tuple[Floats, Floats]:
    """Return each unit's sum of rewards and number of rows, in these rows or in all."""
    unit, reward, units = log.unit[rows], log.reward[rows], len(log.units)
    counts = np.bincount(unit, minlength=units).astype(np.float64)
    sums: Floats = np.bincount(unit, reward, units).astype(np.float64)
    return sums, counts
