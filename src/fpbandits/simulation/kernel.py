"""The compiled loop: every compiled policy, every reward family, with contexts or without.

A policy's rules are found by the type of ``prepared`` and compiled into the loop. Rewards of all
families are drawn from one type, `Law`, and the number of contexts is a value, not a type: so a
policy is compiled once, whatever it plays, unless users add families. Nothing is validated here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.compiling import HELPER, compiled, jitted
from fpbandits.engine.contract import CONTEXT, Ahead, in_context
from fpbandits.engine.policy import Policy
from fpbandits.families import FAMILIES, RewardFamily
from fpbandits.families.two_point import TwoPoint

_NEVER = 2**62
"""A time that no run reaches."""

_plan, _observe = Policy.plan, Policy.observe

# Indices of the progress array, which a loop shares with the thread that watches it.
TIME = 0
"""How many plays of the run under way have been made."""
STOP = 1
"""Not 0: end the run under way."""
RUNS = 2
"""How many runs are finished."""
END = 3
"""T, the plays of a run."""


def new_progress() -> Counts:
    """Return a progress array of zeros."""
    return np.zeros(4, np.int64)


class Law(NamedTuple):
    """What rewards are drawn from: the index of a family, and what its `law` returns."""

    family: int
    numbers: Floats


def law_of(rewards: RewardFamily) -> Law:
    """Return the law of every arm under the first model of a family."""
    families = _families()
    kind: Any = Law if families == _FAMILIES else _law_type(families)
    law: Law = kind(families.index(type(rewards)), rewards.law(0))
    return law


def _families() -> tuple[type[RewardFamily], ...]:
    """Return all families that rewards may be drawn from, those that users added included."""
    return (*FAMILIES.values(), TwoPoint)


_FAMILIES = _families()


@cache
def _law_type(families: tuple[type[RewardFamily], ...]) -> type[NamedTuple]:
    """Return a type for laws where families were added: loops are compiled again for it."""
    # The module is not the package's, so loops compiled for this type are not cached on disk, where
    # another process with other families might find them.
    name = f"Law{len(_draw_by_type)}"
    kind = type(name, (Law,), {"__module__": "added families"})
    _draw_by_type[kind] = _draw_from_any(families)
    return kind


def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
    """Draw the sum of ``plays`` rewards of an arm, and add to its statistics."""
    raise NotImplementedError


@overload(draw_sum, strict=False, jit_options=HELPER)
def _choose_draw_sum(law: Any, *others: Any) -> Any:
    """Return the `draw_sum` for the type of a law; None, which Numba refuses, for other types."""
    return _draw_by_type.get(getattr(law, "instance_class", type(None)))


def _draw_from_any(families: tuple[type[RewardFamily], ...]) -> Callable[..., float]:
    """Return a function that draws from the family that a law names, whichever of these it is."""
    draw: Callable[..., float] = jitted(_no_draw)
    for number, family in reversed([*enumerate(families)]):
        draw = _draw_from_this_or(number, jitted(family.draw_sum), draw)
    return draw


def _draw_from_this_or(
    number: int, draw: Callable[..., float], others: Callable[..., float]
) -> Callable[..., float]:
    """Return a function that calls ``draw`` for the family of this number, else ``others``."""

    def choose(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
        if law.family == number:
            return draw(law.numbers, arm, plays, random, statistics)
        return others(law, arm, plays, random, statistics)

    chosen: Callable[..., float] = jitted(choose)
    return chosen


def _no_draw(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
    return math.nan


_draw_by_type: dict[type, Callable[..., float]] = {Law: _draw_from_any(_FAMILIES)}
"""The compiled `draw_sum` of each type of law."""


@compiled
def play(
    prepared: Any,
    state: Any,
    law: Any,
    envelope: Any,
    workspace: Any,
    random: Any,
    times: Any,
    starts: Any,
    rows: Any,
    stages: Any,
    longest: int,
    upto: Any,
    apart: bool,
    progress: Any,
    pulls: Any,
) -> int:
    """Play one run and fill ``pulls``; return how many plans it took.

    Parameters
    ----------
    times, pulls
        The recorded times, increasing, the last of which ends the run; pulls[i, pair] is the number
        of plays of a pair up to times[i], and 0 at first.
    starts, rows
        The truth may change: after ``starts[stage]`` plays it is row ``rows[stage]``, one of the
        possible truths. ``law`` has the pairs of all rows one after another, as if they were the
        arms of one model. If ``pulls`` has columns for all rows, plays are counted by row.
    stages, envelope
        The envelope of all rows, and that of the present one, which is overwritten at each change.
    longest
        A plan covers at most this many plays, or one round where its cycle is longer. With 1, each
        round is planned anew. With several contexts it must be 1.
    upto, apart
        Cumulative shares of the contexts, and whether each is a bandit of its own.
    progress
        ``progress[TIME]`` shows the time that has been reached. Setting ``progress[STOP]`` ends the
        run early, and it returns −1.
    """
    t, recorded, plans = 0, 0, 0
    pairs, contexts, columns = state.plays.size, upto.size, pulls.shape[1]
    arms = pairs // contexts
    stage, change, law_at = 0, _next_start(starts, 0), rows[0] * pairs
    counted_at = law_at % columns  # 0 if ``pulls`` does not count by row
    counts = pulls[0]
    while True:
        first, here = enter_context(state, upto, apart, arms, random)
        budget = min(longest, min(times[recorded], change) - t)
        ahead = Ahead(envelope, budget, t, None)
        length, rounds = _plan(prepared, here, workspace, ahead, random)
        plans += 1
        if contexts > 1:
            length = 1  # the next context is not known yet
        for place in range(length):
            arm = workspace.cycle[place]
            pair = first + arm
            total = draw_sum(law, law_at + pair, rounds, random, state.statistics[pair])
            _observe(prepared, here, arm if apart else pair, rounds, total, random)
            counts[counted_at + pair] += rounds
            t += rounds
            if t == change:
                stage += 1
                change, law_at = _next_start(starts, stage), rows[stage] * pairs
                counted_at = law_at % columns
                for column in range(pairs):
                    envelope.means[column] = stages.means[law_at + column]
                    for k in range(envelope.expected.shape[1]):
                        envelope.expected[column, k] = stages.expected[law_at + column, k]
            # A recorded time, or a change, may fall inside a cycle only if ``rounds`` is 1.
            if t == times[recorded]:
                recorded += 1
                if recorded == times.size:
                    return plans
                counts = pulls[recorded]
                for column in range(columns):
                    counts[column] = pulls[recorded - 1, column]
        progress[TIME] = t
        if progress[STOP] != 0:
            return -1


@compiled
def play_late(
    prepared: Any,
    state: Any,
    law: Any,
    workspace: Any,
    random: Any,
    times: Any,
    starts: Any,
    upto: Any,
    apart: bool,
    schedule: Any,
    late: Any,
    progress: Any,
    pulls: Any,
) -> int:
    """Do as `play`, step by step, where rewards become known as a `Schedule` says.

    Here ``law`` has one row per stage, in their order, and plays are not counted by row. ``late``
    is a `Late` that holds nothing yet.
    """
    t, recorded, plans, arrived = 0, 0, 0, 0
    pairs, contexts = pulls.shape[1], upto.size
    arms, stage, change = pairs // contexts, 0, _next_start(starts, 0)
    place, length, pending = 0, 0, late.pending
    while True:
        first, here = enter_context(state, upto, apart, arms, random)
        if contexts > 1:
            place = length  # a plan is for one context
            if apart:
                pending = late.pending[first : first + arms]
        if place == length:
            ahead = Ahead(None, 1, t, pending)
            place, length = 0, _plan(prepared, here, workspace, ahead, random)[0]
            plans += 1
        pair = first + workspace.cycle[place]
        place += 1
        late.rewards[t] = draw_sum(law, stage * pairs + pair, 1, random, late.statistics[t])
        late.pairs[t] = pair
        late.pending[pair] += 1
        late.made[pair] += 1
        t += 1
        while arrived < schedule.known[t]:
            number = schedule.order[arrived]
            arrived += 1
            pair = late.pairs[number]
            late.pending[pair] -= 1
            for k in range(late.statistics.shape[1]):
                state.statistics[pair, k] += late.statistics[number, k]
            if apart:
                there, arm = in_context(state, pair // arms, arms), pair % arms
                _observe(prepared, there, arm, 1, late.rewards[number], random)
            else:
                _observe(prepared, state, pair, 1, late.rewards[number], random)
        if t == change:
            stage += 1
            change = _next_start(starts, stage)
        if t == times[recorded]:
            for column in range(pairs):
                pulls[recorded, column] = late.made[column]
            recorded += 1
            if recorded == times.size:
                return plans
        progress[TIME] = t
        if progress[STOP] != 0:
            return -1


class Late(NamedTuple):
    """Decisions whose rewards may come late.

    Attributes
    ----------
    pairs, rewards, statistics
        The pair, the reward and the statistics of each decision.
    pending, made
        How many decisions of each pair are pending, and how many were made.
    """

    pairs: Counts
    rewards: Floats
    statistics: Floats
    pending: Counts
    made: Counts


def new_late(horizon: int, statistics: int, pairs: int) -> Late:
    """Return a `Late` without decisions."""
    counts = np.zeros((2, pairs), np.int64)
    decisions = np.zeros(horizon, np.int64), np.zeros(horizon), np.zeros((horizon, statistics))
    return Late(*decisions, *counts)


@jitted
def enter_context(state: Any, upto: Any, apart: bool, arms: int, random: Any) -> tuple[int, Any]:
    """Draw the context of the next decision, if there are several.

    Return the first of its pairs, and the part of the state that the policy decides by.
    """
    if upto.size == 1:
        return 0, state
    context, drawn = 0, random.random()
    while context < upto.size - 1 and drawn >= upto[context]:
        context += 1
    if apart:
        return context * arms, in_context(state, context, arms)
    state.counters[CONTEXT] = context
    return context * arms, state


@jitted
def _next_start(starts: Any, stage: int) -> int:
    """Return when the stage after this one begins; `_NEVER` after the last."""
    return starts[stage + 1] if stage + 1 < starts.size else _NEVER
