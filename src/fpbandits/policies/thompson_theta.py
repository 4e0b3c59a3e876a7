"""Thompson sampling on Θ (Gopalan, Mannor, Mansour 2014): play the best arm of a model drawn.

The posterior of a model is its prior times e^{ℓ(θ)}, normalised. Draw a model from it and play its
best arm in the context at hand. The prior is uniform, or given by the models' names. Regret is
heavy-tailed: look at quantiles.

Leaps are by thinning. Call the arm that carries most posterior mass the leader. While it alone is
played, the odds that another arm is drawn stay below some q, which follows from a bracket of every
model's deficit. Let each step be a *candidate* with probability q. Draw how many steps pass until
the first candidate, and play the leader up to there. The candidate is a real change with
probability (chance of another arm)/q: then a model with another best arm is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote as escaped
from urllib.parse import unquote

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.checks import is_real, plain_text
from fpbandits.engine.compiling import jitted
from fpbandits.engine.contract import BOUND, CONTEXT, OWN, Ahead, Envelope, Plan, Random, State
from fpbandits.engine.envelope import certain_rounds
from fpbandits.engine.policy import Contexts, Eligible, Reasons
from fpbandits.errors import InputError, quote
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.belief import believe
from fpbandits.policies.shared.fit import Fit, minimum, new_fit
from fpbandits.policies.shared.levels import Theta
from fpbandits.policies.shared.likelihood import LikelihoodPolicy, bracket, weigh
from fpbandits.problem.problem import Problem

_LED = OWN
"""The counter that is 1 + the leader if the next plan is a candidate, else 0."""

_LARGEST = float(np.finfo(float).max)
"""The largest weight of a prior."""


class ThompsonThetaData(NamedTuple):
    """Θ by level, −ln of the policy's prior, and how the truth changes."""

    theta: Theta
    cost: Floats
    change_rate: float
    chain: Floats | None


class ThompsonThetaWork(NamedTuple):
    """How well models fit, and by arm the posterior mass of the models whose best arm it is."""

    cycle: Counts
    fit: Fit
    mass: Floats


