"""What is sure about a stretch of plays: how far rewards can stray, and for how long a plan holds.

A leap plays many rounds of one cycle at once. It is right if no rewards that may come within it
could have changed a decision; the *envelope* says which rewards may come. Every stability check
looks at the corners of the envelope.
"""

from __future__ import annotations

import math

from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import ROUNDS, Ahead, Envelope, Prepared, State, Workspace
from fpbandits.engine.policy import Policy

_holds_for = Policy.holds_for


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
    """Return how many of at most ``most`` rounds are certain.

    Where there is no envelope, the check is not even compiled. What is certain for m rounds is
    certain for fewer: so double or halve from a guess, the rounds of the last plan, and bisect the
    remaining interval once. More checks would cost more than longer leaps save.
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

    Besides the start (0, 0) these are, as (plays, sum): (down, 0), where the lower limits 0 and
    jp − w cross; (up, up), where the upper limits j and jp + w cross; and at the end
    (more, least) and (more, most). Rewards without a range may stray at once: the first two are
    (0, −w) and (0, w). Returned are these two, least and most.
    """
    mean = envelope.means[arm]
    if not envelope.bounded:
        stray = math.sqrt(more * envelope.spread)
        return 0.0, -stray, 0.0, stray, more * mean - stray, more * mean + stray
    if (mean == 0 or mean == 1) and envelope.spread < math.inf:
        deviation = 0.0  # such rewards do not vary
    else:
        deviation = math.sqrt(more * envelope.spread)
    down = more if deviation >= more * mean else deviation / mean
    up = more if deviation >= more * (1 - mean) else deviation / (1 - mean)
    least = max(0.0, more * mean - deviation)
    most = min(float(more), more * mean + deviation)
    return down, 0.0, up, up, least, most


@jitted
def spare(number: float) -> float:
    """Return an allowance for rounding, for comparing a number of this size with others."""
    return 1e-15 * max(1.0, abs(number))


@jitted
def mean_ahead(state: State, envelope: Envelope, arm: int, more: int) -> tuple[float, float]:
    """Enclose an arm's observed mean while 0 … ``more`` further plays come.

    The highest mean rises as (S + j)/(n + j) until the two upper limits cross, and is monotone from
    there: so it is largest at the crossing or at the end. The lowest likewise.
    """
    plays, total = state.plays[arm], state.sums[arm]
    low_plays, low_sum, high_plays, high_sum, least, most = corners(envelope, arm, more)
    end = plays + more
    high = max((total + high_sum) / (plays + high_plays), (total + most) / end)
    low = min((total + low_sum) / (plays + low_plays), (total + least) / end)
    return low, high
