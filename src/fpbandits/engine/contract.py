"""What the rules of a policy are given and return; `fpbandits.engine.policy` says how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.compiling import jitted

Plan = tuple[int, int]
"""How many arms a cycle has, and how many times it is played."""

Random = np.random.Generator
"""Where random numbers come from."""

Prepared = Any
"""The named tuple that a policy prepares: each has a type of its own, which its rules name."""

Workspace = Any
"""The named tuple that a policy's rules write to: likewise. ``cycle`` holds the arms of a plan."""

# Indices of ``State.counters``.
CLOCK = 0
"""The policy's own clock: plays, or episodes."""
ROUNDS = 1
"""How many rounds the last plan was for."""
MISFITS = 2
"""How many decisions were made while no model fitted."""
OWN = 3
"""A counter that each policy uses as it likes."""
CONTEXT = 4
"""The context that the next plan is for."""
COUNTERS = 5
"""How many counters there are."""

# Indices of ``State.drawn``: what a leap of Thompson sampling has drawn for the next plan.
BOUND = 0
"""The bound that the samples of all other arms stayed below."""
CHANCES = 1
"""From here on, each arm's chance that its sample did not."""

NO_STATISTICS = np.zeros((0, 0))
NOTHING = np.zeros(0)


class State(NamedTuple):
    """What a run or an agent has seen, and what its policy remembers.

    With contexts, what is by arm is by pair of a context and an arm: all arms in the first context,
    then all in the second, and so on.

    Attributes
    ----------
    plays, sums
        Plays and summed rewards, on [0, 1], of each arm.
    counters
        `CLOCK`, `ROUNDS`, `MISFITS`, `OWN` and `CONTEXT`.
    drawn
        `BOUND` and `CHANCES`; empty in an agent, where nothing leaps.
    statistics
        What else the reward family keeps of each arm's rewards, [arm, k]; see
        `fpbandits.families.base`. The caller adds to it; a policy only reads it.
    extra
        Further numbers of the policy's own; as many as its `extra_numbers` says.
    """

    plays: Counts
    sums: Floats
    counters: Counts
    drawn: Floats = NOTHING
    statistics: Floats = NO_STATISTICS
    extra: Floats = NOTHING


class Envelope(NamedTuple):
    """How far the rewards of a stretch of plays can stray.

    After j ≤ m more plays of an arm of true mean p, its new rewards add up to some x with
    |x − jp| ≤ √(m·``spread``) for all j ≤ m at once, except with probability 2·exp(−2·spread), by
    Hoeffding's maximal inequality; if rewards are ``bounded``, x is also in [0, j]. With an
    infinite spread only the latter holds: the worst case. Each of the family's statistics has such
    an interval around j times its ``expected`` value, [arm, k].
    """

    means: Floats
    spread: float
    bounded: bool = True
    expected: Floats = NO_STATISTICS


class Ahead(NamedTuple):
    """What a plan may look at besides the state: which plays it is for.

    Attributes
    ----------
    envelope
        Which rewards may come. None: nothing is sure, and a plan is for one round.
    plays
        How many plays the plan may be for.
    made
        How many decisions were made before, whether or not their rewards count by now.
    pending
        How many of these, of each arm, have a reward that neither counts nor was forgotten. None
        stands for zero everywhere.
    """

    envelope: Envelope | None
    plays: int
    made: int
    pending: Counts | None


class CycleOnly(NamedTuple):
    """The workspace of rules that need no more than room for the arms they choose."""

    cycle: Counts


@jitted
def in_context(state: State, context: int, arms: int) -> State:
    """Return the part of a state that belongs to one context, its counters included."""
    first, last = context * arms, (context + 1) * arms
    counters = state.counters
    if counters.size > COUNTERS:
        counters = counters[context * COUNTERS : (context + 1) * COUNTERS]
    return State(
        state.plays[first:last],
        state.sums[first:last],
        counters,
        state.drawn,
        state.statistics[first:last],
        state.extra,
    )


def of_arms(state: State, arms: Sequence[int]) -> State:
    """Return the state of these arms alone; counters and what is extra are those of all."""
    rows = list(arms)
    plays, sums, statistics = state.plays[rows], state.sums[rows], state.statistics[rows]
    return State(plays, sums, state.counters, state.drawn, statistics, state.extra)


@jitted
def count(state: State, arm: int, plays: int, total: float) -> None:
    """Count plays and add up rewards: all that most policies observe."""
    state.plays[arm] += plays
    state.sums[arm] += total