@dataclass(frozen=True)
class ThompsonTheta(LikelihoodPolicy):
    """Thompson sampling from the posterior over models.

    Parameters
    ----------
    prior : mapping, default None
        Weights of models by name, 0 or more, for instance {"loyal": 3, "thrifty": 1}; others have
        0. In words prior=loyal=3,thrifty=1. None: the problem's own prior, and if it has none, all
        alike.
    change_rate : float, default 0.0
        Probability that the truth is drawn anew from the prior before a play, from 0 to 1, in place
        of the problem's transitions. 0: it moves by these, and without any it never changes.
    likelihood : {"law", "means"}, default "law"
        Weigh models by the law of rewards, or, where that is not to be trusted, by means alone.

    References
    ----------
    A. Gopalan, S. Mannor, Y. Mansour: Thompson Sampling for Complex Online Problems, ICML 2014.
    """

    prior: Any = None  # made a tuple of names and weights, whatever mapping or word is given
    change_rate: float = 0.0

    name = "thompson-theta"
    revision = 2
    knows = "Θ: what every arm pays under every model; optionally a prior"
    guarantee = "O(log T) with high probability (Gopalan et al. 2014)"
    randomised = True
    contexts = Contexts.TOGETHER
    eligible = Eligible.MARKED

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior is None:
            return
        given = _read(self.prior) if isinstance(self.prior, str) else self.prior
        try:
            weights = dict(given)
        except (TypeError, ValueError):
            raise InputError(
                f"a prior gives weights by name, as {{'theta1': 3, 'theta2': 1}}, not "
                f"{quote(self.prior)}"
            ).at(self.name) from None
        for model, weight in weights.items():
            if not isinstance(model, str):
                raise InputError(
                    f"a prior names models by texts, not by {quote(model)}", place=(self.name,)
                )
            if not is_real(weight) or not 0 <= weight <= _LARGEST:
                raise InputError(
                    f"the prior of {quote(model)} is {quote(weight)}: it must be a "
                    "number, 0 or more"
                ).at(self.name)
        names = list(map(plain_text, weights))
        prior = tuple(zip(names, map(float, weights.values()), strict=True))
        if not any(weight for _, weight in prior):
            raise InputError("the prior leaves no model possible", place=(self.name,))
        object.__setattr__(self, "prior", prior)

    @classmethod
    def option(cls, name: str, text: str) -> object:
        return text if name == "prior" else super().option(name, text)

    def written(self, name: str) -> str:
        if name != "prior":
            return super().written(name)
        return ",".join(f"{escaped(model, safe='')}={weight!r}" for model, weight in self.prior)

    def prepare(self, problem: Problem) -> ThompsonThetaData:
        """Sort Θ into levels, and put the prior into its order."""
        weights = np.ones(len(problem.models))
        if problem.prior is not None:
            weights[:] = problem.prior
        if self.prior is not None and self.follows(problem):
            raise InputError(
                f"the truth of {problem.name} moves by its transitions, and begins by its own "
                "prior: leave out prior=, or give a change_rate"
            ).at(self.name)
        if self.prior is not None:
            weights[:] = 0.0
            for model, weight in self.prior:
                weights[problem.index(model)] = weight
        # Scaled by a power of two, which rounds nothing, so that their sum cannot overflow.
        weights = np.ldexp(weights, -np.frexp(weights.max())[1])
        with np.errstate(divide="ignore"):
            cost = np.minimum(-np.log(weights / weights.sum()), IMPOSSIBLE)
        return ThompsonThetaData(self.theta(problem), cost, *self.changes(problem))

    def workspace(self, prepared: ThompsonThetaData, pairs: int) -> ThompsonThetaWork:
        cycle, fit = np.zeros(pairs, np.int64), new_fit(prepared.theta)
        return ThompsonThetaWork(cycle, fit, np.zeros(pairs))

    @staticmethod
    def plan(
        prepared: ThompsonThetaData,
        state: State,
        workspace: ThompsonThetaWork,
        ahead: Ahead,
        random: Random,
    ) -> Plan:
        theta, cost, rate = prepared.theta, workspace.fit.deficit, prepared.change_rate
        weigh(theta, state, workspace.fit)
        believe(theta, prepared.cost, state, cost, rate, prepared.chain)
        best = theta.best[state.counters[CONTEXT]]
        leader = state.counters[_LED] - 1
        if leader >= 0:  # a candidate is due
            state.counters[_LED] = 0
            workspace.cycle[0] = _candidate(best, cost, state.drawn[BOUND], leader, random)
            return 1, 1
        if rate > 0 or ahead.plays == 1:
            workspace.cycle[0] = best[_draw(cost, best, -1, random)]
            return 1, 1
        least, mass = minimum(cost), workspace.mass
        mass.fill(0.0)
        for model in range(prepared.cost.size):
            mass[best[model]] += math.exp(least - cost[model])
        leader = 0
        for arm in range(1, theta.arms):
            if mass[arm] > mass[leader]:
                leader = arm
        workspace.cycle[0] = leader
        odds = _odds(best, cost, cost, leader)
        if odds > 0.3:  # leaps would be short
            workspace.cycle[0] = best[_draw(cost, best, -1, random)]
            return 1, 1
        # Twice the odds of now: more would waste candidates, less would waste rounds.
        bound = state.drawn[BOUND] = max(2 * odds, 1e-25)
        rounds = certain_rounds(prepared, state, workspace, ahead)
        waiting = random.standard_exponential() / -math.log1p(-bound)
        if waiting >= rounds:
            return 1, rounds
        if waiting < 1:
            workspace.cycle[0] = _candidate(best, cost, bound, leader, random)
            return 1, 1
        state.counters[_LED] = leader + 1
        return 1, int(waiting)

    def chance(
        self, prepared: ThompsonThetaData, state: State, workspace: ThompsonThetaWork, arm: int
    ) -> float | None:
        """Return the posterior mass of the models whose best arm it is."""
        best = prepared.theta.best[state.counters[CONTEXT]]
        return float(_weights(workspace)[best == arm].sum())

    def reasons(
        self,
        problem: Problem,
        prepared: ThompsonThetaData,
        state: State,
        workspace: ThompsonThetaWork,
    ) -> Reasons:
        """Return how likely each arm was to be drawn, and the weights of models."""
        weights, best = _weights(workspace), prepared.theta.best[state.counters[CONTEXT]]
        drawn = np.bincount(best, weights, len(problem.arms)).astype(np.float64)
        rule = "draws a model by its weight and plays its best arm"
        return Reasons(rule, {"probability of being drawn": drawn}, weights)

    @staticmethod
    def holds_for(
        prepared: ThompsonThetaData,
        state: State,
        workspace: ThompsonThetaWork,
        envelope: Envelope,
        rounds: int,
    ) -> bool:
        """Tell whether the odds of another arm surely stay below `BOUND`, which is q."""
        fit, best = workspace.fit, prepared.theta.best[0]
        bracket(prepared.theta, envelope, fit, workspace.cycle, 1, rounds - 1)
        odds = _odds(best, fit.lowest, fit.highest, workspace.cycle[0])
        return bool(odds <= state.drawn[BOUND])


