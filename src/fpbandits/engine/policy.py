"""What a policy is: a few small functions over flat arrays, written once and used three ways.

A policy *prepares* a problem once: a named tuple of arrays that never changes and is shared by all
runs and agents. Its rules are static methods over that tuple and a `Tally`, what was seen so far:

``plan(known, tally, envelope, scratch, budget, random) -> (length, rounds)``
    fills ``scratch.cycle[:length]`` with the arms to play next, in order, once each, and says how
    many times over that whole cycle will surely be repeated, whatever rewards come within the
    envelope: 1 ≤ rounds ≤ max(1, budget // length). ``budget`` is in plays; a single round may
    exceed it. A plan may move the clock and other counters of the tally.
``repeats(known, tally, envelope, scratch, rounds) -> bool``
    is the certificate behind ``rounds``; a plan finds its reach with `furthest`. A policy that
    never plans ahead has none.
``observe(known, tally, arm, plays, total, random)``
    takes in ``plays`` rewards of ``arm`` that add up to ``total``, on [0, 1].

Live use and stepwise simulation call ``plan`` with a budget of 1; live there is no envelope either,
and it is None. Leaping simulation gives all the time there is until the next recorded one, and
draws the sum of many rewards at once. So the rule exists once, and what is simulated is what is
deployed. The envelope may change how far a plan reaches, never which arm is played.

Simulation compiles the rules; an agent also runs them as they stand (`fpbandits.engine.ready`).
So a rule must do the same in both: divide by NumPy's numbers, which may be 0, and not by Python's;
give `math` nothing that it refuses; write x * x, which is one rounding, and not x ** 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self
from urllib.parse import quote as escaped
from urllib.parse import unquote

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.checks import is_real
from fpbandits.core.renamed import refuse_old_keywords
from fpbandits.engine.compiling import jitted
from fpbandits.errors import InputError, quote, wrong_type, wrong_value
from fpbandits.problem.problem import Problem

Plan = tuple[int, int]
"""How many arms a cycle has, and how many times over it is played."""

CLOCK, REACH, MISFITS, STAGE, CONTEXT = range(5)
COUNTERS = 5
"""The counters of a tally: the policy's own clock (plays, or episodes), how far its last plan
reached, for how many decisions no model fitted, one for whatever else a policy must remember, and
the context that the next plan is for."""

LEADER, BOUND, CHANCES = range(3)
"""What is pending after a leap of Thompson sampling: who led, below what bound others stayed, and
from here on each arm's chance of not having done so."""


NO_STATISTICS, NO_BELIEFS = np.zeros((0, 0)), np.zeros(0)


class Tally(NamedTuple):
    """What a run or an agent has seen, and what its policy remembers.

    With contexts, what is by arm is by pair of a context and an arm: all arms in the first context,
    then all in the second, and so on.

    Attributes
    ----------
    plays, sums
        Plays and summed rewards, on [0, 1], of each arm.
    counters
        `CLOCK`, `REACH`, `MISFITS`, `STAGE` and `CONTEXT`.
    pending
        What a leap has drawn for the plan after it; empty live, where nothing leaps.
    statistics
        What else the reward family keeps of each arm's rewards, [arm, k]; see
        `fpbandits.families.base`. Whoever draws a reward, or is told one, adds to it; a policy only
        looks.
    beliefs
        Whatever numbers a policy remembers beyond counts; as many as its `remembers` says.
    """

    plays: Counts
    sums: Floats
    counters: Counts
    pending: Floats
    statistics: Floats = NO_STATISTICS
    beliefs: Floats = NO_BELIEFS


REFERENCE, LENGTH = range(2)
"""What a plan notes for its certificate: the model that others are compared with, and how many arms
the cycle has."""

TOP, LEAST = range(2)
"""And of real numbers: what the best arm pays, and the least misfit."""


class Scratch(NamedTuple):
    """Room to work, for one plan and its certificate: nothing in it outlives them.

    Attributes
    ----------
    cycle
        The arms that a plan plays.
    notes, values
        Single numbers for the plan's certificate, such as ``notes[REFERENCE]``.
    marks, numbers
        Rows of whole and of real numbers, by arm.
    by_model, by_level
        Rows of real numbers by model, and by arm and level.
    by_context, by_pair, memo
        What is still known from the plan before, where there are several contexts: rows by context
        and model, by pair and model, and what stood in the tally; see `likelihood.weigh`.
    """

    cycle: Counts
    notes: Counts
    values: Floats
    marks: Counts
    numbers: Floats
    by_model: Floats
    by_level: Floats
    by_context: Floats
    by_pair: Floats
    memo: Floats


