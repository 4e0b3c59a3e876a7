"""What is sure about a stretch of plays: how far rewards can stray, and for how long a plan holds.

A plan is a cycle of arms, and a round plays it once. A leap plays many rounds at once. It is right
if no rewards that may come within it could have changed a decision; the *envelope* says which
rewards may come, but for a negligible probability (`Envelope`). Every stability check, which is a
policy's `holds_for`, looks at the corners of the envelope.
"""

from __future__ import annotations

import math

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import ROUNDS, Ahead, Envelope, Prepared, State, Workspace
from fpbandits.engine.policy import Policy

_holds_for = Policy.holds_for
"""In compiled code this is the check of the policy that made ``prepared``
(`fpbandits.engine.compiling`)."""


@jitted
def certain_rounds(
    prepared: Prepared, state: State, workspace: Workspace, ahead: Ahead, length: int = 1
) -> int:
    """Return for how many rounds a plan of ``length`` arms is sure to hold, or up to 1/3 fewer."""
    return _certain_rounds(prepared, state, workspace, ahead.envelope, ahead.plays // length)


@jitted
def _certain_rounds(
    prepared: Prepared, state: State, workspace: Workspace, envelope: Envelope | None, most: int
) -> int:
    """Return how many of at most ``most`` rounds are certain. The first always is: it is the plan.

    ``envelope`` is an argument of its own, so that without one the check is not even compiled. What
    is certain for m rounds is certain for fewer: so double or halve from a guess, the rounds of the
    last plan, and bisect the remaining interval once. More checks would cost more than longer leaps
    save.
    """
    if envelope is None:
        return 1
    if most <= 1:
        return 1
    sure, unsure = 1, most + 1
    rounds = min(most, max(2, state.counters[ROUNDS]))
    last = False
    while not last:
        last = not sure < rounds < unsure
        if last:
            rounds = (sure + unsure) // 2
            if rounds == sure:
                break
        # Called in one place only: the check is long, and each call would compile another copy.
        if _holds_for(prepared, state, workspace, envelope, rounds):
            sure = rounds
            rounds = min(2 * rounds, most)
        else:
            unsure = rounds
            rounds //= 2
    state.counters[ROUNDS] = sure
    return sure


@jitted
def corners(
    envelope: Envelope, arm: int, more: int
) -> tuple[float, float, float, float, float, float]:
    """Return the corners of what up to ``more`` rewards of an arm can add up to.

    After j of these plays, for an arm of true mean p, the sum is within jp ± w, with the same w for
    all j, and within 0 and j if rewards are in [0, 1]. Besides the start (0, 0) the corners are, as
    (plays, sum): (down, 0), where the lower limits 0 and jp − w cross; (up, up), where the upper
    limits j and jp + w cross; and at the end (more, least) and (more, most). Rewards without a
    range may stray at once: the first two are (0, −w) and (0, w). Returned are these two, least and
    most.
    """
    mean = envelope.means[arm]
    if not envelope.bounded:
        w = math.sqrt(more * envelope.spread)
        return 0.0, -w, 0.0, w, more * mean - w, more * mean + w
    if (mean == 0 or mean == 1) and envelope.spread < math.inf:
        w = 0.0  # such rewards do not vary; in the worst case, an infinite spread, all may
    else:
        w = math.sqrt(more * envelope.spread)
    down = more if w >= more * mean else w / mean
    up = more if w >= more * (1 - mean) else w / (1 - mean)
    least = max(0.0, more * mean - w)
    most = min(float(more), more * mean + w)
    return down, 0.0, up, up, least, most


@jitted
def spare(number: float) -> float:
    """Return an allowance for some four roundings of a number of this size."""
    return 1e-15 * max(1.0, abs(number))


@jitted
def mean_ahead(state: State, envelope: Envelope, arm: int, more: int) -> tuple[float, float]:
    """Enclose the observed mean of an arm that was played, while 0 … ``more`` further plays come.

    The highest mean rises as (S + j)/(n + j) until the two upper limits cross, and is monotone from
    there: so it is largest at the crossing or at the end. The lowest likewise.
    """
    plays, total = state.plays[arm], state.sums[arm]
    low_plays, low_sum, high_plays, high_sum, least, most = corners(envelope, arm, more)
    end = plays + more
    high = max((total + high_sum) / (plays + high_plays), (total + most) / end)
    low = min((total + low_sum) / (plays + low_plays), (total + least) / end)
    return low, high
