"""Thompson sampling on Θ (Gopalan, Mannor, Mansour 2014): play the best arm of a model drawn.

The posterior of a model is its prior times e^{ℓ(θ)}; draw a model from it and play its best arm, in
the context at hand.
The prior is uniform, or given by the models' names. Regret is heavy-tailed: look at quantiles.

Leaps are by thinning. Call the arm that carries most posterior mass the leader. While it alone is
played, the odds that another arm is drawn stay below some q, which follows from a bracket of every
model's misfit. So draw how many steps pass until the first candidate, if each step were one with
probability q; play the leader up to there; and let the candidate be a real change with probability
(chance of another arm)/q, in which case a model with another best arm is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote as escaped
from urllib.parse import unquote

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.checks import is_real, plain_text
from fpbandits.engine.compiling import jitted
from fpbandits.engine.envelope import furthest
from fpbandits.engine.policy import (
    BOUND,
    CONTEXT,
    LEADER,
    REFERENCE,
    STAGE,
    Contexts,
    Plan,
    Scratch,
    Tally,
)
from fpbandits.errors import InputError, quote
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.leaking import leak
from fpbandits.policies.shared.levels import HIGH, LOW, NOW, Theta
from fpbandits.policies.shared.likelihood import LAW, LikelihoodPolicy, bracket, weigh
from fpbandits.problem.problem import Problem

_LARGEST = float(np.finfo(float).max)


class ThompsonThetaKnown(NamedTuple):
    """Θ by level, −ln of the prior, and how often the truth changes."""

    theta: Theta
    cost: Floats
    change_rate: float


@dataclass(frozen=True)
class ThompsonTheta(LikelihoodPolicy):
    """Thompson sampling from the posterior over models."""

    prior: Any = None
    """Weights of models by name, for instance ``{"loyal": 3, "thrifty": 1}``, others 0; by default
    the problem's own prior, and if it has none, all alike."""
    change_rate: float = 0.0
    """How likely it is, before each play, that the truth is drawn anew from the prior."""

    name = "thompson-theta"
    knows = "Θ: what every arm pays under every model; optionally a prior"
    guarantee = "O(log T) with high probability (Gopalan et al. 2014)"
    randomised = True
    contexts = Contexts.TOGETHER

    def __post_init__(self) -> None:
        prior = self.prior
        object.__setattr__(self, "prior", 0.0)  # no number, which all other options are
        super().__post_init__()
        object.__setattr__(self, "prior", prior)
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
    def option(cls, name: str, text: str) -> Any:
        return text if name == "prior" else super().option(name, text)

    def __str__(self) -> str:
        words = [self.name]
        if self.likelihood != LAW:
            words.append(f"likelihood={self.likelihood}")
        if self.prior is not None:
            parts = (f"{escaped(model, safe='')}={weight!r}" for model, weight in self.prior)
            words.append(f"prior={','.join(parts)}")
        if self.change_rate:
            words.append(f"change_rate={self.change_rate!r}")
        return ":".join(words)

    def prepare(self, problem: Problem) -> ThompsonThetaKnown:
        """Sort Θ into levels, and put the prior into its order."""
        weights = np.ones(len(problem.models))
        if problem.prior is not None:
            weights[:] = problem.prior
        if self.prior is not None:
            weights[:] = 0.0
            for model, weight in self.prior:
                weights[problem.index(model)] = weight
        # By a power of two, which rounds nothing: the sum of large weights must not overflow.
        weights = np.ldexp(weights, -np.frexp(weights.max())[1])
        with np.errstate(divide="ignore"):
            cost = np.minimum(-np.log(weights / weights.sum()), IMPOSSIBLE)
        return ThompsonThetaKnown(self.theta(problem), cost, self.change_rate)

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        reference = weigh(known.theta, tally, scratch)
        energy, arms = scratch.by_model[NOW], known.theta.arms
        best = known.theta.best[tally.counters[CONTEXT]]
        if known.change_rate > 0:
            leak(known.cost, tally, scratch, known.change_rate)
            scratch.cycle[0] = best[_draw(known, scratch, best, -1, random)]
            return 1, 1
        for model in range(known.cost.size):
            energy[model] += known.cost[model]
        if budget == 1 and tally.counters[STAGE] == 0:
            scratch.cycle[0] = best[_draw(known, scratch, best, -1, random)]
            return 1, 1

        if tally.counters[STAGE] == 1:  # a candidate is due
            tally.counters[STAGE] = 0
            return 1, _settle(known, tally, scratch, random)

        least, mass = math.inf, scratch.numbers[0]
        for model in range(known.cost.size):
            least = min(least, energy[model])
        for arm in range(arms):
            mass[arm] = 0.0
        for model in range(known.cost.size):
            mass[best[model]] += math.exp(least - energy[model])
        leader = 0
        for arm in range(1, arms):
            if mass[arm] > mass[leader]:
                leader = arm
        scratch.cycle[0] = leader
        odds = _odds(known, best, energy, energy, leader)
        if odds > 0.3:
            scratch.cycle[0] = best[_draw(known, scratch, best, -1, random)]
            return 1, 1
        tally.pending[LEADER] = leader
        scratch.notes[REFERENCE] = reference
        # Twice the odds of now: more would waste candidates, less would waste reach.
        tally.pending[BOUND] = max(2 * odds, 1e-25)
        rounds = furthest(known, tally, envelope, scratch, budget)
        waiting = random.standard_exponential() / -math.log1p(-tally.pending[BOUND])
        if waiting >= rounds:
            return 1, rounds
        if waiting < 1:
            return 1, _settle(known, tally, scratch, random)
        tally.counters[STAGE] = 1
        return 1, int(waiting)

    def chance(self, known: Any, tally: Tally, scratch: Scratch, arm: int) -> float | None:
        """Return the posterior mass of the models whose best arm it is."""
        energy = scratch.by_model[NOW]
        mass = np.exp(energy.min() - energy)
        best = known.theta.best[tally.counters[CONTEXT]]
        return float(mass[best == arm].sum() / mass.sum())

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        """Tell whether the odds of another arm surely stay below the pending bound."""
        bracket(known.theta, envelope, scratch, 1, rounds - 1, scratch.notes[REFERENCE])
        best, leader = known.theta.best[0], scratch.cycle[0]
        odds = _odds(known, best, scratch.by_model[LOW], scratch.by_model[HIGH], leader)
        return bool(odds <= tally.pending[BOUND])


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
def _draw(known: Any, scratch: Any, best: Any, leader: int, random: Any) -> int:
    """Draw a model from the posterior, among those with another best arm than ``leader``."""
    energy = scratch.by_model[NOW]
    least, total = math.inf, 0.0
    for model in range(known.cost.size):
        if best[model] != leader:
            least = min(least, energy[model])
    for model in range(known.cost.size):
        if best[model] != leader:
            total += math.exp(least - energy[model])
    left = random.random() * total
    drawn = 0
    for model in range(known.cost.size):
        if best[model] != leader:
            weight = math.exp(least - energy[model])
            if weight > 0:
                drawn = model
                left -= weight
                if left < 0:
                    break
    return drawn


@jitted
def _odds(known: Any, best: Any, against: Any, for_it: Any, leader: int) -> float:
    """Return the odds against the leader's being drawn: others' e^−energy over its own models'."""
    least, others, own = math.inf, 0.0, 0.0
    for model in range(known.cost.size):
        if best[model] == leader:
            least = min(least, for_it[model])
    for model in range(known.cost.size):
        if best[model] == leader:
            own += math.exp(least - for_it[model])
        else:
            others += math.exp(min(least - against[model], 700.0))
    return others / own


@jitted
def _settle(known: Any, tally: Any, scratch: Any, random: Any) -> int:
    """Decide whether a candidate is a real change, and fill the cycle: one round in either case."""
    leader = int(tally.pending[LEADER])
    best, energy = known.theta.best[0], scratch.by_model[NOW]
    odds = _odds(known, best, energy, energy, leader)
    scratch.cycle[0] = leader
    if random.random() * tally.pending[BOUND] < odds / (1 + odds):
        scratch.cycle[0] = best[_draw(known, scratch, best, leader, random)]
    return 1
