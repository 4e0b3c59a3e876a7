"""What a policy is: a few small functions over flat arrays, written once and used three ways.

``plan(model, tally, envelope, desk, budget, generator) -> (length, rounds)``
    fills ``desk.cycle[:length]`` with the arms to play next, in order, once each, and says how many
    times over that whole cycle will surely be repeated, whatever rewards come within the envelope:
    1 ≤ rounds ≤ max(1, budget // length). ``budget`` is in plays.
``repeats(model, tally, envelope, desk, rounds) -> bool``
    is the certificate behind ``rounds``; a plan finds its reach with `furthest`. A policy that
    never plans ahead has none.
``observe(model, tally, arm, plays, total, generator)``
    takes in ``plays`` rewards of ``arm`` that add up to ``total``, on [0, 1].

Live use and stepwise simulation call ``plan`` with a budget of 1. Leaping simulation gives all the
time there is until the next recorded one, and draws the sum of many rewards at once. So the rule
exists once, and what is simulated is what is deployed. The envelope may change how far a plan
reaches, never which arm is played.

``model`` is a named tuple of arrays that a policy makes of a problem once; it never changes and is
shared. ``tally`` is what a run or an agent has seen. A policy's file registers its functions for
the type of its model with `implement`; the compiled loop finds them by that type.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numba.core.caching import FunctionCache
from numba.extending import overload, register_jitable

from fpbandits.arrays import Counts, Floats
from fpbandits.errors import InputError, quote
from fpbandits.problem import Problem

Function = TypeVar("Function", bound=Callable[..., Any])


COMPILED: Any = {"error_model": "numpy", "forceinline": True, "_nrt": False}
"""How rules are compiled: into their caller, and without counting references to arrays, which would
cost more than the rules themselves. So they allocate nothing: the caller provides a `Desk`."""


def digest_of_sources(*more: str) -> str:
    """Return a digest of all that may be compiled into a loop, and of ``more`` files."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for pattern in ("policies/*.py", "families/*.py", "simulation/kernel.py", *more):
        for path in sorted(package.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


_SOURCES = digest_of_sources()


class _Cache(FunctionCache):
    """Machine code on disk, known by the text of all that went into it.

    Numba's own key is the text of the outermost function, so that a change to a policy's file would
    go unnoticed and the old rule be run.
    """

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        numba_cache: Any = super()
        return numba_cache._index_key(sig, codegen), _SOURCES

    def save_overload(self, sig: Any, data: Any) -> None:
        numba_cache: Any = super()
        with suppress(OSError):  # on a full disk it is compiled again the next time
            numba_cache.save_overload(sig, data)


def compiled(function: Function) -> Function:
    """Compile a function, keep the machine code on disk, and let it run beside other threads."""
    dispatcher, cache = njit(nogil=True, **COMPILED)(function), cast(Any, _Cache)
    dispatcher._cache = cache(function)
    return cast(Function, dispatcher)


CLOCK, REACH, MISFITS, STAGE = 0, 1, 2, 3
COUNTERS = 4
"""The counters of a tally: the policy's own clock (episodes, or plays), how far its last plan
reached, in how many plans no model fitted, and one for whatever else a policy must remember."""


class Tally(NamedTuple):
    """What was seen: plays and summed rewards of each arm, and the counters."""

    plays: Counts
    sums: Floats
    counters: Counts


class Desk(NamedTuple):
    """Room to work: the cycle that a plan fills, and scratch space by arm, model and level."""

    cycle: Counts
    counts: Counts
    numbers: Floats
    by_model: Floats
    by_level: Floats


def desk(arms: int, models: int = 0, levels: int = 0) -> Desk:
    """Make room for plans over so many arms; see `Policy.room` for the rest."""
    return Desk(
        np.zeros(arms, np.int64),
        np.zeros((4, arms), np.int64),
        np.zeros((3, arms)),
        np.zeros((3, models)),
        np.zeros((3, arms, levels)),
    )


class Envelope(NamedTuple):
    """How far the rewards of a stretch of plays can stray.

    After j ≤ m more plays of an arm of true mean p, its new rewards add up to some x in [0, j], and
    |x − jp| ≤ √(m·``spread``) for all j ≤ m at once, but with probability 2·exp(−2·spread) by
    Hoeffding's maximal inequality. An infinite spread leaves the worst case alone.
    """

    means: Floats
    spread: float


@dataclass(frozen=True)
class Policy(ABC):
    """A rule for playing; its options are its fields.

    Attributes
    ----------
    name
        The word for it on the command line.
    knows, guarantee
        What it must know of the problem, and what is proven of it, in a few words.
    """

    name: ClassVar[str]
    knows: ClassVar[str]
    guarantee: ClassVar[str]
    leaps: ClassVar[bool]
    """Whether a plan can reach over more than one round."""
    randomised: ClassVar[bool] = False
    """Whether it draws random numbers of its own."""
    thins: ClassVar[bool] = False
    """Whether a leap ends where the policy's own draw says, and not where a certificate does."""

    def __post_init__(self) -> None:
        for option in fields(self):
            value: Any = getattr(self, option.name)
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise InputError(f"{self.name}: {option.name} must be a number, not {quote(value)}")
            if not 0 <= value <= 1e100:
                raise InputError(
                    f"{self.name}: {option.name} is {quote(value)}: it must be 0 or more"
                )
            object.__setattr__(self, option.name, float(value))

    @abstractmethod
    def model(self, problem: Problem) -> Any:
        """Make the arrays that the policy's functions work on."""

    def refusal(self, problem: Problem) -> str | None:
        """Say why the policy cannot play a problem, if so: some must know more than Θ tells."""
        try:
            shared_model(self, problem)
        except InputError as error:
            return str(error)
        return None

    def tally(self, problem: Problem) -> Tally:
        """Return the tally of someone who has seen nothing."""
        arms = len(problem.arms)
        return Tally(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(COUNTERS, np.int64))

    def room(self, model: Any) -> tuple[int, int]:
        """Tell how many models and how many means an arm a plan needs room for on its desk."""
        return 0, 0

    def desk(self, model: Any, arms: int) -> Desk:
        """Make room for this policy's plans."""
        return desk(arms, *self.room(model))

    def margins(self, problem: Problem, tally: Tally) -> Floats | None:
        """Tell by how much each parameter fits what was seen; negative: it does not.

        In the user's units for a policy that looks at means, in units of log-likelihood for one
        that looks at likelihoods; None for one that rules no parameter out.
        """
        return None

    def __str__(self) -> str:
        """Return the policy as the command line writes it, options that differ included."""
        options = [
            f"{option.name}={getattr(self, option.name)!r}"
            for option in fields(self)
            if getattr(self, option.name) != option.default
        ]
        return ":".join([self.name, *options])


@lru_cache(maxsize=8)
def shared_model(policy: Policy, problem: Problem) -> Any:
    """Return `Policy.model`, made once for all chunks of runs and all agents."""
    return policy.model(problem)


def plan(
    model: Any, tally: Tally, envelope: Envelope, desk: Desk, budget: int, generator: Any
) -> tuple[int, int]:
    """Decide what to play next; see the module's docstring."""
    raise NotImplementedError


def repeats(model: Any, tally: Tally, envelope: Envelope, desk: Desk, rounds: int) -> bool:
    """Tell whether the cycle on the desk is sure to be played ``rounds`` times over."""
    raise NotImplementedError


def observe(model: Any, tally: Tally, arm: int, plays: int, total: float, generator: Any) -> None:
    """Take in rewards; see the module's docstring."""
    raise NotImplementedError


def implement(rule: Callable[..., Any], model_type: type) -> Callable[[Function], Function]:
    """Register a function as ``rule`` (`plan`, `repeats`, `observe`) for models of one type."""

    def register(function: Function) -> Function:
        # Strictness would compare annotations too.
        @overload(rule, strict=False, jit_options=COMPILED)
        def choose(model: Any, *others: Any) -> Any:
            return function if getattr(model, "instance_class", None) is model_type else None

        return function

    return register


@register_jitable(**COMPILED)
def add_to_tally(tally: Any, arm: int, plays: int, total: float) -> None:
    """Count plays and add up rewards: all that most policies observe."""
    tally.plays[arm] += plays
    tally.sums[arm] += total


@register_jitable(**COMPILED)
def furthest(model: Any, tally: Any, envelope: Any, desk: Any, most: int) -> int:
    """Return how many rounds of the cycle are certain, up to ``most``, within a third or so.

    Certain for m rounds is certain for fewer: so double or halve from a guess, the last reach, and
    halve the interval that remains once. More tests would cost more than longer leaps save.
    """
    if most == 1:
        return 1
    sure, unsure = 1, most + 1
    rounds = min(most, max(2, tally.counters[REACH]))
    while sure < rounds < unsure:
        if repeats(model, tally, envelope, desk, rounds):
            sure = rounds
            rounds = min(2 * rounds, most)
        else:
            unsure = rounds
            rounds //= 2
    rounds = (sure + unsure) // 2
    if sure < rounds <= most and repeats(model, tally, envelope, desk, rounds):
        sure = rounds
    tally.counters[REACH] = sure
    return sure


@register_jitable(**COMPILED)
def strays(envelope: Any, arm: int, more: int) -> float:
    """Return how far the sum of up to ``more`` rewards of an arm can be from its expectation."""
    mean = envelope.means[arm]
    if (mean == 0 or mean == 1) and envelope.spread < math.inf:
        return 0.0  # such rewards do not vary
    return math.sqrt(more * envelope.spread)


@register_jitable(**COMPILED)
def mean_range(
    plays: int, total: float, mean: float, more: int, deviation: float
) -> tuple[float, float]:
    """Enclose an arm's observed mean while 0 … ``more`` further plays come.

    The new rewards x of j plays keep 0 ≤ x ≤ j and |x − j·mean| ≤ deviation. The highest mean rises
    as (S + j)/(n + j) until the two limits cross at j = deviation/(1 − mean), and is monotone from
    there: so it is largest at the crossing or at the end. The lowest likewise.
    """
    up = more if deviation >= more * (1 - mean) else deviation / (1 - mean)
    down = more if deviation >= more * mean else deviation / mean
    end = plays + more
    high = max((total + up) / (plays + up), (total + min(more, more * mean + deviation)) / end)
    low = min(total / (plays + down), (total + max(0.0, more * mean - deviation)) / end)
    return low, high


@compiled
def plan_once(model: Any, tally: Any, desk: Any, generator: Any) -> int:
    """Plan one round, for live use; return its length."""
    length, _ = plan(model, tally, Envelope(tally.sums, np.inf), desk, 1, generator)
    return length


@compiled
def observe_once(model: Any, tally: Any, arm: int, reward: float, generator: Any) -> None:
    """Take in one reward, for live use."""
    observe(model, tally, arm, 1, reward, generator)
