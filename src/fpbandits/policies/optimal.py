"""The optimum, for small problems: the policy of the dynamic programs behind the floor.

It minimises Bayes regret over a known number of plays T. With two models the belief is one number,
and the policy plays the optimal arm of the nearest point on a grid of beliefs
(`fpbandits.theory.beliefs`). With more models, and rewards of a few values, it counts how often
each arm paid each value, and plays the optimal arm for these counts (`fpbandits.theory.counts`).
Other problems are refused.

After T plays it plays the arm of least expected loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from fpbandits.core.arrays import TOLERANCE
from fpbandits.core.checks import whole_number
from fpbandits.engine.contract import Random
from fpbandits.engine.plain import PlainPolicy, Seen
from fpbandits.errors import InputError, within
from fpbandits.families.information import minus_log
from fpbandits.families.two_point import TwoPoint
from fpbandits.problem.chain import refuse_moving
from fpbandits.problem.problem import Problem

if TYPE_CHECKING:
    from fpbandits.theory.counts import CountProgram

_MOST_CHOICES = 30_000_000
"""The most entries of the table of optimal arms, by plays left, context and belief."""

_FEWEST_POINTS = 1_000
"""The fewest points of the grid of beliefs."""


@dataclass(frozen=True)
class Optimal(PlainPolicy):
    """The least Bayes regret that is possible, for two models, or few arms and a short horizon.

    Parameters
    ----------
    horizon : float
        T, the number of plays in all: at least 1. History that an agent is told counts as plays.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> trial = fpb.Problem.bernoulli([[.3, .5], [.3, .3], [.3, .2]], arms=["control", "new"])
    >>> fpb.Agent(trial, fpb.Optimal(horizon=60)).ask().arm
    'new'

    References
    ----------
    D. A. Berry, B. Fristedt: Bandit Problems, Chapman and Hall 1985.
    """

    horizon: float

    name = "optimal"
    revision = 2
    knows = "Θ: what every arm pays under every model; a prior; the horizon"
    guarantee = "the least Bayes regret of any policy"
    randomised = False

    def __post_init__(self) -> None:
        try:
            plays = whole_number("horizon", self.horizon, least=1)
        except InputError as error:
            raise error.at(self.name) from None
        object.__setattr__(self, "horizon", plays)

    def start(self, problem: Problem) -> list[float]:
        return _program(problem, problem.shares, int(self.horizon)).start()

    def choose(self, seen: Seen, random: Random) -> int:
        problem = seen.problem
        context = problem.contexts.index(seen.context) if seen.context is not None else 0
        return _program(problem, problem.shares, int(self.horizon)).choose(seen.memory, context)

    def update(self, seen: Seen, arm: int, reward: float) -> None:
        problem = seen.problem
        if seen.context is not None:
            arm += len(problem.arms) * problem.contexts.index(seen.context)
        seen.memory = _program(problem, problem.shares, int(self.horizon)).after(
            seen.memory, arm, reward
        )


class _ByBelief:
    """The program for two models; the memory is the number of rewards so far, and the log-odds."""

    def __init__(self, problem: Problem, horizon: int) -> None:
        from fpbandits.theory.beliefs import BUDGET, Beliefs
        from fpbandits.theory.bracket import Upper

        points = _MOST_CHOICES // (horizon * max(1, len(problem.contexts)))
        if points < _FEWEST_POINTS:
            raise InputError(
                f"it plays at most {_MOST_CHOICES // _FEWEST_POINTS:,} times here: the horizon is "
                f"{horizon:,}"
            ).at(Optimal.name)
        with within(Optimal.name):
            beliefs = Beliefs.of(problem, horizon, BUDGET, points)
        self.rewards, self.log_odds = problem.rewards, beliefs.log_odds
        shape = horizon, len(beliefs.shares), len(beliefs.log_odds)
        self.choices, self.start_at = np.zeros(shape, np.int16), beliefs.start
        Upper(beliefs, choices=self.choices).advance(horizon)
        self.step = beliefs.step
        costs = problem.rewards.costs()
        if costs is None:  # of 0/1 rewards, whose only statistic is their sum
            means = problem.rewards.unit_means
            loss, win = minus_log(1 - means), minus_log(means)
            costs = loss, (win - loss)[:, :, np.newaxis]
        self.base, self.cost = (by_model[0] - by_model[1] for by_model in costs)

    def start(self) -> list[float]:
        return [0, float(self.log_odds[self.start_at])]

    def choose(self, memory: list[float], context: int) -> int:
        left = max(len(self.choices) - int(memory[0]), 1)
        point = round((memory[1] - self.log_odds[0]) / self.step)
        point = min(max(point, 0), len(self.log_odds) - 1)
        return int(self.choices[left - 1, context, point])

    def after(self, memory: list[float], pair: int, reward: float) -> list[float]:
        unit = (reward - self.rewards.zero) / self.rewards.width
        statistics = self.rewards.statistics_of(pair, unit) or (unit,)
        change = float(self.base[pair] + self.cost[pair] @ np.array(statistics))
        # JSON has no infinity; 1e9 nats are more than later rewards can undo.
        change = min(max(change, -1e9), 1e9)
        return [memory[0] + 1, memory[1] + change]


class _ByCounts:
    """The program for any number of models; the memory is how often each kind of reward came."""

    def __init__(self, problem: Problem, program: CountProgram) -> None:
        self.problem, self.program, self.choices = problem, program, list[Any]()
        program.values([program.horizon], self.choices)
        self.choices.reverse()

    def start(self) -> list[float]:
        return [0] * self.program.chances.shape[1]

    def choose(self, memory: list[float], context: int) -> int:
        counts = np.array(memory, np.int64)
        if counts.sum() < self.program.horizon:
            return int(self.choices[counts.sum()][context, self.program.number(counts)])
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(self.program.chances), -1e5) @ counts
            logs += np.log(self.program.prior)
        losses = np.exp(logs - logs.max()) @ self.program.gaps
        return int(losses.reshape(len(self.program.shares), -1)[context].argmin())

    def after(self, memory: list[float], pair: int, reward: float) -> list[float]:
        kind = self.program.kinds[pair, _value(self.problem, pair, reward)]
        if kind < 0:
            raise InputError("no model allows this reward").at(Optimal.name)
        return [count + int(number == kind) for number, count in enumerate(memory)]


def _value(problem: Problem, pair: int, reward: float) -> int:
    """Return the index of a reward among the values that the pair can pay."""
    unit = (reward - problem.rewards.zero) / problem.rewards.width
    statistics = problem.rewards.statistics_of(pair, unit)
    if isinstance(problem.rewards, TwoPoint):
        return int(statistics[0])  # 1 for the value, 0 for nothing
    if statistics:
        return int(np.argmax(statistics))
    if min(abs(unit), abs(1 - unit)) > TOLERANCE:
        raise InputError(f"{reward:g} is neither end of the range").at(Optimal.name)
    return round(unit)


@lru_cache(maxsize=4)
def _program(problem: Problem, shares: object, horizon: int) -> _ByBelief | _ByCounts:
    """Solve the program of a problem, or raise an error if it would be too large.

    ``shares`` are the problem's, which may be equal to one with others.
    """
    # Whoever plays another policy does without the programs and SciPy, which take 0.2 s to import.
    from fpbandits.theory.counts import CountProgram
    from fpbandits.theory.floor import possible_models

    refuse_moving(problem, Optimal.name)
    problem = possible_models(problem)
    if len(problem.models) == 2:
        return _ByBelief(problem, horizon)
    program = CountProgram.of(problem, horizon)
    if program is None:
        raise InputError(
            f"{problem.name} is too large for it with {horizon:,} plays: it takes two models, or "
            "rewards of a few values, two or three arms and some tens of plays; choose frugal"
        ).at(Optimal.name)
    return _ByCounts(problem, program)