@jitted
def in_context(tally: Any, context: int, arms: int) -> Tally:
    """Return the part of a tally that belongs to one context, its counters included."""
    first, last = context * arms, (context + 1) * arms
    counters = tally.counters
    if counters.size > COUNTERS:
        counters = counters[context * COUNTERS : (context + 1) * COUNTERS]
    return Tally(
        tally.plays[first:last],
        tally.sums[first:last],
        counters,
        tally.pending,
        tally.statistics[first:last],
        tally.beliefs,
    )


@jitted
def count(tally: Any, arm: int, plays: int, total: float) -> None:
    """Count plays and add up rewards: all that most policies observe."""
    tally.plays[arm] += plays
    tally.sums[arm] += total


class Contexts(Enum):
    """What a policy makes of contexts, if a problem has them.

    ``TOGETHER``: it looks at all of them at once, and decides for the one in ``counters[CONTEXT]``.
    ``APART``: each is a problem of its own, with a tally of its own. In both cases a plan's first
    arm alone is played, since the next context is not known.
    """

    REFUSED = "refused"
    TOGETHER = "together"
    APART = "apart"


@dataclass(frozen=True)
class Policy(ABC):
    """A rule for playing; its options are its fields.

    Attributes
    ----------
    name
        The word for it, on the command line too if it is one of the package's.
    knows, guarantee
        What it must know of the problem, and what is proven of it, in a few words.
    """

    name: ClassVar[str]
    knows: ClassVar[str] = "not said"
    guarantee: ClassVar[str] = "none claimed"
    leaps: ClassVar[bool] = True
    """Whether a plan can reach over more than one round."""
    randomised: ClassVar[bool] = False
    """Whether it draws random numbers of its own."""
    contexts: ClassVar[Contexts] = Contexts.REFUSED
    """What it makes of problems with contexts."""

    if not TYPE_CHECKING:  # for whom options are the fields

        def __new__(cls, *_: Any, **options: Any) -> Self:
            """Name the new option where one of an earlier version is given."""
            unknown = {word: options[word] for word in options if not hasattr(cls, word)}
            refuse_old_keywords(getattr(cls, "name", cls.__name__), unknown)
            return super().__new__(cls)

    def __post_init__(self) -> None:
        for option in fields(self):
            value: Any = getattr(self, option.name)
            if isinstance(option.default, str):
                continue  # a word, which whoever has it checks
            if not is_real(value):
                raise wrong_type(option.name, value, "a number").at(self.name)
            if not 0 <= value <= 1e100:
                raise wrong_value(option.name, value, "be 0 or more").at(self.name)
            object.__setattr__(self, option.name, float(value))

    @abstractmethod
    def prepare(self, problem: Problem) -> Any:
        """Make the named tuple of arrays that the rules work on, or say why it cannot be."""

    @staticmethod
    def plan(known: Any, tally: Any, envelope: Any, scratch: Any, budget: int, random: Any) -> Plan:
        """Decide what to play next; see the module's docstring."""
        raise NotImplementedError

    @staticmethod
    def repeats(known: Any, tally: Any, envelope: Any, scratch: Any, rounds: int) -> bool:
        """Tell whether the cycle is sure to be played ``rounds`` times over."""
        raise NotImplementedError

    @staticmethod
    def observe(known: Any, tally: Any, arm: int, plays: int, total: float, random: Any) -> None:
        """Take in rewards: by default, count the plays, add up the rewards, move the clock."""
        count(tally, arm, plays, total)
        tally.counters[CLOCK] += plays

    def tally(self, problem: Problem) -> Tally:
        """Return the tally of someone who has seen nothing."""
        pairs, apart = problem.pairs, 1
        if self.contexts is Contexts.APART:
            apart = max(1, len(problem.contexts))
        return Tally(
            np.zeros(pairs, np.int64),
            np.zeros(pairs),
            np.zeros(COUNTERS * apart, np.int64),
            np.zeros(CHANCES + len(problem.arms)),
            np.zeros((pairs, problem.rewards.statistics)),
            np.zeros(self.remembers(problem)),
        )

    def remembers(self, problem: Problem) -> int:
        """Return how many numbers it keeps in ``tally.beliefs``."""
        return 0

    def room(self, known: Any) -> tuple[int, int]:
        """Return for how many models, and how many levels of each arm, scratch space is needed."""
        return 0, 0

    def memory(self, known: Any) -> tuple[int, int]:
        """Return how many contexts and statistics of a pair are remembered between plans."""
        return 0, 0

    def scratch(self, known: Any, arms: int) -> Scratch:
        """Make room for this policy's plans."""
        models, levels = self.room(known)
        contexts, statistics = self.memory(known)
        return Scratch(
            cycle=np.zeros(arms, np.int64),
            notes=np.zeros(2, np.int64),
            values=np.zeros(2),
            marks=np.zeros((4, arms), np.int64),
            numbers=np.zeros((7, arms)),
            by_model=np.zeros((4, models)),
            by_level=np.zeros((3, arms, levels)),
            by_context=np.zeros((2, contexts, models)),
            by_pair=np.zeros((arms if contexts else 0, models)),
            memo=np.full((arms + contexts, 5 + statistics), -1.0),
        )

    @property
    def looks_at_laws(self) -> bool:
        """Whether it looks at more of a reward than its mean."""
        return False

    def chance(self, known: Any, tally: Tally, scratch: Scratch, arm: int) -> float | None:
        """Tell how likely a randomised policy was to choose ``arm`` in the plan just made.

        None for one that cannot tell.
        """
        return None

    def margins(self, problem: Problem, tally: Tally) -> Floats | None:
        """Tell by how much each model fits what was seen; negative: it does not.

        In the user's units for a policy that looks at means, in units of log-likelihood for one
        that looks at likelihoods; None for one that rules no model out.
        """
        return None

    @classmethod
    def option(cls, name: str, text: str) -> Any:
        """Return an option's value as it is written: of its default's kind, else a number."""
        match cls.expected(name):
            case "TEXT":
                return unquote(text)
            case "true|false":
                return {"true": True, "false": False}[text.lower()]
            case "WHOLE NUMBER":
                return int(text)
            case _:
                return float(text)

    @classmethod
    def expected(cls, name: str) -> str:
        """Return what an option's value must be, in a word: of the kind of its default."""
        default = next(field.default for field in fields(cls) if field.name == name)
        kinds = {str: "TEXT", bool: "true|false", int: "WHOLE NUMBER"}
        return kinds.get(type(default), "NUMBER")

    def __str__(self) -> str:
        """Return the policy's name, and the options that differ from their defaults."""
        options = [
            f"{option.name}={escaped(value) if isinstance(value, str) else repr(value)}"
            for option in fields(self)
            if (value := getattr(self, option.name)) != option.default
        ]
        return ":".join([self.name, *options])


