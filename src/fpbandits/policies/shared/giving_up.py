"""When no model fits: what policies do that trust Θ, unless told to do nothing.

`nothing_fits` raises an alarm that is false, ever, with probability at most ``false_alarm``. A
policy with that option then gives up Θ for good and goes on with IMED, which is blind to it;
without it, such plays are counted.
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
"""The counter that is 1 once the models were given up."""

_COUNTED = 7.0
"""Where nothing is done about it, misfits are counted beyond this: one in a thousand is false."""


@jitted
def blind_plan(theta: Theta, state: State, cycle: Counts) -> bool:
    """Plan as IMED does, from now on; tell whether the same may follow."""
    state.counters[MISFITS] += 1
    context, arms = state.counters[CONTEXT], theta.arms
    eligible = theta.eligible[context * arms : (context + 1) * arms]
    return imed_plan(in_context(state, context, arms), cycle, theta.normal, eligible)


@jitted
def gives_up(theta: Theta, alarm: float, state: State, fit: Fit, cycle: Counts) -> bool:
    """Count it if no model fits, and then, if that is wanted, plan one play without Θ."""
    if not nothing_fits(theta, state, fit, alarm if alarm > 0 else _COUNTED):
        return False
    if alarm <= 0:
        state.counters[MISFITS] += 1
        return False
    state.counters[GIVEN_UP] = 1
    blind_plan(theta, state, cycle)
    return True


@jitted
def mark_misfits(theta: Theta, state: State, alarm: float, fit: Fit, marks: Bools) -> None:
    """Mark the models whose own means surprise by more than is allowed; see `nothing_fits`."""
    misfit, by_level = fit.lowest, fit.lowest_of  # to work in
    misfit.fill(0.0)
    for arm in range(state.plays.size):
        n, total = state.plays[arm], state.sums[arm]
        if n > 0:
            for level in range(theta.counts[arm]):
                by_level[level] = surprise(theta, n, total, theta.levels[arm, level])
            for model in range(misfit.size):
                misfit[model] += by_level[theta.codes[arm, model]]
    for model in range(misfit.size):
        marks[model] = misfit[model] > alarm + allowance(state)


@jitted
def keeps_fitting(
    theta: Theta, alarm: float, state: State, model: int, envelope: Envelope, played: int, more: int
) -> bool:
    """Tell whether a model is sure to fit by its own means during ``more`` plays of an arm.

    Its deficit n·kl(S/n, q) is jointly convex in n and S, so largest at a corner of the envelope.
    """
    deficit, most = 0.0, 0.0
    for arm in range(state.plays.size):
        n, total = state.plays[arm], state.sums[arm]
        q = theta.levels[arm, theta.codes[arm, model]]
        if arm != played:
            if n > 0:
                deficit += surprise(theta, n, total, q)
            continue
        low_plays, low_sum, high_plays, high_sum, least, largest = corners(envelope, arm, more)
        if n > 0:
            most = surprise(theta, n, total, q)
        most = max(most, surprise(theta, n + low_plays, total + low_sum, q))
        most = max(most, surprise(theta, n + high_plays, total + high_sum, q))
        most = max(most, surprise(theta, n + more, total + least, q))
        most = max(most, surprise(theta, n + more, total + largest, q))
    return bool(deficit + most + 1e-6 <= alarm + allowance(state))
