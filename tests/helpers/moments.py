"""Policies in the middle of a run, as plain Python: their plans, and their stability checks.

A stability check is compared with what its module's docstring says, written by means of the limits
that a `Moment` gives: `assert_certain_as`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from fpbandits import Policy, Problem
from fpbandits.engine import envelope as envelopes
from fpbandits.engine.contract import CLOCK, OWN, Ahead, Envelope, State

Make = Callable[[np.random.Generator], Problem]
"""Draws a problem."""

SPREADS = [0.0, 0.02, 0.5, 21.0, np.inf]
ROUNDS = [2, 10, 1000]
ROUNDING = 1e-8
"""Conditions that are met, or missed, by less are left out."""


class Moment(NamedTuple):
    """A policy's state, the plan that it just made, and the envelope of what may come."""

    policy: Policy
    problem: Problem
    prepared: Any
    state: State
    workspace: Any
    envelope: Envelope
    cycle: list[int]

    @property
    def t(self) -> int:
        """The policy's clock."""
        return int(self.state.counters[CLOCK])

    @property
    def unit_means(self) -> np.ndarray:
        return np.array(self.problem.rewards.unit_means)

    @property
    def seen(self) -> np.ndarray:
        """The observed mean of each arm."""
        return np.array(self.state.sums / self.state.plays)

    def holds_for(self, rounds: int) -> bool:
        with np.errstate(all="ignore"):
            return bool(
                self.policy.holds_for(
                    self.prepared, self.state, self.workspace, self.envelope, rounds
                )
            )

    def sums_ahead(self, arm: int, more: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """How many plays are made of the next ``more``, and the least and largest sums by then."""
        p, bounded = self.envelope.means[arm], self.envelope.bounded
        stray = np.sqrt(more * self.envelope.spread) if more else 0.0
        if bounded and p in (0, 1) and stray < np.inf:
            stray = 0.0  # such rewards do not vary
        plays = np.linspace(0, more, 101)
        if not bounded:
            return plays, plays * p - stray, plays * p + stray
        ends = [stray / p if p else 0.0, stray / (1 - p) if p < 1 else 0.0]
        plays = np.array([*plays, *(end for end in ends if end < more)])
        return plays, np.maximum(plays * p - stray, 0), np.minimum(plays * p + stray, plays)

    def mean_ahead(self, arm: int, more: int) -> tuple[float, float]:
        """The least and the largest mean of an arm that is played up to ``more`` times again."""
        plays, least, most = self.sums_ahead(arm, more)
        n, total = self.state.plays[arm] + plays, self.state.sums[arm]
        return ((total + least) / n).min(), ((total + most) / n).max()


def small_problem(generator: np.random.Generator) -> Problem:
    """A few models of two to four arms, with ties at times."""
    size = int(generator.integers(2, 9)), int(generator.integers(2, 5))
    levels = generator.choice(np.linspace(0.05, 0.95, 10), int(generator.integers(3, 8)))
    return Problem.bernoulli(np.unique(generator.choice(levels, size), axis=0))


def normal_problem(generator: np.random.Generator) -> Problem:
    """The same means, and normal rewards of deviation ½ or less."""
    means = np.array(small_problem(generator).means)
    return Problem.gaussian(means, deviation=float(generator.choice([0.5, 0.2])))


def drawn_state(
    policy: Policy, problem: Problem, means: np.ndarray, generator: np.random.Generator
) -> State:
    """A state after many plays of the arm that is best, and fewer of the others."""
    state = policy.new_state(problem)
    most = 10 ** generator.uniform(1, 5)
    state.plays[:] = np.ceil(most ** generator.uniform(0.2, 0.9, len(means)))
    state.plays[means.argmax()] = int(most)
    seen = means + generator.normal(0, 0.4, len(means)) / np.sqrt(state.plays)
    state.sums[:] = state.plays * (seen.clip(0, 1) if problem.rewards.bounded else seen)
    state.statistics[:] = statistics(problem, state.sums / state.plays) * state.plays[:, np.newaxis]
    state.counters[CLOCK] = state.plays.sum()
    return state


def statistics(problem: Problem, means: np.ndarray) -> np.ndarray:
    """What the family keeps of a reward of each arm, if it were its mean."""
    rewards = problem.rewards
    kept = [rewards.statistics_of(arm, float(mean)) for arm, mean in enumerate(means)]
    return np.array(kept, float).reshape(len(means), rewards.statistics)


def moments(
    policy: Policy,
    count: int,
    make: Make = small_problem,
    clock: Callable[[State], int] | None = None,
) -> Iterator[Moment]:
    """Draw moments at which the truth is one of the models, or is not. Seeds 0 …"""
    for seed in range(count):
        generator = np.random.default_rng(seed)
        problem = make(generator)
        unit_means = np.array(problem.rewards.unit_means)
        means = unit_means[generator.integers(len(unit_means))]
        if generator.random() < 0.2:
            means = generator.random(len(means))
        state = drawn_state(policy, problem, means, generator)
        if clock is not None:
            state.counters[CLOCK] = clock(state)
        spread = SPREADS[int(generator.integers(len(SPREADS)))]
        bounded = problem.rewards.bounded
        spread = spread if bounded else min(spread, 21.0)
        envelope = Envelope(means, spread, bounded, statistics(problem, means))
        yield moment(policy, problem, state, envelope, generator)


def moment(
    policy: Policy,
    problem: Problem,
    state: State,
    envelope: Envelope,
    generator: np.random.Generator | None = None,
) -> Moment:
    """Plan, without looking ahead, and leave the counters as they were, but for `OWN`."""
    prepared: Any = policy.prepare(problem)
    workspace: Any = policy.workspace(prepared, problem.pairs)
    before = state.counters.copy()
    length, _ = planned(policy, prepared, state, workspace, None, 10**9, generator)
    before[OWN] = state.counters[OWN]
    state.counters[:] = before
    cycle = workspace.cycle[:length].tolist()
    return Moment(policy, problem, prepared, state, workspace, envelope, cycle)


def planned(
    policy: Policy,
    prepared: Any,
    state: State,
    workspace: Any,
    envelope: Envelope | None,
    plays: int,
    generator: np.random.Generator | None = None,
) -> tuple[int, int]:
    """Plan as compiled code would: the length of the cycle, and for how many rounds it is."""
    made, random = int(state.plays.sum()), generator or np.random.default_rng(0)
    with patch.object(envelopes, "_holds_for", policy.holds_for), np.errstate(all="ignore"):
        length, rounds = policy.plan(
            prepared, state, workspace, Ahead(envelope, plays, made, None), random
        )
    return int(length), int(rounds)


Condition = Callable[[Moment, int, float], bool]
"""Whether a plan is sure to hold for so many more rounds, each condition eased by a little."""


def assert_certain_as(condition: Condition, found: Iterator[Moment], least: int = 20) -> None:
    """Compare a stability check with a condition, at and around the rounds where it ends.

    Both of its answers must come ``least`` times.
    """
    answers = []
    for one in found:
        last, first = 1, 10**6
        while first - last > 1:
            middle = (first + last) // 2 if last > 1000 else min(2 * last, (first + last) // 2)
            last, first = (middle, first) if one.holds_for(middle) else (last, middle)
        for rounds in sorted({*ROUNDS, max(last, 2), first}):
            sure, may_be = (condition(one, rounds - 1, by) for by in (-ROUNDING, ROUNDING))
            assert sure <= may_be
            if sure == may_be:
                assert one.holds_for(rounds) == sure, (one.problem.means, one, rounds)
                answers.append(sure)
    assert min(answers.count(True), answers.count(False)) >= least, answers
