"""`Agent`: the same rules, live. Ask what to play; tell what came of it.

An agent hands out the arms of a policy's plan one by one; when all are out it plans again, with
the rewards that count by then. Told at once, FP-UCB is Algorithm 1 to the letter: a plan is an
episode.

Rewards may be told late and out of order. Which of them count then matters: where failures are
known later than successes (a sale at once, a non-sale after a week), those told so far are a biased
sample, and the true model would be ruled out. So by default an arm counts only the rewards up to
its first decision that is still untold. `Agent.forget` gives a decision up, and those behind it
count again; what is forgotten is missing from the sample, so forgetting brings a bias of its own if
it depends on the reward. ``late="any"`` counts whatever is told, which is right where the delay
does not depend on the reward.

An agent's own state is small: counts and sums for each arm, and the decisions that are out. All
else, the problem and what the policy made of it, is shared by all agents on that problem. Its state
holds the problem's fingerprint, not the problem. An agent may be used from several threads.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Literal, get_args

import numpy as np

from fpbandits.agent.ledger import CROWD, Blocked, Ledger
from fpbandits.agent.plausible import FALSE_ALARM, margins
from fpbandits.agent.rewards import oddity, unit_reward
from fpbandits.agent.state import (
    READ,
    SCHEMA,
    numbers_to_json,
    packed,
    packed_from_json,
    policy_of,
    unpacked,
)
from fpbandits.core.checks import checked_path, known_name, whole_number
from fpbandits.core.renamed import RefusesOldAttributes
from fpbandits.core.storage import check_kind, read_json, shown, write_aside
from fpbandits.core.streams import HISTORY, PLANS, TOLD, agent_stream
from fpbandits.engine.contract import COUNTERS, MISFITS, State
from fpbandits.engine.policy import Policy
from fpbandits.engine.ready import NO_STREAM, ready
from fpbandits.errors import ConflictError, Error, InputError, StorageError, listed, quote, within
from fpbandits.policies import DEFAULT
from fpbandits.policies.own import code_of
from fpbandits.policies.parsing import the_policy
from fpbandits.problem.files import the_problem
from fpbandits.problem.problem import Problem

Late = Literal["in-order", "any"]

_compact = json.JSONEncoder(separators=(",", ":")).encode  # one for all: to make one takes longer

_NO_STATE = ValueError, LookupError, TypeError, RecursionError, OverflowError, np.ma.MAError


@dataclass(frozen=True, slots=True)
class Decision:
    """Play ``arm``, and tell its reward under ``id``; in ``context``, if there are any.

    ``probability`` is how likely the policy was to choose this arm: 1 where it draws nothing, and
    None where it draws and cannot tell.
    """

    id: int
    arm: str
    context: str | None = None
    probability: float | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        context = "" if self.context is None else f", context={self.context!r}"
        return f"Decision(id={self.id}, arm={self.arm!r}{context})"


class Agent(RefusesOldAttributes):
    """Plays a problem live, by a policy.

    Parameters
    ----------
    problem
        The candidate models; or what `load_problem` takes, such as "paper:two".
    policy
        A policy, or its name, as "fp-ucb"; by default the default one.
    seed
        Where a randomised policy gets its randomness from.
    late
        "in-order" or "any": which rewards count while others are still untold.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> problem = fpb.Problem.bernoulli([[.9, .5], [.2, .5]], models=["x", "y"])
    >>> agent = fpb.Agent(problem, fpb.FPUCB())
    >>> for reward in [1, 0] * 20:
    ...     decision = agent.ask()
    ...     agent.tell(decision.id, reward)
    >>> list(agent.plausible())
    ['x']
    """

    __slots__ = (
        "_from_history",
        "_ledger",
        "_lock",
        "_memory",
        "_packed",
        "_ready",
        "_seed",
        "_to_hand_out",
        "_warned",
    )

    def __init__(
        self,
        problem: Problem | str | os.PathLike[str],
        policy: Policy | str | None = None,
        *,
        seed: int = 0,
        late: Late = "in-order",
    ) -> None:
        problem = the_problem(problem)
        if not isinstance(late, str) or late not in get_args(Late):
            wanted = f"late is {quote(late)}: it must be one of {', '.join(get_args(Late))}"
            raise InputError(wanted, about=("late",))
        # Where a policy does not apply, this says so.
        self._ready = ready(DEFAULT() if policy is None else the_policy(policy), problem)
        self._seed = whole_number("seed", seed)
        self._lock = Lock()
        self._packed = packed(self._ready.empty)
        self._memory = self._ready.start()
        self._ledger = Ledger(late == "in-order")
        self._from_history = 0
        # Arms planned but not yet handed out, last one first.
        self._to_hand_out: list[int] = []
        self._warned: tuple[int, ...] = ()

    def ask(self, context: str | None = None) -> Decision:
        """Return what to play next, in a context if the problem has any."""
        problem = self._ready.problem
        place = context_index(problem, context) if problem.contexts or context is not None else 0
        probability = None if self._ready.policy.randomised else 1.0
        with self._lock:
            if not self._to_hand_out:
                number, seen = self._ledger.next, self._seen
                stream = self._stream(number, PLANS)
                pending = self._ledger.pending(self._ready.none_pending)
                arms, self._memory = self._ready.plan(
                    seen, number, self._memory, stream, place, pending
                )
                self._to_hand_out = arms[::-1]
                if probability is None:
                    probability = self._ready.chance(seen, arms[0])
            arm = self._to_hand_out.pop()
            number = self._ledger.hand_out(place * len(problem.arms) + arm)
        return Decision(number, problem.arms[arm], context, probability)

    def tell(self, id: int | Decision, reward: float) -> None:
        """Take in the reward of a decision, in the user's units; late and out of order is fine.

        The decision is named by its id; itself will do.
        """
        number = id.id if isinstance(id, Decision) else id
        with self._lock:
            arm = self._ledger.arm_of(number)
            value = unit_reward(self._ready, arm, reward, ("decision", int(number)))
            self._settle(arm, int(number), value)
            crowd = self._crowd(arm) if self._ledger.joins_a_crowd(int(number)) else None
        odd = None if value in (0.0, 1.0) else oddity(self._ready, value, reward)
        for remark in (crowd, odd):
            if remark is not None:
                warnings.warn(remark, stacklevel=2)

    def forget(self, id: int | Decision) -> None:
        """Give a decision up: its reward will never come."""
        number = id.id if isinstance(id, Decision) else id
        with self._lock:
            self._settle(self._ledger.arm_of(number), int(number), None)

    def observe(self, arm: str, reward: float, context: str | None = None) -> None:
        """Take in a reward, in the user's units, of a decision that this agent did not make.

        For a warm start: the history of a user, told before the first `ask`.
        """
        arms = self._ready.problem.arms
        place = arms.index(known_name("arm", arm, arms))
        place += context_index(self._ready.problem, context) * len(arms)
        value = unit_reward(self._ready, place, reward, ("arm", arm))
        with self._lock:
            stream = self._stream(self._from_history, HISTORY)
            self._from_history += 1
            self._take_in(place, value, stream)
        odd = oddity(self._ready, value, reward)
        if odd is not None:
            warnings.warn(odd, stacklevel=2)

    @property
    def problem(self) -> Problem:
        """The candidate models."""
        return self._ready.problem

    @property
    def policy(self) -> Policy:
        """The rule that it plays by."""
        return self._ready.policy

    @property
    def pending(self) -> dict[int, str]:
        """The decisions that are out: neither told nor forgotten."""
        with self._lock:
            names = self.problem.pair_names
            return {number: names[pair] for number, pair in self._ledger.out.items()}

    @property
    def blocked(self) -> dict[str, Blocked]:
        """The arms of which rewards were told that do not count yet, and what they wait for."""
        with self._lock:
            arms = enumerate(self.problem.pair_names)
            found = {name: self._ledger.blocked(arm) for arm, name in arms}
        return {name: blocked for name, blocked in found.items() if blocked is not None}

    @property
    def plays(self) -> dict[str, Any]:
        """How many rewards of each arm count so far, by context if there are any."""
        return self.problem.by_name(self._seen.plays.tolist())

    @property
    def misfits(self) -> int:
        """How many decisions were planned while no model fitted what was seen.

        FP-UCB's first episode, in which nothing can fit, is left out. More than a few mean that the
        truth is not among the models, or that rewards are biased.
        """
        return int(self._seen.counters[MISFITS::COUNTERS].sum())

    def plausible(self) -> dict[str, float]:
        """Return the models that fit what was seen, the best first, and by how many nats.

        Each is judged by its own means, whatever the policy. The true model is missing, ever, with
        probability at most the policy's ``false_alarm``, or one in a thousand.
        """
        with self._lock:
            level = getattr(self.policy, "false_alarm", 0.0) or FALSE_ALARM
            left = margins(self.problem, self._seen.plays, self._seen.sums, level)
        fitting = np.flatnonzero(left >= 0)
        order = fitting[np.argsort(-left[fitting], kind="stable")]
        return {self.problem.models[i]: float(left[i]) for i in order}

    def state(self) -> dict[str, Any]:
        """Return all that the agent is, but for its problem, as values that JSON holds."""
        state = {
            "kind": "fpbandits agent",
            "schema": SCHEMA,
            "fingerprint": self.problem.fingerprint,
            "policy": str(self.policy),
            "code": code_of(self.policy),
            "seed": self._seed,
            "late": "in-order" if self._ledger.in_order else "any",
        }
        # A copy, so that neither changes with the other.
        own: dict[str, Any] = json.loads(self.own_state())
        return state | own

    def own_state(self) -> str:
        """Return, as JSON, what tells the agent from another one that has seen nothing yet.

        For many agents of one kind: see `another`.
        """
        with self._lock:
            own = {
                **self._ledger.state(),
                "observed": self._from_history,
                "plan": self._to_hand_out,
                **numbers_to_json(self._packed, self._ready),
                "memory": self._memory,
            }
            try:
                return _compact(own)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"its memory is not fit for JSON ({error})", place=(str(self.policy),)
                ) from None

    def another(self, *, seed: int, own_state: str | None = None) -> Agent:
        """Return an agent like this one, which has seen nothing, or whatever `own_state` says.

        For many agents of one kind: what they share is neither looked up nor checked again.
        """
        agent = Agent.__new__(Agent)
        agent._ready, agent._seed, agent._lock, agent._warned = self._ready, seed, Lock(), ()
        if own_state is not None:
            try:
                agent._take_on(json.loads(own_state), self._ledger.in_order)
            except _NO_STATE as error:
                if isinstance(error, Error):
                    raise
                raise _incomplete(error) from None
            return agent
        agent._packed = packed(self._ready.empty)
        agent._memory = self._ready.start()
        agent._ledger = Ledger(self._ledger.in_order)
        agent._from_history, agent._to_hand_out = 0, []
        return agent

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, Any],
        problem: Problem | str | os.PathLike[str],
        policy: Policy | None = None,
    ) -> Agent:
        """Return the agent that `state` describes, for the same problem.

        A ``policy`` of your own must be given if it is not defined by now; its rule must be the
        one that the agent was playing by.
        """
        problem = the_problem(problem)
        try:
            checked = check_kind(dict(state), "agent", READ)
            if checked["fingerprint"] != problem.fingerprint:
                raise ConflictError(
                    f"this agent plays another problem than {quote(problem.name)}: the "
                    "fingerprints differ"
                )
            checked["memory"] = deepcopy(checked.get("memory"))  # others may begin from this state
            return cls._restored(checked, problem, policy_of(checked, policy))
        except _NO_STATE as error:
            if isinstance(error, Error):
                raise
            raise _incomplete(error) from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a JSON file, whole or not at all."""
        text = json.dumps(self.state(), separators=(",", ":"))
        write_aside(checked_path(path), (text + "\n").encode())

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        problem: Problem | str | os.PathLike[str],
        policy: Policy | None = None,
    ) -> Agent:
        """Read an agent that `save` wrote; see `from_state`."""
        file = checked_path(path)
        state = read_json(file, "agent", READ)
        with within(shown(file)):
            return cls.from_state(state, problem, policy)

    @classmethod
    def _restored(cls, state: dict[str, Any], problem: Problem, policy: Policy) -> Agent:
        agent = cls(problem, policy, seed=state["seed"], late=state["late"])
        agent._take_on(state, state["late"] == "in-order")
        return agent

    def _take_on(self, state: dict[str, Any], in_order: bool) -> None:
        """Become what a state describes."""
        own, problem = self._ready, self._ready.problem
        arms, pairs = range(len(problem.arms)), range(own.pairs)
        self._packed = packed_from_json(state, own)
        self._memory = state.get("memory")
        self._from_history = int(state.get("observed", 0))
        self._to_hand_out = [arms.index(arm) for arm in state["plan"]]
        self._ledger = Ledger.from_state(state, in_order, pairs, problem.rewards.bounded)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by the state: locks and what is shared are made anew."""
        return Agent.from_state, (self.state(), self.problem, self.policy)

    def __repr__(self) -> str:
        return (
            f"Agent({self.problem.name!r}, {self.policy}: {self._ledger.next:,} asked, "
            f"{len(self._ledger.out):,} pending)"
        )

    def _repr_html_(self) -> str:
        from fpbandits.agent.html import agent_html

        seen = self._seen
        return agent_html(self, seen.plays, seen.sums)

    @property
    def _seen(self) -> State:
        """A view: what a rule writes to it, it writes to the agent."""
        return unpacked(self._packed, self._ready)

    def _settle(self, arm: int, number: int, reward: float | None) -> None:
        """Count what may count now that this decision is no longer out: all of the same arm."""
        for each, value in self._ledger.settle(number, reward):
            self._take_in(arm, value, self._stream(each, TOLD))

    def _take_in(self, arm: int, reward: float, stream: np.random.Generator) -> None:
        asked, memory = self._ledger.next, self._memory
        self._memory = self._ready.observe(self._seen, asked, memory, arm, reward, stream)

    def _crowd(self, arm: int) -> str | None:
        """Say, once per arm, that its rewards pile up behind one that is not told."""
        blocked = self._ledger.blocked(arm)
        if blocked is None or blocked.rewards < CROWD or arm in self._warned:
            return None
        self._warned += (arm,)
        return blocked.warning(f"arm {quote(self.problem.pair_names[arm])}")

    def _stream(self, number: int, purpose: int) -> np.random.Generator:
        if not self._ready.policy.randomised:
            return NO_STREAM
        return agent_stream(self._seed, number, purpose)


def context_index(problem: Problem, context: str | None) -> int:
    """Return which context of a problem this is; it must be named where there are any."""
    if context is None and not problem.contexts:
        return 0
    if context is None:
        which = f"say which one this is for, one of {listed(problem.contexts)}"
        raise InputError(f"{problem.name} has contexts: {which}", about=("context",))
    if not problem.contexts:
        given = f"and the context {quote(context)} was given: leave it out"
        raise InputError(f"{problem.name} has no contexts, {given}", about=("context",))
    return problem.contexts.index(known_name("context", context, problem.contexts))


def _incomplete(error: Exception) -> StorageError:
    return StorageError(f"not the whole state of an agent ({type(error).__name__}: {error})")
