"""When no model fits: what policies do that trust Θ, unless told to do nothing.

`nothing_fits` raises an alarm that is false, ever, with probability at most ``false_alarm``. A
policy with that option then gives up Θ for good and goes on with IMED, which is blind to it;
without it, such plays are counted.
"""

from __future__ import annotations

from typing import Any

from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import corners
from fpbandits.engine.policy import CONTEXT, MISFITS, REFERENCE, STAGE, in_context
from fpbandits.policies.imed import imed_plan
from fpbandits.policies.shared.likelihood import nothing_fits
from fpbandits.policies.shared.misfit import allowance, surprise

_COUNTED = 7.0
"""Where nothing is done about it, misfits are counted beyond this: one in a thousand is false."""


@jitted
def blind_plan(known: Any, tally: Any, scratch: Any) -> bool:
    """Plan as IMED does, from now on; tell whether the same may follow."""
    tally.counters[MISFITS] += 1
    here = in_context(tally, tally.counters[CONTEXT], known.theta.arms)
    return imed_plan(here, scratch, known.theta.normal)


@jitted
def gives_up(known: Any, tally: Any, scratch: Any, reference: int) -> bool:
    """Count it if no model fits, and then, if that is wanted, plan one play without Θ."""
    limit = known.alarm if known.alarm > 0 else _COUNTED
    if not nothing_fits(known.theta, tally, scratch, reference, limit):
        return False
    tally.counters[MISFITS] += 1
    if known.alarm <= 0:
        return False
    tally.counters[STAGE] = 1
    here = in_context(tally, tally.counters[CONTEXT], known.theta.arms)
    imed_plan(here, scratch, known.theta.normal)
    return True


@jitted
def keeps_fitting(known: Any, tally: Any, envelope: Any, scratch: Any, more: int) -> bool:
    """Tell whether the reference is sure not to raise the alarm during ``more`` plays.

    Its misfit n·kl(S/n, q) is jointly convex in n and S, so largest at a corner of the envelope.
    """
    played, reference = scratch.cycle[0], scratch.notes[REFERENCE]
    theta, misfit, most = known.theta, 0.0, 0.0
    for arm in range(tally.plays.size):
        n, total = tally.plays[arm], tally.sums[arm]
        q = theta.levels[arm, theta.codes[arm, reference]]
        if arm != played:
            if n > 0:
                misfit += surprise(theta, n, total, q)
            continue
        low_plays, low_sum, high_plays, high_sum, least, largest = corners(envelope, arm, more)
        if n > 0:
            most = surprise(theta, n, total, q)
        most = max(most, surprise(theta, n + low_plays, total + low_sum, q))
        most = max(most, surprise(theta, n + high_plays, total + high_sum, q))
        most = max(most, surprise(theta, n + more, total + least, q))
        most = max(most, surprise(theta, n + more, total + largest, q))
    return bool(misfit + most + 1e-6 <= known.alarm + allowance(tally))