def _weights(workspace: ThompsonThetaWork) -> Floats:
    """Return the posterior that the last plan drew from."""
    cost = workspace.fit.deficit
    mass: Floats = np.exp(cost.min() - cost)
    mass /= mass.sum()
    return mass


def _read(text: str) -> Mapping[str, float]:
    """Read a prior as the command line writes it: name=weight,name=weight."""
    try:
        pairs = [part.rpartition("=") for part in text.split(",")]
        if not all(name for name, _, _ in pairs):
            raise ValueError
        return {unquote(name): float(weight) for name, _, weight in pairs}
    except ValueError:
        raise InputError(
            f"thompson-theta: expected prior=NAME=WEIGHT,… (a comma in a name is %2C), not "
            f"{quote(text)}"
        ) from None


@jitted
def _draw(cost: Floats, best: Counts, leader: int, random: Random) -> int:
    """Draw a model from the posterior, among those with another best arm than ``leader``."""
    least, total = math.inf, 0.0
    for model in range(best.size):
        if best[model] != leader:
            least = min(least, cost[model])
    for model in range(best.size):
        if best[model] != leader:
            total += math.exp(least - cost[model])
    left = random.random() * total
    drawn = 0
    for model in range(best.size):
        if best[model] != leader:
            weight = math.exp(least - cost[model])
            if weight > 0:
                drawn = model
                left -= weight
                if left < 0:
                    break
    return drawn


@jitted
def _odds(best: Counts, against: Floats, for_it: Floats, leader: int) -> float:
    """Return the odds against the leader: e^−cost of other models, over that of its own models.

    ``against`` has the costs of the others, ``for_it`` those of the leader's own models.
    """
    least, others, of_leader = math.inf, 0.0, 0.0
    for model in range(best.size):
        if best[model] == leader:
            least = min(least, for_it[model])
    for model in range(best.size):
        if best[model] == leader:
            of_leader += math.exp(least - for_it[model])
        else:
            others += math.exp(min(least - against[model], 700.0))
    return others / of_leader


@jitted
def _candidate(best: Counts, cost: Floats, bound: float, leader: int, random: Random) -> int:
    """Return the arm of a candidate: the leader, unless it is a real change."""
    odds = _odds(best, cost, cost, leader)
    if random.random() * bound < odds / (1 + odds):
        return int(best[_draw(cost, best, leader, random)])
    return leader
