"""Thompson sampling with a Beta(1, 1) prior for each arm (Thompson 1933; Agrawal, Goyal 2012).

Draw a mean for every arm from its posterior Beta(1 + S, 1 + n − S) and play the arm with the
largest one, the first of equals. For rewards in [0, 1] that are not 0 or 1, a reward r counts as a
success with probability r, so that the posterior is that of a Bernoulli arm of the same mean. The
means of normal rewards have a flat prior, and each arm is played once to begin with.

With 0/1 rewards it can leap. Take a threshold y below the leader's mean: if the leader's draw is at
least y and all others are below, the leader is played. Over a window of m plays of the leader its
posterior is never lower than if all of them failed, so by Hoeffding's inequality (for the binomial
tail that a Beta tail is) its draw falls below y with probability at most exp(−2N(mean − y)²), N its
plays at the end; y is chosen so that this is e^−76, negligible for any horizon. Call a step an
*event* if some other arm's draw is y or more. The others' posteriors do not change during the
window, so each step is an event with the same probability q. So draw how many steps pass until the
next event, play the leader until then, and at the event draw the others' means given that one of
them is at least y.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from fpbandits.core.arrays import Counts
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import BOUND, CHANCES, OWN, Ahead, CycleOnly, Plan, Random, State
from fpbandits.policies.shared.beta_tail import draw_above, upper_tail
from fpbandits.policies.shared.blind import BlindPolicy
from fpbandits.problem.problem import Problem

_LED = OWN
"""The counter that is 1 + the leader if the next plan is an event, else 0."""

_NEGLIGIBLE = 38.0
"""Half of 76: the leader's draw is below the threshold with probability e^−76 or less per step."""

_LEAST_PLAYS = 200
"""With fewer plays of the leader its mean is too uncertain for a threshold."""


class ThompsonData(NamedTuple):
    """The number of arms, whether rewards are normal, and whether all are 0 or 1."""

    arms: int
    normal: bool
    binary: bool


class Thompson(BlindPolicy):
    """Thompson sampling, Beta(1, 1): the usual policy that is blind to Θ.

    References
    ----------
    W. R. Thompson: On the Likelihood that One Unknown Probability Exceeds Another in View of the
    Evidence of Two Samples, Biometrika 25, 1933. S. Agrawal, N. Goyal: Analysis of Thompson
    Sampling for the Multi-armed Bandit Problem, COLT 2012.
    """

    name = "thompson"
    guarantee = "E[R(T)] = (1 + o(1)) ln T Σ Δ_i/kl(μ_i, μ*) for Bernoulli rewards"
    randomised = True

    def prepare(self, problem: Problem) -> ThompsonData:
        """Return the number of arms, and whether leaps are possible."""
        rewards = problem.rewards
        return ThompsonData(len(problem.arms), not rewards.bounded, rewards.all_or_nothing)

    @staticmethod
    def plan(
        prepared: ThompsonData, state: State, workspace: CycleOnly, ahead: Ahead, random: Random
    ) -> Plan:
        leader = state.counters[_LED] - 1
        if leader >= 0:  # an event is due
            state.counters[_LED] = 0
            workspace.cycle[0] = _event(prepared, state, leader, random)
            return 1, 1
        if ahead.plays > 1 and prepared.binary:
            rounds = _leap(prepared, state, workspace.cycle, ahead.plays, random)
            if rounds > 0:
                return 1, rounds
        best, best_mean = 0, -math.inf
        for arm in range(prepared.arms):
            wins, n = state.sums[arm], state.plays[arm]
            if not prepared.normal:
                mean = random.beta(1 + wins, 1 + (n - wins))
            elif n == 0:  # nothing is known of it: it is played
                mean = math.inf
            else:
                mean = wins / n + 0.5 * random.standard_normal() / math.sqrt(n)
            if mean > best_mean:
                best, best_mean = arm, mean
        workspace.cycle[0] = best
        return 1, 1

    @staticmethod
    def observe(
        prepared: ThompsonData, state: State, arm: int, plays: int, total: float, random: Random
    ) -> None:
        # Only leaps take in several plays at once, and their rewards are all 0 or 1.
        if not prepared.normal and plays == 1 and 0.0 < total < 1.0:
            total = 1.0 if random.random() < total else 0.0
        state.plays[arm] += plays
        state.sums[arm] += total


@jitted
def _leap(prepared: ThompsonData, state: State, cycle: Counts, most: int, random: Random) -> int:
    """Fill the cycle and return for how many rounds it is played; 0 if no leap is possible."""
    leader = 0
    for arm in range(1, prepared.arms):
        if state.plays[arm] > state.plays[leader]:
            leader = arm
    n, wins = state.plays[leader], state.sums[leader]
    if n < _LEAST_PLAYS:
        return 0
    mean, rival = wins / n, 0.0
    for arm in range(prepared.arms):
        if arm != leader:
            rival = max(rival, (state.sums[arm] + 1) / (state.plays[arm] + 2))
    # A window is so long that failures alone would cost 1/32 of the lead: a longer window needs a
    # lower threshold, and then more events change nothing.
    loss = (mean - rival) / 32
    window = min(most, int(n * loss / (mean - loss)))
    if window < 2:
        return 0
    end = n + window + 1
    y = wins / end - math.sqrt(_NEGLIGIBLE / end)
    if y <= rival:
        return 0
    log_quiet, chances = 0.0, state.drawn[CHANCES:]
    for arm in range(prepared.arms):
        chances[arm] = 0.0
        if arm != leader:
            losses = state.plays[arm] - state.sums[arm]
            chances[arm] = upper_tail(state.sums[arm] + 1, losses + 1, y)
            log_quiet += math.log1p(-chances[arm])
    state.drawn[BOUND] = y
    waiting = math.inf if log_quiet == 0 else random.standard_exponential() / -log_quiet
    cycle[0] = leader
    if waiting >= window:
        return window
    if waiting < 1:
        cycle[0] = _event(prepared, state, leader, random)
        return 1
    state.counters[_LED] = leader + 1
    return int(waiting)


@jitted
def _event(prepared: ThompsonData, state: State, leader: int, random: Random) -> int:
    """Draw the others' means given that one of them is at least y; return the arm of the largest.

    Means below y are not drawn: the leader's is larger, but with probability e^−76.
    """
    y, chances = state.drawn[BOUND], state.drawn[CHANCES:]
    best, best_mean = (
        leader,
        random.beta(1 + state.sums[leader], 1 + (state.plays[leader] - state.sums[leader])),
    )
    happened = False
    for arm in range(prepared.arms):
        if arm == leader:
            continue
        chance = chances[arm]
        if not happened:
            # One of the draws that are left must be at least y.
            quiet = 0.0
            for other in range(arm, prepared.arms):
                if other != leader:
                    quiet += math.log1p(-chances[other])
            chance /= -math.expm1(quiet)
        if random.random() < chance:
            happened = True
            losses = state.plays[arm] - state.sums[arm]
            mean = draw_above(state.sums[arm] + 1, losses + 1, y, chances[arm], random)
            if mean > best_mean or (mean == best_mean and arm < best):
                best, best_mean = arm, mean
    return best
