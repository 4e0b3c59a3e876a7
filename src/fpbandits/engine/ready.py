"""A policy made ready for a problem: prepared once, and shared by all runs and agents that play it.

Prepared policies are shared through weak references, and the last few are kept for who comes next.

**Live decisions begin in Python.** A rule is a plain function, and on small sets of models one call
of it takes a fraction of a millisecond; compiling it takes seconds. So an agent's first decisions
run the rule as it stands. Once they have taken `LOAD_AFTER` seconds in all, machine code is loaded
if some is kept on disk; once they have taken `COMPILE_AFTER`, it is compiled. Both are done in a
thread of its own, and nobody waits for it. Machine code decides the same, bit for bit.

There are two exceptions, which are compiled first: sets of models so large that a decision would
take longer than a second, and policies from elsewhere, whose rules may do in Python what they do
not when compiled.
"""

from __future__ import annotations

import threading
import time
from functools import lru_cache
from struct import Struct
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from fpbandits.engine import plain
from fpbandits.engine.code_cache import PACKAGE
from fpbandits.engine.compilations import IN_BACKGROUND
from fpbandits.engine.compiling import compile_for, compiled, kept_code, plan, prepare
from fpbandits.engine.plain import PlainPolicy, Seen
from fpbandits.engine.policy import CONTEXT, REFERENCE, Contexts, Policy, Scratch, Tally, in_context
from fpbandits.errors import InputError
from fpbandits.problem.problem import Problem

NO_STREAM = np.random.default_rng(0)
"""For policies that draw nothing."""

LOAD_AFTER, COMPILE_AFTER = 0.05, 2.0
"""Seconds of deciding in Python after which machine code is looked for, and made: about as long as
that takes itself."""

LARGE = 250_000
"""Numbers in a table of means from which on one decision takes longer than a second in Python."""


@compiled
def plan_once(known: Any, tally: Any, scratch: Any, random: Any) -> int:
    """Plan one round, for live use; return its length."""
    length: int = plan(known, tally, None, scratch, 1, random)[0]
    return length


