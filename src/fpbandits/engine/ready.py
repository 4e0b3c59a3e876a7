"""A policy made ready for a problem: prepared once, and shared by all runs and agents that play it.

Prepared policies are shared through weak references, and the last eight are kept alive.

**Agents begin in Python.** A rule is a plain function, and on small sets of models one call of it
takes a fraction of a millisecond; compiling it takes seconds. So an agent's first decisions run the
rule as it stands. Once they have taken `LOAD_AFTER` seconds in all, machine code is loaded if some
is kept on disk; once they have taken `COMPILE_AFTER`, it is compiled. A background thread does
either, and nobody waits for it. Machine code decides the same, bit for bit.

Rules are compiled before the first decision in two cases: sets of models so large that a decision
would take longer than a second, and policies from elsewhere, whose rules may do in Python what they
do not when compiled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import lru_cache
from struct import Struct
from time import perf_counter
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from fpbandits.core.arrays import Counts
from fpbandits.engine import plain
from fpbandits.engine.code_cache import PACKAGE
from fpbandits.engine.compilations import IN_BACKGROUND
from fpbandits.engine.compiling import compile_for, compiled, load_code, prepare
from fpbandits.engine.contract import (
    CONTEXT,
    Ahead,
    Prepared,
    Random,
    State,
    Workspace,
    in_context,
    of_arms,
)
from fpbandits.engine.plain import Memory, PlainPolicy, Seen
from fpbandits.engine.policy import Contexts, Eligible, Policy, Reasons
from fpbandits.errors import InputError
from fpbandits.problem.problem import Problem

NO_STREAM = np.random.default_rng(0)
"""For policies that draw nothing."""

LOAD_AFTER = 0.05
"""Seconds of deciding in Python after which machine code is loaded: about what loading takes."""

COMPILE_AFTER = 2.0
"""Seconds of deciding in Python after which the rule is compiled: about what compiling takes."""

LARGE = 250_000
"""With this many numbers in the table of means, a decision in Python takes more than a second."""

Arms = tuple[int, ...]
"""The arms that are eligible for a decision, by index and in order; None stands for all."""

MOST_SETS = 64
"""For how many contexts and sets of eligible arms a prepared policy keeps `Policy.restrict`."""

_plan = Policy.plan


@compiled
def plan_once(
    prepared: Prepared,
    state: State,
    workspace: Workspace,
    made: int,
    pending: Counts,
    random: Random,
) -> int:
    """Plan one round, for an agent; return its length."""
    return _plan(prepared, state, workspace, Ahead(None, 1, made, pending), random)[0]


class Ready:
    """A policy, a problem, and what the policy prepared of the problem."""

    def __init__(self, policy: Policy, problem: Problem) -> None:
        self._set_up(policy, problem)
        self.prepared = prepare(policy, problem)
        self._of_thread = threading.local()
        self._restricted: dict[tuple[int, Arms], Prepared] = {}
        self._machine_code: Callable[..., int] | None = None
        foreign = not type(policy).__module__.startswith(PACKAGE)
        large = problem.pairs * len(problem.models) >= LARGE
        self._compiles_first = foreign or large
        self._spent = 0.0  # seconds that decisions in Python took so far
        # After how many of these seconds to do what, the next one last.
        self._speedups = [(COMPILE_AFTER, Ready._compile), (LOAD_AFTER, Ready._load)]

    def _set_up(self, policy: Policy, problem: Problem) -> None:
        """Set the attributes that every decision of an agent reads: looking them up costs time.

        ``pairs`` is how many pairs of a context and an arm there are, ``several`` whether there are
        several contexts; ``looks_at_laws`` whether the policy looks at more of a reward than its
        mean, and the family has more; ``trusts_spread`` whether that says more than means do. The
        array of a packed state holds plays and counters as whole numbers, then sums, statistics
        and extra numbers as floats; ``upto_counters`` … ``upto_extra`` are where each part ends.
        ``layout`` packs it.
        """
        self.policy, self.problem, self.pairs = policy, problem, problem.pairs
        self.arms = len(problem.arms)
        kept = problem.rewards.statistics
        self.looks_at_laws = policy.looks_at_laws and kept > 0
        stays = problem.transitions is None  # else rewards spread as under no model
        self.trusts_spread = (
            self.looks_at_laws and stays and problem.rewards.variances() is not None
        )
        self.several = len(problem.contexts) > 1
        self.apart = self.several and policy.contexts is Contexts.APART
        self.empty = policy.new_state(problem)  # what an agent begins with; nobody writes to it
        self.upto_counters = self.pairs + len(self.empty.counters)
        self.upto_sums = self.upto_counters + self.pairs
        self.upto_statistics = self.upto_sums + self.pairs * kept
        self.upto_extra = self.upto_statistics + policy.extra_numbers(problem)
        self.layout = Struct(f"={self.upto_counters}q{self.upto_extra - self.upto_counters}d")
        # The statistics and the extra numbers of the many states that have none.
        self.nothing = np.zeros((self.pairs, 0)), np.zeros(0)
        self.none_pending = np.zeros(self.pairs, np.int64)

    @property
    def workspace(self) -> Workspace:
        """A workspace for plans, this thread's own."""
        try:
            return self._of_thread.workspace
        except AttributeError:
            self._of_thread.workspace = self.policy.workspace(self.prepared, self.problem.pairs)
            return self._of_thread.workspace

    def start(self) -> Memory:
        """Return what a policy remembers beyond its state, to begin with."""
        return None

    def plan(
        self,
        state: State,
        made: int,
        memory: Memory,
        random: Random,
        context: int = 0,
        pending: Counts | None = None,
        among: Arms | None = None,
    ) -> tuple[list[int], Memory]:
        """Return the arms to play next, in order, and the memory from here on.

        ``made`` decisions were made before; ``pending`` is how many of them, by pair, have no
        reward that counts. It is one arm if there are several contexts, or if only the arms
        ``among`` are eligible.
        """
        workspace = self.workspace
        if pending is None:
            pending = self.none_pending
        if self.several:
            self.policy.renew(workspace)
        prepared, here = self._view(state, context, among)
        arguments = prepared, here, workspace, made, pending, random
        if self._machine_code is None and self._compiles_first:
            self._compile(*arguments)
        if self._machine_code is None:
            length = self._plan_in_python(*arguments)
        else:
            length = self._machine_code(*arguments)
        if among is not None:
            cycle = workspace.cycle[:length].tolist()
            decided = (state.plays + pending)[context * self.arms :]
            return [self._choose_eligible(cycle, among, decided)], memory
        return workspace.cycle[: 1 if self.several else length].tolist(), memory

    def _choose_eligible(self, cycle: list[int], among: Arms, decided: Counts) -> int:
        """Return the eligible arm of a plan that was decided least often; of several, the first."""
        if self.policy.eligible is Eligible.LEFT_OUT:
            cycle = [among[index] for index in cycle]
        eligible = [arm for arm in cycle if arm in among]
        if not eligible:  # only a rule from elsewhere plans so
            raise plain.not_eligible(self.policy, self.problem, cycle[0], among)
        return min(eligible, key=lambda arm: int(decided[arm]))

    def _plan_in_python(self, *arguments: Any) -> int:
        """Do as `plan_once` by the rule as it stands; begin a speed-up once one is due."""
        prepared, state, workspace, made, pending, random = arguments
        began = perf_counter()
        with np.errstate(all="ignore"):  # as compiled: x / 0 is infinite
            ahead = Ahead(None, 1, made, pending)
            length = self.policy.plan(prepared, state, workspace, ahead, random)[0]
        self._spent += perf_counter() - began
        if self._speedups and self._spent > self._speedups[-1][0]:
            _, work = self._speedups.pop()
            threading.Thread(target=work, args=(self, *arguments), name=IN_BACKGROUND).start()
        return length

    def _load(self, *arguments: object) -> None:
        self._machine_code = load_code(plan_once, arguments)

    def _compile(self, *arguments: object) -> None:
        self._machine_code = compile_for(self.policy, plan_once, arguments)

    def chance(self, state: State, arm: int, context: int, among: Arms | None) -> float | None:
        """Return with which probability the plan just made in this thread was to play ``arm``."""
        prepared, here = self._view(state, context, among)
        return self.policy.chance(prepared, here, self.workspace, arm)

    def reasons(self, state: State, context: int, among: Arms | None) -> Reasons | None:
        """Return what the plan just made in this thread rests on, of the arms that are eligible."""
        prepared, here = self._view(state, context, among)
        reasons = self.policy.reasons(self.problem, prepared, here, self.workspace)
        if among is None or reasons is None or self.policy.eligible is Eligible.LEFT_OUT:
            return reasons
        numbers = {name: column[list(among)] for name, column in reasons.numbers.items()}
        return reasons._replace(numbers=numbers)

    def _view(self, state: State, context: int, among: Arms | None) -> tuple[Prepared, State]:
        """Return what the policy looks at to decide in a context, among eligible arms."""
        if self.apart:
            state = in_context(state, context, self.arms)
        elif self.several:
            state.counters[CONTEXT] = context
        if among is None:
            return self.prepared, state
        restricted = self._restricted.get((context, among))
        if restricted is None:
            if len(self._restricted) >= MOST_SETS:
                self._restricted.clear()
            restricted = self.policy.restrict(self.problem, self.prepared, context, among)
            self._restricted[context, among] = restricted
        if self.policy.eligible is Eligible.LEFT_OUT:
            state = of_arms(state, among)
        return restricted, state

    def observe(
        self, state: State, made: int, memory: Memory, pair: int, reward: float, random: Random
    ) -> Memory:
        """Take in one reward of a pair, on [0, 1], and return the memory from here on.

        ``made`` decisions were made by now.
        """
        arm = pair
        if self.looks_at_laws:
            state.statistics[pair] += self.problem.rewards.statistics_of(pair, reward)
        if self.apart:
            context, arm = divmod(pair, self.arms)
            state = in_context(state, context, self.arms)
        self.policy.observe(self.prepared, state, arm, 1, reward, random)
        return memory


