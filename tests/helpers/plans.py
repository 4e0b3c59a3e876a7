"""What tests of policies and runs share: problems, plans that reach ahead, stretches of plays."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from fpbandits import InputError, Policy, Problem
from fpbandits.engine.compiling import compiled
from fpbandits.engine.contract import Envelope, State
from fpbandits.simulation.kernel import STOP, Law, new_progress, play


def random_problem(generator: np.random.Generator) -> Problem:
    """Few levels or all distinct, so that both ways of looking up Θ are used; ties at times."""
    count, arms = int(generator.integers(1, 40)), int(generator.integers(1, 7))
    if generator.random() < 0.5:
        levels = generator.choice(np.linspace(0.05, 0.95, 19), int(generator.integers(2, 7)))
        return Problem.bernoulli(generator.choice(levels, (count, arms)))
    if generator.random() < 0.3:
        count = 80  # more distinct means than are turned into bits
    return Problem.bernoulli(generator.random((count, arms)))


def suited(policy: Policy, generator: np.random.Generator) -> Problem:
    """A random problem that the policy applies to."""
    problem = random_problem(generator)
    try:
        policy.prepare(problem)
    except InputError:
        row = generator.random(int(generator.integers(2, 5)))
        rows = np.unique([generator.permutation(row) for _ in range(8)], axis=0)
        problem = Problem.bernoulli(rows)
    return problem


_holds_for = Policy.holds_for


@compiled
def is_certain(prepared: Any, state: Any, workspace: Any, envelope: Any, rounds: int) -> bool:
    return _holds_for(prepared, state, workspace, envelope, rounds)


def played(
    policy: Policy,
    prepared: Any,
    law: Law,
    envelope: Envelope,
    horizon: int,
    longest: int,
    state: State,
    random: np.random.Generator,
    stop: int = 0,
) -> list[int]:
    """Play up to a horizon, in plans of at most ``longest`` plays, or with ``stop`` one plan.

    What is seen is in the state. Return the cycle of the last plan, and what is behind it.
    """
    arms = len(state.plays)
    workspace, progress = policy.workspace(prepared, arms), new_progress()
    progress[STOP] = stop
    arguments = (
        prepared,
        state,
        law,
        envelope,
        workspace,
        random,
        np.array([horizon]),
        np.array([0]),
        np.array([0]),
        envelope,
        longest,
        np.ones(1),
        False,
        progress,
        np.zeros((1, arms), np.int64),
    )
    play(*arguments)
    cycle: list[int] = workspace.cycle.tolist()
    return cycle


def plan_ahead(
    policy: Policy,
    prepared: Any,
    state: State,
    envelope: Envelope,
    budget: int,
    random: np.random.Generator,
) -> tuple[list[int], int]:
    """Return the cycle that the loop would play next, and how many times over; change nothing."""
    after, law = deepcopy(state), Law(0, envelope.means[:, np.newaxis].clip(0, 1))
    cycle = played(policy, prepared, law, envelope, budget, budget, after, random, stop=1)
    more = after.plays - state.plays
    return cycle[: np.count_nonzero(more)], int(more.max())


class Stretch(NamedTuple):
    """An arm's plays and sum, its true mean, how many plays to come, and the envelope's spread."""

    plays: int
    total: float
    mean: float
    more: int
    spread: float

    def limits(self, j: int) -> tuple[float, float]:
        """The least and the largest sum of j rewards within the envelope."""
        deviation = math.sqrt(self.more * self.spread)
        if self.mean in (0.0, 1.0) and self.spread < math.inf:
            deviation = 0.0  # such rewards do not vary
        return max(0.0, j * self.mean - deviation), min(float(j), j * self.mean + deviation)


@st.composite
def stretches(draw: st.DrawFn) -> Stretch:
    n = draw(st.integers(1, 300))
    total = draw(st.floats(0, 1)) * n
    p = draw(st.sampled_from([0.0, 1.0]) | st.floats(0.01, 0.99))
    more = draw(st.integers(1, 400))
    deviation = draw(st.sampled_from([0.0, math.inf]) | st.floats(0.1, 100))
    return Stretch(n, total, p, more, deviation**2 / more)