class Arms(NamedTuple):
    """How many arms there are, and whether rewards are normal: all that a blind policy knows."""

    arms: int
    normal: bool


class BlindPolicy(Policy):
    """A policy that is blind to Θ: it plays each context as a bandit of its own."""

    contexts = Contexts.APART

    knows = "the number of arms"
    known_type: ClassVar[Any]
    """A named tuple, of a type of its own: the number of arms, whether rewards are normal with
    deviation ½ and not in [0, 1], and the policy's options."""

    def prepare(self, problem: Problem) -> Any:
        """Note how many arms there are, whether rewards are normal, and the options."""
        return self.known_type(len(problem.arms), not problem.rewards.bounded, *vars(self).values())


def check_policy(given: object) -> Policy:
    """Return a policy, or say what is wrong with what was given for one."""
    if not isinstance(given, Policy):
        raise InputError(f"expected a policy such as FPUCB(), not {quote(given)}")
    kind = type(given)
    options = {option.name for option in fields(given)}
    if any(key not in options and not hasattr(kind, key) for key in vars(given)):
        raise InputError(
            "a policy's options are the fields of a frozen dataclass: put "
            "@dataclass(frozen=True) above its class, and a line NAME: TYPE for each"
        ).at(kind.__name__)
    if not isinstance(getattr(kind, "name", None), str) or ":" in kind.name:
        raise InputError("a policy has a name, a text without colons", place=(kind.__name__,))
    try:
        hash(given)
    except Exception as error:  # lists are not hashable, nor is some of NumPy
        unfit = f"an option must not be a list or the like ({error})"
        raise InputError(unfit, place=(given.name,)) from None
    return given
