"""The compiled loops: every compiled policy, every reward family, stepwise and leaping.

`play` is for one bandit, `play_in_contexts` for one whose decisions each have a context.

The policy's `plan` and `observe` and the reward law's draw are found by the types of ``known``
and ``law`` and compiled into the loop. Nothing is validated here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from fpbandits.arrays import Counts
from fpbandits.families import FAMILIES, RewardFamily
from fpbandits.families.two_point import TwoPoint
from fpbandits.policies.base import CONTEXT, REFERENCE, in_context
from fpbandits.policies.compiling import COMPILED, compiled, jitted, observe, plan
from fpbandits.policies.envelope import sure_of_nothing

_NEVER = 2**62

TIME, STOP, RUNS, END = range(4)
"""What a meter shows: the time in the run under way, whether to stop, runs finished, and T."""


def new_meter() -> Counts:
    """Return a meter for someone who plays runs, and those who watch."""
    return np.zeros(4, np.int64)


def draw_sum(law: Any, arm: int, plays: int, random: Any, statistics: Any) -> float:
    """Draw the sum of ``plays`` rewards of an arm, and add to its statistics."""
    raise NotImplementedError


@overload(draw_sum, strict=False, jit_options=COMPILED)
def _choose_draw_sum(law: Any, *others: Any) -> Any:
    kind = getattr(law, "instance_class", None)
    families: list[type[RewardFamily]] = [*FAMILIES.values(), TwoPoint]
    return next((family.draw_sum for family in families if family.law_type is kind), None)


@compiled
def play(
    known: Any,
    tally: Any,
    law: Any,
    envelope: Any,
    scratch: Any,
    random: Any,
    times: Any,
    starts: Any,
    stages: Any,
    longest: int,
    meter: Any,
    pulls: Any,
) -> int:
    """Play one run and fill pulls[time, arm]; return how many plans it took.

    A plan covers at most ``longest`` plays, or one round where its cycle is longer: 1 never leaps.
    The truth may change: after ``starts[stage]`` plays it is that of this stage, whose laws stand
    behind those of the stages before; ``stages`` is the envelope of all, ``envelope`` that of now.
    ``meter[TIME]`` shows the time that has been reached; whoever sets ``meter[STOP]`` ends the run
    early, and it returns −1.
    """
    t = 0
    recorded = 0
    plans = 0
    arms = pulls.shape[1]
    stage, offset, change = 0, 0, _next(starts, 0)
    while True:
        budget = min(longest, min(times[recorded], change) - t)
        length, rounds = plan(known, tally, envelope, scratch, budget, random)
        plans += 1
        for place in range(length):
            arm = scratch.cycle[place]
            total = draw_sum(law, offset + arm, rounds, random, tally.statistics[arm])
            observe(known, tally, arm, rounds, total, random)
            t += rounds
            if t == change:
                stage += 1
                offset, change = stage * arms, _next(starts, stage)
                for arm in range(arms):
                    envelope.means[arm] = stages.means[offset + arm]
                    for k in range(envelope.expected.shape[1]):
                        envelope.expected[arm, k] = stages.expected[offset + arm, k]
            # It may fall inside the cycle, if that is played just once.
            if t == times[recorded]:
                for arm in range(arms):
                    pulls[recorded, arm] = tally.plays[arm]
                recorded += 1
                if recorded == times.size:
                    return plans
        meter[TIME] = t
        if meter[STOP] != 0:
            return -1


@jitted
def _next(starts: Any, stage: int) -> int:
    """Return when the stage after this one begins: never, after the last."""
    return starts[stage + 1] if stage + 1 < starts.size else _NEVER


@compiled
def play_in_contexts(
    known: Any,
    tally: Any,
    law: Any,
    scratch: Any,
    random: Any,
    times: Any,
    starts: Any,
    upto: Any,
    apart: bool,
    meter: Any,
    pulls: Any,
) -> int:
    """Play one run step by step, each step in a context of its own; fill pulls[time, pair].

    Of a uniform draw, what is below ``upto[context]``, and not below that of the context before,
    makes that context. With ``apart`` each context is a bandit of its own. Returned is how many
    steps there were, or −1 if someone stopped it.
    """
    pairs = pulls.shape[1]
    arms = pairs // upto.size
    recorded, stage = 0, 0
    scratch.notes[REFERENCE] = 0  # what was played before must not matter, not by a bit
    for t in range(1, times[-1] + 1):
        if t > _next(starts, stage):
            stage += 1
        drawn, context = random.random(), 0
        while context < upto.size - 1 and drawn >= upto[context]:
            context += 1
        here = tally
        if apart:
            here = in_context(tally, context, arms)
        else:
            tally.counters[CONTEXT] = context
        plan(known, here, sure_of_nothing(here), scratch, 1, random)
        arm = scratch.cycle[0]
        pair = context * arms + arm
        total = draw_sum(law, stage * pairs + pair, 1, random, tally.statistics[pair])
        observe(known, here, arm if apart else pair, 1, total, random)
        if t == times[recorded]:
            for column in range(pairs):
                pulls[recorded, column] = tally.plays[column]
            recorded += 1
        if t % 1024 == 0:
            meter[TIME] = t
            if meter[STOP] != 0:
                return -1
    return int(times[-1])
