"""The posterior over models: exact Bayes, from counts, sums and statistics of the rewards.

After rewards r_1 … r_n of the arms i_1 … i_n the posterior of a model is

    p(θ) = π(θ)·Π_t P_{i_t}(r_t; θ) / Σ_φ π(φ)·Π_t P_{i_t}(r_t; φ),

π the prior, equal for all models if the problem has none. How the arms were chosen cancels. The
log-likelihood is linear in what a family keeps of an arm's rewards (`fpbandits.families.base`), so
one product of a vector with a matrix weighs all models.

If the truth moves, `fpbandits.problem.chain` has the definition.

A reward of a Bernoulli problem may lie between 0 and 1: it counts by its mean, as r·ln μ +
(1 − r)·ln(1 − μ).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.errors import ConflictError, InputError, quote, wrong_type
from fpbandits.families.information import IMPOSSIBLE, minus_log
from fpbandits.problem.chain import Filter
from fpbandits.problem.rewards import unit_reward

if TYPE_CHECKING:
    from fpbandits.problem.problem import Problem

Play = tuple[str, float] | tuple[str, float, str | None]
"""An arm, its reward in the user's units and, if the problem has contexts, the context."""


class Posterior:
    """Weighs the models of a problem.

    Attributes
    ----------
    prior
        π(θ), in order.
    moves
        The chain by which the truth moves, [from, to]; no rows if it stays.
    """

    def __init__(self, problem: Problem) -> None:
        rewards, models = problem.rewards, len(problem.models)
        self.prior = np.array(problem.prior or [1 / models] * models)
        self.moves = np.array(problem.transitions or np.zeros((0, 0)))
        with np.errstate(divide="ignore"):
            self._prior_cost = -np.log(self.prior)
            costs = rewards.costs()
            self._by_sums = costs is None
            if costs is None:
                failure = np.minimum(-np.log1p(-rewards.unit_means), IMPOSSIBLE)
                table = np.stack([failure, minus_log(rewards.unit_means)], axis=2)
            else:
                table = np.concatenate([costs[0][:, :, np.newaxis], costs[1]], axis=2)
        self._numbers = table.shape[2]
        table = table.reshape(models, -1)
        # Costs are −log-likelihoods. What all models share cancels: an arm on which they agree then
        # counts for exactly 0.
        common = table.min(axis=0)
        self._costs = np.ascontiguousarray((table - np.where(common < IMPOSSIBLE, common, 0)).T)

    def of(self, plays: Counts, sums: Floats, statistics: Floats) -> Floats:
        """Return p(θ) for every θ, from plays, sums and statistics by pair, on [0, 1]."""
        numbers = np.empty((len(plays), self._numbers))
        if self._by_sums:
            np.subtract(plays, sums, out=numbers[:, 0])
            numbers[:, 1] = sums
        else:
            numbers[:, 0] = plays
            numbers[:, 1:] = statistics
        cost = numbers.reshape(-1) @ self._costs
        cost += self._prior_cost
        least = np.minimum.reduce(cost)  # for few models, faster than cost.min()
        if least >= 1e-12 * IMPOSSIBLE:  # a reward between 0 and 1 counts as a part of a 1
            raise ConflictError(
                "there is no posterior: every model that the prior allows rules out some of the "
                "rewards, so the models are wrong"
            )
        np.subtract(least, cost, out=cost)
        posterior: Floats = np.exp(cost, out=cost)
        posterior /= np.add.reduce(posterior)
        return posterior

    def cost_of(self, pair: int, reward: float, statistics: tuple[float, ...]) -> Floats:
        """Return −ln of how likely one reward is under every θ, less what all have in common."""
        numbers = (1 - reward, reward) if self._by_sums else (1.0, *statistics)
        first = pair * self._numbers
        cost: Floats = np.array(numbers) @ self._costs[first : first + self._numbers]
        return cost


class Evidence:
    """Rewards by pair: how many, their sums and their statistics, on [0, 1].

    If the truth moves, rewards must be added in the order of plays.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._filter = None if problem.transitions is None else Filter(problem)
        self.plays = np.zeros(problem.pairs, np.int64)
        self.sums = np.zeros(problem.pairs)
        self.statistics = np.zeros((problem.pairs, problem.rewards.statistics))

    def add(self, arm: str, reward: float, context: str | None = None) -> None:
        """Add one reward, in the user's units."""
        problem, place = self._problem, ("arm", str(arm))
        pair = problem.pair_index(arm, context)
        unit = unit_reward(problem.rewards, reward, place)
        try:
            statistics = problem.rewards.statistics_of(pair, unit)
        except InputError as error:
            raise InputError(f"the reward {error.reason}, so no model allows it").at(
                place
            ) from None
        if self._filter is not None:
            self._filter.count(int(self.plays.sum()), pair, unit, statistics)
        self.plays[pair] += 1
        self.sums[pair] += unit
        self.statistics[pair] += statistics

    def posterior(self) -> dict[str, float]:
        """Return the probability of each model."""
        if self._filter is not None:
            weights = self._filter.at(int(self.plays.sum()))
        else:
            weights = self._problem.weights.of(self.plays, self.sums, self.statistics)
        return dict(zip(self._problem.models, weights.tolist(), strict=True))


def evidence_of(problem: Problem, plays: Iterable[Play]) -> Evidence:
    """Return the evidence of some plays, or an error that names the play that is none."""
    evidence = Evidence(problem)
    if not isinstance(plays, Iterable) or isinstance(plays, str):
        raise wrong_type("plays", plays, "a list with an arm and its reward for each play")
    for index, play in enumerate(plays):
        try:
            if isinstance(play, str):
                raise TypeError
            evidence.add(*play)
        except TypeError:
            wanted = "an arm and its reward, then the context if there are any"
            raise InputError(f"a play is {wanted}, not {quote(play)}").at(
                ("index", index)
            ) from None
        except InputError as error:
            raise error.at(("index", index)) from None
    return evidence