class Ready:
    """A policy, a problem, and what the one prepared of the other."""

    def __init__(self, policy: Policy, problem: Problem) -> None:
        self._note(policy, problem)
        self.known = prepare(policy, problem)
        self._own = threading.local()
        self._machine_code: Any = None
        foreign = not type(policy).__module__.startswith(PACKAGE)
        large = problem.pairs * len(problem.models) >= LARGE
        self._compiles_first = foreign or large
        # Seconds that decisions took in Python so far, and what to do after how many, last first.
        self._spent = 0.0
        self._hastening = [(COMPILE_AFTER, Ready._compile), (LOAD_AFTER, Ready._load)]

    def _note(self, policy: Policy, problem: Problem) -> None:
        """Note what every decision asks for: an agent's should take no time to look up.

        ``pairs`` is how many pairs of a context and an arm there are, ``several`` whether there are
        several contexts; ``looks_at_laws`` whether the policy looks at more of a reward than its
        mean, and there is more to see. In the array of a packed tally, plays come first, then
        counters, ``upto_counters``; then, as real numbers, sums, statistics, ``upto_statistics``,
        and beliefs, ``upto_beliefs``. ``layout`` is all of it.
        """
        self.policy, self.problem, self.pairs = policy, problem, problem.pairs
        kept = problem.rewards.statistics
        self.looks_at_laws = policy.looks_at_laws and kept > 0
        self.upto_statistics = self.pairs * (1 + kept)
        self.upto_beliefs = self.upto_statistics + policy.remembers(problem)
        self.several = len(problem.contexts) > 1
        self.apart = self.several and policy.contexts is Contexts.APART
        # What an agent begins with: live, nothing is pending. Nobody writes to it.
        self.empty = policy.tally(problem)._replace(pending=np.zeros(0))
        self.upto_counters = self.pairs + len(self.empty.counters)
        self.layout = Struct(f"={self.upto_counters}q{self.upto_beliefs}d")
        # For the many tallies that hold nothing of the kind.
        self.nothing = np.zeros((self.pairs, 0)), np.zeros(0)

    @property
    def scratch(self) -> Scratch:
        """Room for plans, this thread's own."""
        try:
            room: Scratch = self._own.scratch
        except AttributeError:
            room = self._own.scratch = self.policy.scratch(self.known, self.problem.pairs)
        return room

    def start(self) -> Any:
        """Return what a policy remembers beyond its tally, to begin with."""
        return None

    def plan(
        self, tally: Tally, asked: int, memory: Any, random: Any, context: int = 0
    ) -> tuple[list[int], Any]:
        """Return the arms to play next, in order, and the memory from here on.

        ``asked`` decisions were made before. Where there are several contexts it is one arm.
        """
        scratch = self.scratch
        if self.several:
            tally = self._here(tally, context)
            scratch.notes[REFERENCE] = 0  # whoever planned before must not matter, not by a bit
        arguments = self.known, tally, scratch, random
        if self._machine_code is None and self._compiles_first:
            self._compile(arguments)
        if self._machine_code is None:
            length = self._plan_in_python(arguments)
        else:
            length = self._machine_code(*arguments)
        return scratch.cycle[: 1 if self.several else length].tolist(), memory

    def _plan_in_python(self, arguments: tuple[Any, ...]) -> int:
        """Plan one round by the rule as it stands, and see to machine code if that takes long."""
        known, tally, scratch, random = arguments
        began = time.perf_counter()
        with np.errstate(all="ignore"):  # as compiled: x / 0 is infinite
            length: int = self.policy.plan(known, tally, None, scratch, 1, random)[0]
        self._spent += time.perf_counter() - began
        if self._hastening and self._spent > self._hastening[-1][0]:
            _, work = self._hastening.pop()
            threading.Thread(target=work, args=[self, arguments], name=IN_BACKGROUND).start()
        return length

    def _load(self, arguments: tuple[Any, ...]) -> None:
        self._machine_code = kept_code(plan_once, arguments)

    def _compile(self, arguments: tuple[Any, ...]) -> None:
        self._machine_code = compile_for(self.policy, plan_once, arguments)

    def chance(self, tally: Tally, arm: int) -> float | None:
        """Return how likely the plan just made in this thread was to begin with ``arm``."""
        return self.policy.chance(self.known, tally, self.scratch, arm)

    def _here(self, tally: Tally, context: int) -> Tally:
        """Return what the policy looks at to decide in a context."""
        if self.apart:
            return in_context(tally, context, len(self.problem.arms))
        tally.counters[CONTEXT] = context
        return tally

    def observe(
        self, tally: Tally, asked: int, memory: Any, arm: int, reward: float, random: Any
    ) -> Any:
        """Take in one reward, on [0, 1], and return the memory from here on."""
        if self.looks_at_laws:
            tally.statistics[arm] += self.problem.rewards.statistics_of(arm, reward)
        if self.apart:
            context, arm = divmod(arm, len(self.problem.arms))
            tally = in_context(tally, context, len(self.problem.arms))
        self.policy.observe(self.known, tally, arm, 1, reward, random)
        return memory


class PlainReady(Ready):
    """A policy in ordinary Python, which prepares nothing."""

    policy: PlainPolicy

    def __init__(self, policy: PlainPolicy, problem: Problem) -> None:
        self._note(policy, problem)
        self.known = None

    def start(self) -> Any:
        return plain.start(self.policy, self.problem)

    def plan(
        self, tally: Tally, asked: int, memory: Any, random: Any, context: int = 0
    ) -> tuple[list[int], Any]:
        seen = Seen(self.problem, tally, asked, memory, context)
        return [plain.decide(self.policy, seen, random)], seen.memory

    def chance(self, tally: Tally, arm: int) -> float | None:
        return None

    def observe(
        self, tally: Tally, asked: int, memory: Any, arm: int, reward: float, random: Any
    ) -> Any:
        context, arm = divmod(arm, len(self.problem.arms))
        seen = Seen(self.problem, tally, asked, memory, context)
        plain.take_in(self.policy, seen, arm, reward)
        return seen.memory


_alive: WeakValueDictionary[tuple[Policy, Problem, object], Ready] = WeakValueDictionary()


def ready(policy: Policy, problem: Problem) -> Ready:
    """Return a policy ready for a problem, made once for all who play it."""
    # Problems are equal if they play alike, whatever they and their truth are called.
    return _ready(policy, problem, (problem.name, problem.truth))


@lru_cache(maxsize=8)
def _ready(policy: Policy, problem: Problem, names: object) -> Ready:
    found = _alive.get((policy, problem, names))
    if found is None:
        kind: Any = PlainReady if isinstance(policy, PlainPolicy) else Ready
        found = _alive[policy, problem, names] = kind(policy, problem)
    return found


def refusal(policy: Policy, problem: Problem) -> str | None:
    """Say why a policy cannot play a problem, if so: some must know more than Θ tells."""
    try:
        ready(policy, problem)
    except InputError as error:
        return str(error)
    return None