class PlainReady(Ready):
    """A policy in ordinary Python, which prepares nothing."""

    policy: PlainPolicy

    def __init__(self, policy: PlainPolicy, problem: Problem) -> None:
        self._set_up(policy, problem)
        self.prepared = None

    def start(self) -> Memory:
        return plain.start(self.policy, self.problem)

    def plan(
        self,
        state: State,
        made: int,
        memory: Memory,
        random: Random,
        context: int = 0,
        pending: Counts | None = None,
        among: Arms | None = None,
    ) -> tuple[list[int], Memory]:
        if pending is None:
            pending = self.none_pending
        seen = Seen(self.problem, state, made, memory, context, pending, among)
        return [plain.decide(self.policy, seen, random)], seen.memory

    def chance(self, state: State, arm: int, context: int, among: Arms | None) -> float | None:
        return None

    def reasons(self, state: State, context: int, among: Arms | None) -> Reasons | None:
        return None

    def observe(
        self, state: State, made: int, memory: Memory, pair: int, reward: float, random: Random
    ) -> Memory:
        context, arm = divmod(pair, self.arms)
        seen = Seen(self.problem, state, made, memory, context, self.none_pending)
        plain.take_in(self.policy, seen, arm, reward)
        return seen.memory


_alive: WeakValueDictionary[tuple[Policy, Problem, object], Ready] = WeakValueDictionary()
"""Every prepared policy that is in use."""


def ready(policy: Policy, problem: Problem) -> Ready:
    """Return a policy ready for a problem; it is made once, and shared."""
    # Problems may be equal and differ in these: agents show them, and `frugal` reads the shares.
    others = problem.name, problem.truth, problem.shares, problem.fitted_units
    return _ready(policy, problem, others)


@lru_cache(maxsize=8)
def _ready(policy: Policy, problem: Problem, others: object) -> Ready:
    """Return the one in use, or make it; ``others`` tell apart problems that are equal."""
    prepared = _alive.get((policy, problem, others))
    if prepared is None:
        if isinstance(policy, PlainPolicy):
            prepared = PlainReady(policy, problem)
        else:
            prepared = Ready(policy, problem)
        _alive[policy, problem, others] = prepared
    return prepared


def refusal(policy: Policy, problem: Problem) -> str | None:
    """Return why a policy cannot play a problem, or None: some must know more than Θ tells."""
    try:
        ready(policy, problem)
    except InputError as error:
        return str(error)
    return None
