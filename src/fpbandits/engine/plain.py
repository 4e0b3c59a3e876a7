"""Policies in ordinary Python: a class with one method, and no compiler.

>>> from dataclasses import dataclass
>>> import fpbandits as fpb
>>> @dataclass(frozen=True)
... class EpsilonGreedy(fpb.PlainPolicy):
...     epsilon: float = 0.1
...     name = "epsilon-greedy"
...
...     def choose(self, seen, random):
...         if seen.t < len(seen.plays):
...             return seen.t
...         if random.random() < self.epsilon:
...             return random.integers(len(seen.plays))
...         return seen.means.argmax()
>>> result = fpb.simulate(fpb.load_problem("paper:two"), EpsilonGreedy(), horizon=500, runs=3)
>>> result.policies
('epsilon-greedy',)

It plays wherever the built-in ones do, step by step.
"""

from __future__ import annotations

import operator
import traceback
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.engine.contract import Random, State, in_context
from fpbandits.engine.policy import Contexts, Eligible, Policy
from fpbandits.errors import Error, InputError, listed, quote, said
from fpbandits.problem.problem import Problem

Memory = Any
"""What a plain policy keeps beyond counts: anything that JSON holds."""


class Seen:
    """What a plain policy may look at.

    Attributes
    ----------
    problem
        The candidate models.
    t
        In `choose`, how many decisions were made before; in `update`, how many by then, this one
        included. Decisions that an agent observed and did not make do not count.
    plays, sums, means
        Rewards of each arm that count so far: how many, their sum and their mean, in the user's
        units. The mean of an arm without any is NaN, which ``argmax`` takes for the largest. Do not
        write to these arrays.
    pending
        How many decisions of each arm have a reward that does not count yet.
    memory
        What the policy keeps beyond that; see `PlainPolicy.start`.
    context
        The name of the context that the decision is for; None where there are none. Then plays,
        sums and means are those in this context.
    among
        The indices of the arms that are eligible for the decision, in order: all, unless `ask` is
        given fewer. Another arm is refused.
    """

    __slots__ = (
        "_state",
        "among",
        "context",
        "means",
        "memory",
        "pending",
        "plays",
        "problem",
        "sums",
        "t",
    )

    plays: Counts
    pending: Counts
    sums: Floats
    means: Floats

    def __init__(
        self,
        problem: Problem,
        state: State,
        t: int,
        memory: Memory,
        context: int,
        pending: Counts,
        among: tuple[int, ...] | None = None,
    ) -> None:
        self.problem, self.t, self.memory, arms = problem, t, memory, len(problem.arms)
        self.context = problem.contexts[context] if problem.contexts else None
        self.among = tuple(range(arms)) if among is None else among
        state = self._state = in_context(state, context, arms)
        self.pending = pending[context * arms : (context + 1) * arms]
        self.plays = state.plays
        self.sums, self.means = np.zeros(len(state.plays)), np.full(len(state.plays), np.nan)
        for arm in np.flatnonzero(state.plays).tolist():
            self._update(arm)

    def _update(self, arm: int) -> None:
        """Recompute an arm's sum and mean from the state, in the user's units."""
        rewards = self.problem.rewards
        plays = self._state.plays[arm]
        total = rewards.zero * plays + rewards.width * self._state.sums[arm]
        self.sums[arm] = total
        self.means[arm] = total / plays

    def count(self, arm: int, reward: float) -> None:
        """Count one more reward, on [0, 1]."""
        self._state.plays[arm] += 1
        self._state.sums[arm] += reward
        self._update(arm)


class PlainPolicy(Policy):
    """A rule in ordinary Python; its options are the fields of a frozen dataclass.

    `choose` is all that it needs. What it must remember beyond counts it keeps in ``seen.memory``,
    which `start` makes, `update` changes, and which must be fit for JSON.
    """

    leaps = False
    randomised = True
    contexts = Contexts.TOGETHER
    eligible = Eligible.MARKED

    def __post_init__(self) -> None:
        """Check nothing: a plain policy checks its options itself."""

    @abstractmethod
    def choose(self, seen: Seen, random: Random) -> Any:  # what is no arm is refused
        """Return the arm to play next, by its index or by its name."""

    def start(self, problem: Problem) -> Memory:
        """Return what ``seen.memory`` is to begin with."""
        return None

    def update(self, seen: Seen, arm: int, reward: float) -> None:
        """Change ``seen.memory`` after a reward, in the user's units; counts are counted already.

        ``arm`` is an index.
        """

    def prepare(self, problem: Problem) -> None:
        """Prepare nothing."""


# The functions below call a policy's methods, and say in one line what went wrong in them.


def start(policy: PlainPolicy, problem: Problem) -> Memory:
    """Return a policy's memory to begin with."""
    try:
        return policy.start(problem)
    except Exception as error:
        raise _failure(policy, "start", error) from error


def decide(policy: PlainPolicy, seen: Seen, random: Random) -> int:
    """Return the index of the arm that a policy chooses."""
    try:
        chosen = policy.choose(seen, random)
    except Exception as error:
        raise _failure(policy, f"choose, at t = {seen.t}", error) from error
    arms = seen.problem.arms
    try:
        arm = arms.index(chosen) if isinstance(chosen, str) else operator.index(chosen)
    except (TypeError, ValueError):
        arm = -1
    if isinstance(chosen, bool) or not 0 <= arm < len(arms):
        raise InputError(
            f"choose returned {quote(chosen)} at t = {seen.t}: an arm is one of "
            f"{listed(arms)}, or its index from 0 to {len(arms) - 1}"
        ).at(policy.name)
    if arm not in seen.among:
        raise not_eligible(policy, seen.problem, arm, seen.among)
    return arm


def not_eligible(policy: Policy, problem: Problem, arm: int, among: Sequence[int]) -> InputError:
    """Say that a policy chose an arm that is not eligible."""
    return InputError(
        f"it chose {quote(problem.arms[arm])}, which is not eligible, and not one of "
        f"{listed([problem.arms[each] for each in among])}; a rule finds them in seen.among",
        about=("among",),
    ).at(policy.name)


def take_in(policy: PlainPolicy, seen: Seen, arm: int, reward: float) -> None:
    """Count a reward, on [0, 1], and let the policy update its memory."""
    seen.count(arm, reward)
    rewards = seen.problem.rewards
    try:
        policy.update(seen, arm, rewards.zero + rewards.width * reward)
    except Exception as error:
        raise _failure(policy, f"update, at t = {seen.t}", error) from error


def _failure(policy: PlainPolicy, where: str, error: Exception) -> Error:
    """Return an error that says what a policy's method raised, and in which line."""
    if isinstance(error, Error):
        return error
    last = traceback.extract_tb(error.__traceback__)[-1]
    return InputError(
        f"its own code failed in {where}: {type(error).__name__}: {said(error)} "
        f"({last.filename}, line {last.lineno})"
    ).at(policy.name)
