"""What policies that use Θ do when no model fits.

`nothing_fits` raises an alarm. The probability that a false one is ever raised is at most
``false_alarm``. After an alarm a policy gives up Θ for good and goes on with IMED, which does not
use Θ. If ``false_alarm`` is 0, a policy goes on as before, and such plays are counted as misfits.
"""

from __future__ import annotations

from fpbandits.core.arrays import Bools, Counts
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import CONTEXT, MISFITS, OWN, Envelope, State, in_context
from fpbandits.engine.envelope import corners
from fpbandits.policies.imed import imed_plan
from fpbandits.policies.shared.deficit import allowance, surprise
from fpbandits.policies.shared.fit import Fit
from fpbandits.policies.shared.levels import Theta
from fpbandits.policies.shared.likelihood import nothing_fits

GIVEN_UP = OWN
"""The counter that is 1 once the models were given up, and 0 before."""

_COUNTED = 7.0
"""The alarm beyond which misfits are counted if ``false_alarm`` is 0: e⁻⁷ is one in a thousand."""


@jitted
def plan_without_models(theta: Theta, state: State, cycle: Counts) -> bool:
    """Count a misfit, and plan as IMED does; tell whether the same arm may follow."""
    state.counters[MISFITS] += 1
    context, arms = state.counters[CONTEXT], theta.arms
    eligible = theta.eligible[context * arms : (context + 1) * arms]
    return imed_plan(in_context(state, context, arms), cycle, theta.normal, eligible)


@jitted
def gives_up(theta: Theta, alarm: float, state: State, fit: Fit, cycle: Counts) -> bool:
    """Count a misfit if no model fits; with an ``alarm``, give up Θ and plan one play by IMED.

    Returns whether a play was planned. ``alarm`` is −ln of ``false_alarm``, or 0 for none.
    """
    if not nothing_fits(theta, state, fit, alarm if alarm > 0 else _COUNTED):
        return False
    if alarm <= 0:
        state.counters[MISFITS] += 1
        return False
    state.counters[GIVEN_UP] = 1
    plan_without_models(theta, state, cycle)
    return True


@jitted
def mark_unfit(theta: Theta, state: State, alarm: float, fit: Fit, marks: Bools) -> None:
    """Mark the models whose means surprise by more than is allowed; see `nothing_fits`.

    Overwrites ``fit.lowest`` and ``fit.lowest_of``, which nobody reads before the next `bracket`.
    """
    total_surprise, by_level = fit.lowest, fit.lowest_of
    total_surprise.fill(0.0)
    for arm in range(state.plays.size):
        n, total = state.plays[arm], state.sums[arm]
        if n > 0:
            for level in range(theta.counts[arm]):
                by_level[level] = surprise(theta, n, total, theta.levels[arm, level])
            for model in range(total_surprise.size):
                total_surprise[model] += by_level[theta.codes[arm, model]]
    for model in range(total_surprise.size):
        marks[model] = total_surprise[model] > alarm + allowance(state)


@jitted
def keeps_fitting(
    theta: Theta, alarm: float, state: State, model: int, envelope: Envelope, played: int, more: int
) -> bool:
    """Tell whether a model is sure not to be marked as unfit during ``more`` plays of an arm.

    The surprise n·kl(S/n, q) of the arm ``played`` is jointly convex in n and S, so it is largest
    at a corner of the envelope. 1e-6 is to spare for rounding.
    """
    of_others, largest = 0.0, 0.0
    for arm in range(state.plays.size):
        n, total = state.plays[arm], state.sums[arm]
        q = theta.levels[arm, theta.codes[arm, model]]
        if arm != played:
            if n > 0:
                of_others += surprise(theta, n, total, q)
            continue
        low_plays, low_sum, high_plays, high_sum, least_sum, most_sum = corners(envelope, arm, more)
        if n > 0:
            largest = surprise(theta, n, total, q)
        largest = max(largest, surprise(theta, n + low_plays, total + low_sum, q))
        largest = max(largest, surprise(theta, n + high_plays, total + high_sum, q))
        largest = max(largest, surprise(theta, n + more, total + least_sum, q))
        largest = max(largest, surprise(theta, n + more, total + most_sum, q))
    return bool(of_others + largest + 1e-6 <= alarm + allowance(state))
