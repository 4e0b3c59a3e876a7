"""What a policy is: a few small functions over flat arrays, written once and used three ways.

A policy *prepares* a problem once: a named tuple of arrays that never changes and is shared by all
runs and agents. Its rules are static methods over that tuple and a `State`, what was seen so far:

``plan(prepared, state, workspace, ahead, random) -> (length, rounds)``
    fills ``workspace.cycle[:length]`` with the arms to play next, in order, once each, and returns
    how many rounds of that cycle are sure to be played, whatever rewards come within
    ``ahead.envelope``: 1 ≤ rounds ≤ max(1, ahead.plays // length). A single round may be longer
    than ``ahead.plays``. A plan may move the clock and other counters of the state.
``holds_for(prepared, state, workspace, envelope, rounds) -> bool``
    is the stability check behind ``rounds``: whether the plan just made is sure to hold for that
    many. `fpbandits.engine.envelope.certain_rounds` searches for their number. A policy that never
    plans ahead has no such check.
``observe(prepared, state, arm, plays, total, random)``
    takes in ``plays`` rewards of ``arm`` that add up to ``total``, on [0, 1].

The *workspace* is a named tuple of the policy's own, whose arrays the rules may write to. Nothing
in it outlives a plan and its check, except caches, which `Policy.renew` clears.

Agents and stepwise simulation ask for one play ahead, agents without an envelope. Leaping
simulation asks for all plays until the next recorded time, and draws the sum of many rewards at
once. So the rule exists once, and what is simulated is what is deployed. The envelope may change
how many rounds a plan is for, never which arm is played.

Simulation compiles the rules; an agent also runs them as they stand (`fpbandits.engine.ready`).
So a rule must do the same in both: divide by NumPy's numbers, which may be 0, and not by Python's;
give `math` nothing that it refuses; write x * x, which is one rounding, and not x ** 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Self

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.renamed import refuse_old_keywords
from fpbandits.engine.compiling import dispatch_by_type
from fpbandits.engine.contract import (
    CHANCES,
    CLOCK,
    COUNTERS,
    Ahead,
    CycleOnly,
    Envelope,
    Plan,
    Prepared,
    Random,
    State,
    Workspace,
    count,
)
from fpbandits.engine.options import check_numbers, option_text, options, read_option
from fpbandits.problem.problem import Problem


class Contexts(Enum):
    """How a policy treats contexts, if a problem has them.

    ``TOGETHER``: it looks at all of them at once, and decides for the one in ``counters[CONTEXT]``.
    ``APART``: each is a problem of its own, with a state of its own. In both cases only the first
    arm of a plan is played, since the next context is not known.
    """

    REFUSED = "refused"
    TOGETHER = "together"
    APART = "apart"


class Eligible(Enum):
    """How a policy treats a decision for which only some arms are eligible.

    ``LEFT_OUT``: it decides as if there were no other arms; its state is that of the eligible ones.
    ``MARKED``: it goes on looking at the rewards of all arms, and `Policy.restrict` marks those
    that it may play; a plain policy finds them in ``seen.among``. In both cases one arm of a plan
    is played, since the next decision may be among others.
    """

    REFUSED = "refused"
    LEFT_OUT = "left out"
    MARKED = "marked"


class Reasons(NamedTuple):
    """What a plan rests on, for people.

    Attributes
    ----------
    rule
        How the arm follows from the numbers, as "plays the arm of the largest index".
    numbers
        By name, a number for each arm in the context at hand; rewards are in the user's units.
    weights
        The policy's probability of each model, where that may differ from the posterior.
    """

    rule: str
    numbers: Mapping[str, Floats]
    weights: Floats | None = None


@dataclass(frozen=True)
class Policy(ABC):
    """A rule for playing; its options are its fields, explained under Parameters.

    Attributes
    ----------
    name
        Its name, on the command line too if it is one of the package's.
    knows, guarantee
        What it must know of the problem, and what is proven of it, in a few words.
    """

    name: ClassVar[str]
    revision: ClassVar[int] = 1
    """Counts the changes of its rule: it grows whenever the policy decides differently."""
    knows: ClassVar[str] = "not said"
    guarantee: ClassVar[str] = "none claimed"
    leaps: ClassVar[bool] = True
    """Whether a plan can be for more than one round."""
    randomised: ClassVar[bool] = False
    """Whether it draws random numbers of its own."""
    contexts: ClassVar[Contexts] = Contexts.REFUSED
    """How it treats problems with contexts."""
    eligible: ClassVar[Eligible] = Eligible.REFUSED
    """How it treats decisions among some of the arms."""

    if not TYPE_CHECKING:  # type checkers know the options from the fields

        def __new__(cls, *_: object, **options: object) -> Self:
            """Name the new option where one of an earlier version is given."""
            unknown = {word: options[word] for word in options if not hasattr(cls, word)}
            refuse_old_keywords(getattr(cls, "name", cls.__name__), unknown)
            return super().__new__(cls)

    def __post_init__(self) -> None:
        check_numbers(self)

    @abstractmethod
    def prepare(self, problem: Problem) -> Prepared:
        """Make the named tuple of arrays that the rules work on, or raise an error."""

    def workspace(self, prepared: Prepared, pairs: int) -> Workspace:
        """Make the named tuple that the rules write to, for this number of arms or pairs."""
        return CycleOnly(np.zeros(pairs, np.int64))

    def renew(self, workspace: Workspace) -> None:  # noqa: B027  # most have nothing to clear
        """Make a workspace as good as new: earlier plans must not change a single bit."""

    def restrict(
        self, problem: Problem, prepared: Prepared, context: int, among: Sequence[int]
    ) -> Prepared:
        """Return ``prepared`` for a decision among these arms in a context."""
        raise NotImplementedError

    @staticmethod
    def plan(
        prepared: Prepared, state: State, workspace: Workspace, ahead: Ahead, random: Random
    ) -> Plan:
        """Decide what to play next; see the module's docstring."""
        raise NotImplementedError

    @staticmethod
    def holds_for(
        prepared: Prepared, state: State, workspace: Workspace, envelope: Envelope, rounds: int
    ) -> bool:
        """Tell whether the plan just made is sure to hold for this many rounds."""
        raise NotImplementedError

    @staticmethod
    def observe(
        prepared: Prepared, state: State, arm: int, plays: int, total: float, random: Random
    ) -> None:
        """Take in rewards: by default, count the plays, add up the rewards, move the clock."""
        count(state, arm, plays, total)
        state.counters[CLOCK] += plays

    def new_state(self, problem: Problem) -> State:
        """Return the state of a run or an agent that has seen nothing."""
        pairs, apart = problem.pairs, 1
        if self.contexts is Contexts.APART:
            apart = max(1, len(problem.contexts))
        return State(
            np.zeros(pairs, np.int64),
            np.zeros(pairs),
            np.zeros(COUNTERS * apart, np.int64),
            np.zeros(CHANCES + len(problem.arms)),
            np.zeros((pairs, problem.rewards.statistics)),
            np.zeros(self.extra_numbers(problem)),
        )

    def extra_numbers(self, problem: Problem) -> int:
        """Return how many numbers it keeps in ``state.extra``."""
        return 0

    def follows(self, problem: Problem) -> bool:
        """Tell whether it filters beliefs by the problem's transitions."""
        return False

    @property
    def looks_at_laws(self) -> bool:
        """Whether it looks at more of a reward than its mean."""
        return False

    def chance(
        self, prepared: Prepared, state: State, workspace: Workspace, arm: int
    ) -> float | None:
        """Return the probability with which the plan just made was to choose ``arm``.

        None if the policy is not randomised, or cannot tell.
        """
        return None

    def reasons(
        self, problem: Problem, prepared: Prepared, state: State, workspace: Workspace
    ) -> Reasons | None:
        """Return what the plan just made rests on; None if the policy gives no reasons."""
        return None

    @classmethod
    def option(cls, name: str, text: str) -> object:
        """Return the value of an option, read from text."""
        return read_option(cls, name, text)

    def written(self, name: str) -> str:
        """Return the value of an option as text that `option` reads."""
        return option_text(getattr(self, name))

    def __str__(self) -> str:
        """Return the policy's name, and the options that differ from their defaults."""
        changed = [
            f"{name}={self.written(name)}"
            for name, option in options(self).items()
            if getattr(self, name) != option.default
        ]
        return ":".join([self.name, *changed])


for _rule in (Policy.plan, Policy.holds_for, Policy.observe):
    dispatch_by_type(_rule)
