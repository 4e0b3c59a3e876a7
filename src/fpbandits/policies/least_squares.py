"""Greedy least squares, after WAGP (Atan, Tekin, van der Schaar 2015): a greedy baseline.

Play the best arm of the model that fits best, θ̂ = argmin_θ Σ_i n_i (μ̂_i − μ_i(θ))², the first of
equals. The original is for a global parameter that every arm identifies, where greedy play is
enough. With a finite Θ arms need not identify it, and then greedy play can get stuck for ever. No
guarantee is claimed.

The cycle is one arm. It is sure to be repeated if every model with another best arm is sure to fit
worse than the reference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fpbandits.engine.contract import Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds
from fpbandits.engine.policy import Eligible
from fpbandits.policies.shared.fit import FitOnly, new_fit
from fpbandits.policies.shared.levels import Theta, ThetaPolicy, theta
from fpbandits.policies.shared.likelihood import bracket, compare, stays_best
from fpbandits.problem.problem import Problem


class LeastSquaresData(NamedTuple):
    """Θ by level; at mean q a reward of 1 costs (1 − q)², one of 0 costs q²."""

    theta: Theta


class LeastSquares(ThetaPolicy):
    """The best arm of the model that fits best.

    References
    ----------
    O. Atan, C. Tekin, M. van der Schaar: Global Multi-armed Bandits with Hölder Continuity, AISTATS
    2015.
    """

    name = "least-squares"
    eligible = Eligible.MARKED
    guarantee = "none claimed; it gets stuck where its arm does not tell models apart"

    def prepare(self, problem: Problem) -> LeastSquaresData:
        """Sort Θ into levels."""
        sorted_theta = theta(problem)
        q = sorted_theta.levels
        return LeastSquaresData(sorted_theta._replace(win=(1 - q) ** 2, loss=q**2))

    def workspace(self, prepared: LeastSquaresData, pairs: int) -> FitOnly:
        return FitOnly(np.zeros(pairs, np.int64), new_fit(prepared.theta))

    @staticmethod
    def plan(
        prepared: LeastSquaresData, state: State, workspace: FitOnly, ahead: Ahead, random: Random
    ) -> Plan:
        theta, fit = prepared.theta, workspace.fit
        for arm in range(theta.arms):
            n, total = state.plays[arm], state.sums[arm]
            for level in range(theta.counts[arm]):
                if n > 0:
                    off = total / n - theta.levels[arm, level]
                    fit.by_level[arm, level] = n * (off * off)
        workspace.cycle[0] = theta.best[0, compare(theta, state, fit)]
        return 1, certain_rounds(prepared, state, workspace, ahead)

    @staticmethod
    def holds_for(
        prepared: LeastSquaresData,
        state: State,
        workspace: FitOnly,
        envelope: Envelope,
        rounds: int,
    ) -> bool:
        bracket(prepared.theta, envelope, workspace.fit, workspace.cycle, 1, rounds - 1)
        return stays_best(prepared.theta, workspace.fit, workspace.cycle[0])
