"""The types of what a policy's rules are given and return.

`fpbandits.engine.policy` lists the rules, the functions that make up a policy. A plan is a cycle of
arms that is played some times over: each time is a round. Where a plan is for many rounds, the
simulator leaps: it draws the sum of an arm's rewards at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.compiling import jitted

Plan = tuple[int, int]
"""How many arms the cycle has, and for how many rounds it is played."""

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
"""The bound that the samples of all arms but the planned one stay below."""
CHANCES = 1
"""From here on, for each arm the chance that its sample is above the bound."""

NO_STATISTICS = np.zeros((0, 0))
NOTHING = np.zeros(0)


class State(NamedTuple):
    """What a run or an agent has seen, and what its policy remembers.

    With contexts, what is said here to be of each arm is of each pair of a context and an arm: all
    arms in the first context, then all in the second, and so on.

    Attributes
    ----------
    plays, sums
        Plays of each arm, and the sum of its rewards, each mapped to [0, 1]. Normal rewards have no
        range, and are mapped so that `Envelope` holds.
    counters
        `CLOCK`, `ROUNDS`, `MISFITS`, `OWN` and `CONTEXT`; one block of them for each context if the
        policy decides in each context apart.
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
    """How far the rewards of a stretch of plays can stray, as only a simulator knows it.

    After j ≤ m more plays of an arm of true mean p, its entry of ``means``, its new rewards add up
    to some x with |x − jp| ≤ √(m·``spread``) for all j ≤ m at once, except with probability
    2·exp(−2·spread), by Hoeffding's maximal inequality; if rewards are ``bounded``, x is also in
    [0, j]. An infinite spread leaves only that: the worst case. Each of the family's statistics has
    an interval of the same width around j times its ``expected`` value, [arm, k].
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
        Which rewards may come. None: it is not known, and a plan is for one round.
    plays
        How many plays the plan may be for.
    made
        How many decisions were made before, whether or not their rewards count by now.
    pending
        How many of these decisions, of each arm, still wait for a reward that counts. Those given
        up do not. None stands for zero everywhere.
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
    """Return the part of a state that belongs to one context, its block of counters included.

    What a policy keeps in ``drawn`` and ``extra`` is for all contexts.
    """
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
    """Return an agent's state as if there were these arms alone; counters and ``extra`` stay."""
    rows = list(arms)
    plays, sums, statistics = state.plays[rows], state.sums[rows], state.statistics[rows]
    return State(plays, sums, state.counters, state.drawn, statistics, state.extra)


@jitted
def count(state: State, arm: int, plays: int, total: float) -> None:
    """Count plays and add up rewards: all that most policies observe."""
    state.plays[arm] += plays
    state.sums[arm] += total
