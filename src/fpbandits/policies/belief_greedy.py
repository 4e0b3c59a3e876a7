"""Belief-greedy play: the arm of least expected loss now, with no exploration.

Let p be the belief in the models, filtered if the truth changes. Play the arm of least
Σ_θ p(θ)·Δ_i(θ) in the context at hand, the first of equals.

With the problem's ``transitions`` it is the oracle of papers on truths that move by a known chain:
it knows everything but the truth, and looks one play ahead. It is no upper bound on what can be
earned, since looking further ahead may earn more. If the truth stays it can get stuck for good.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.contract import CONTEXT, Ahead, Plan, Random, State
from fpbandits.engine.policy import Contexts, Eligible
from fpbandits.policies.shared.belief import believe, expected_loss, fill_posterior
from fpbandits.policies.shared.deficit import EQUAL
from fpbandits.policies.shared.fit import Fit, new_fit
from fpbandits.policies.shared.levels import Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, weigh


class BeliefGreedyData(NamedTuple):
    """Θ by level, and how the truth changes."""

    theta: Theta
    change_rate: float
    chain: Floats | None


class BeliefGreedyWork(NamedTuple):
    """How well models fit, their posterior, and the expected loss of each arm."""

    cycle: Counts
    fit: Fit
    posterior: Floats
    loss: Floats


@dataclass(frozen=True)
class BeliefGreedy(LikelihoodPolicy):
    """Play the arm that is expected to lose least: for comparison, where the truth moves.

    Parameters
    ----------
    change_rate : float, default 0.0
        Probability that the truth is drawn anew from the prior before a play, from 0 to 1, in place
        of the problem's transitions. 0: it moves by these, and without any it never changes.
    likelihood : {"law", "means"}, default "law"
        Weigh models by the law of rewards, or, where that is not to be trusted, by means alone.

    References
    ----------
    The oracle of A. Russo, A. M. Metelli, M. Restelli: Switching Latent Bandits, TMLR 2024.
    """

    change_rate: float = 0.0

    name = "belief-greedy"
    revision = 2
    contexts = Contexts.TOGETHER
    eligible = Eligible.MARKED
    leaps = False
    prepared_type = BeliefGreedyData
    guarantee = "none"

    def workspace(self, prepared: BeliefGreedyData, pairs: int) -> BeliefGreedyWork:
        theta, cycle = prepared.theta, np.zeros(pairs, np.int64)
        posterior, loss = np.zeros(theta.prior.size), np.zeros(theta.arms)
        return BeliefGreedyWork(cycle, new_fit(theta), posterior, loss)

    @staticmethod
    def plan(
        prepared: BeliefGreedyData,
        state: State,
        workspace: BeliefGreedyWork,
        ahead: Ahead,
        random: Random,
    ) -> Plan:
        theta, cost, loss = prepared.theta, workspace.fit.deficit, workspace.loss
        weigh(theta, state, workspace.fit)
        believe(theta, theta.prior, state, cost, prepared.change_rate, prepared.chain)
        fill_posterior(cost, math.inf, workspace.posterior)
        first = state.counters[CONTEXT] * theta.arms
        expected_loss(theta, workspace.posterior, first, loss)
        workspace.cycle[0] = 0
        for arm in range(1, loss.size):
            if loss[arm] < loss[workspace.cycle[0]] * (1 - EQUAL):
                workspace.cycle[0] = arm
        return 1, 1
