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
else, the problem and what the policy made of it, is shared by all agents on that problem. Its file
holds the problem's fingerprint, not the problem.
"""

from __future__ import annotations

import json
import os
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fpbandits.arrays import Counts
from fpbandits.checks import whole_number
from fpbandits.errors import Error, InputError, quote
from fpbandits.policies import DEFAULT, parse_policy
from fpbandits.policies.base import (
    COUNTERS,
    MISFITS,
    Policy,
    Tally,
    observe_once,
    plan_once,
    shared_model,
)
from fpbandits.problem import Problem
from fpbandits.storage import write_aside

SCHEMA = 1
LATE = ("in-order", "any")


@dataclass(frozen=True, slots=True)
class Decision:
    """Play ``arm``, and tell its reward under ``id``."""

    id: int
    arm: str


def _packed(tally: Tally) -> Counts:
    """Put a tally into one array: for a million agents, two headers less are worth having."""
    return np.concatenate([tally.plays, tally.sums.view(np.int64), tally.counters])


class Agent:
    """Plays a problem live, by a policy.

    Parameters
    ----------
    problem
        The candidate models.
    policy
        By default the default policy.
    seed
        Where a randomised policy gets its randomness from.
    late
        "in-order" or "any": which rewards count while others are still untold.

    Examples
    --------
    >>> import fpbandits as fpb
    >>> problem = fpb.Problem.bernoulli([[.9, .5], [.2, .5]], parameters=["x", "y"])
    >>> agent = fpb.Agent(problem, fpb.FPUCB())
    >>> for reward in [1, 0] * 20:
    ...     decision = agent.ask()
    ...     agent.tell(decision.id, reward)
    >>> list(agent.survivors())
    ['x']
    """

    __slots__ = (
        "_late",
        "_next",
        "_numbers",
        "_out",
        "_plan",
        "_policy",
        "_problem",
        "_queues",
        "_seed",
        "_told",
    )

    def __init__(
        self,
        problem: Problem,
        policy: Policy | None = None,
        *,
        seed: int = 0,
        late: str = "in-order",
    ) -> None:
        if policy is not None and not isinstance(policy, Policy):
            raise InputError(f"expected a policy such as FPUCB(), not {quote(policy)}")
        if late not in LATE:
            raise InputError(f"late is {quote(late)}: it must be one of {', '.join(LATE)}")
        self._problem = problem
        self._policy = DEFAULT() if policy is None else policy
        # Where a policy does not apply, say so here.
        shared_model(self._policy, problem)
        self._seed = whole_number("seed", seed)
        self._late = late
        self._numbers = _packed(self._policy.tally(problem))
        self._next = 0
        # Arms planned but not yet handed out, last one first.
        self._plan: list[int] = []
        # Decisions that are out, with their arms; those told that cannot count yet; and for each
        # arm its decisions in order, from the first that is out.
        self._out: dict[int, int] = {}
        self._told: dict[int, float] = {}
        self._queues: dict[int, deque[int]] = {}

    def ask(self) -> Decision:
        """Return what to play next."""
        number = self._next
        if not self._plan:
            model = shared_model(self._policy, self._problem)
            room = self._policy.desk(model, len(self._problem.arms))
            length = plan_once(model, self._tally, room, self._stream(number, 0))
            self._plan = room.cycle[:length][::-1].tolist()
        arm = self._plan.pop()
        self._next += 1
        self._out[number] = arm
        if self._late == "in-order":
            self._queues.setdefault(arm, deque()).append(number)
        return Decision(number, self._problem.arms[arm])

    def tell(self, id: int, reward: float) -> None:
        """Take in the reward of a decision, in the user's units; late and out of order is fine."""
        number, arm = self._checked(id)
        low, high = self._problem.range
        try:
            value = float(reward)
        except (TypeError, ValueError, OverflowError):
            raise InputError(
                f"decision {number}: the reward must be a number, not {quote(reward)}"
            ) from None
        if not low <= value <= high:
            raise InputError(
                f"decision {number}: the reward {quote(reward)} is outside the range "
                f"[{low:g}, {high:g}]"
            )
        del self._out[number]
        self._told[number] = (value - low) / (high - low)
        self._count(arm, number)

    def forget(self, id: int) -> None:
        """Give a decision up: its reward will never come."""
        number, arm = self._checked(id)
        del self._out[number]
        self._count(arm, number)

    @property
    def outstanding(self) -> dict[int, str]:
        """The decisions that are out: neither told nor forgotten."""
        return {number: self._problem.arms[arm] for number, arm in self._out.items()}

    @property
    def plays(self) -> dict[str, int]:
        """How many rewards of each arm count so far."""
        return dict(zip(self._problem.arms, self._tally.plays.tolist(), strict=True))

    @property
    def misfits(self) -> int:
        """In how many episodes, the first left out, no model fitted what was seen.

        More than a few mean that the truth is not among the models, or that rewards are biased.
        """
        return int(self._tally.counters[MISFITS])

    def survivors(self) -> dict[str, float]:
        """Return the models that still fit, the best first, and by how much.

        By how much: for FP-UCB, the least that a mean could be off before the model would be ruled
        out, in the user's units; for a policy of likelihoods, how much log-likelihood it has left.
        """
        margins = self._policy.margins(self._problem, self._tally)
        if margins is None:
            raise InputError(f"{self._policy} does not rule any model out")
        fitting = np.flatnonzero(margins >= 0)
        order = fitting[np.argsort(-margins[fitting], kind="stable")]
        return {self._problem.parameters[i]: float(margins[i]) for i in order}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the agent to a JSON file, whole or not at all."""
        state = {
            "kind": "fpbandits agent",
            "schema": SCHEMA,
            "fingerprint": self._problem.fingerprint,
            "policy": str(self._policy),
            "seed": self._seed,
            "late": self._late,
            "next": self._next,
            "plan": self._plan,
            "out": list(self._out.items()),
            "told": list(self._told.items()),
            "queues": [[arm, list(queue)] for arm, queue in self._queues.items()],
            "plays": self._tally.plays.tolist(),
            "sums": self._tally.sums.tolist(),
            "counters": self._tally.counters.tolist(),
        }
        write_aside(Path(path), (json.dumps(state) + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str], problem: Problem) -> Agent:
        """Read an agent that `save` wrote, for the same problem."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(f"{path}: there is no such file") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read ({error})") from None
        try:
            state = json.loads(text)
            if not isinstance(state, dict) or state.get("kind") != "fpbandits agent":
                raise InputError("not an agent of fpbandits")
            if state["schema"] != SCHEMA:
                raise InputError(
                    f"written with schema {quote(state['schema'])}, and this version of fpbandits "
                    f"reads schema {SCHEMA}"
                )
            if state["fingerprint"] != problem.fingerprint:
                raise InputError(
                    f"this agent plays another problem than {quote(problem.name)}: the "
                    "fingerprints differ"
                )
            return cls._restored(state, problem)
        except Error as error:
            raise error.at(str(path)) from None
        except (ValueError, LookupError, TypeError, RecursionError, OverflowError) as error:
            raise InputError(
                f"{path}: not a whole agent file ({type(error).__name__}: {error})"
            ) from None

    @classmethod
    def _restored(cls, state: dict[str, Any], problem: Problem) -> Agent:
        agent = cls(
            problem, parse_policy(str(state["policy"])), seed=state["seed"], late=state["late"]
        )
        arms = range(len(problem.arms))
        counters = state["counters"]
        if len(counters) == COUNTERS - 1:  # written before the last one was there
            counters = [*counters, 0]
        tally = Tally(
            np.array(state["plays"], np.int64),
            np.array(state["sums"], np.float64),
            np.array(counters, np.int64),
        )
        if [part.shape for part in tally] != [part.shape for part in agent._tally]:
            raise ValueError("the tally has another shape")
        if not (
            ((tally.sums >= 0) & (tally.sums <= tally.plays)).all() and min(state["counters"]) >= 0
        ):
            raise ValueError("the tally does not add up")
        agent._numbers = _packed(tally)
        agent._next = int(state["next"])
        agent._plan = [arms.index(arm) for arm in state["plan"]]
        agent._out = {int(number): arms.index(arm) for number, arm in state["out"]}
        agent._told = {int(number): float(reward) for number, reward in state["told"]}
        agent._queues = {arms.index(arm): deque(map(int, queue)) for arm, queue in state["queues"]}
        queued = [number for queue in agent._queues.values() for number in queue]
        numbers = {*agent._out, *agent._told, *queued}
        if not all(0 <= number < agent._next for number in numbers):
            raise ValueError("a decision was never made")
        if not all(0 <= reward <= 1 for reward in agent._told.values()):
            raise ValueError("a reward is out of range")
        waiting = [*agent._told, *agent._out] if agent._late == "in-order" else []
        if len(set(queued)) < len(queued) or not set(waiting) <= set(queued):
            raise ValueError("a decision is not where it belongs")
        if agent._told.keys() & agent._out.keys() or (agent._late == "any" and agent._told):
            raise ValueError("a reward is told and untold")
        if any(
            arm not in agent._queues or number not in agent._queues[arm]
            for number, arm in agent._out.items()
            if agent._late == "in-order"
        ):
            raise ValueError("a decision is in another arm's queue")
        return agent

    def __repr__(self) -> str:
        return (
            f"Agent({self._problem.name!r}, {self._policy}: {self._next:,} asked, "
            f"{len(self._out):,} outstanding)"
        )

    @property
    def _tally(self) -> Tally:
        arms, numbers = len(self._problem.arms), self._numbers
        sums = numbers[arms : 2 * arms].view(np.float64)
        return Tally(numbers[:arms], sums, numbers[2 * arms :])

    def _checked(self, id: int) -> tuple[int, int]:
        """Return a decision that is out, and its arm."""
        if isinstance(id, bool) or not isinstance(id, int | np.integer) or not 0 <= id < self._next:
            raise InputError(f"unknown decision {quote(id)}: this agent has made no such decision")
        if id not in self._out:
            raise InputError(f"decision {id} was told or forgotten already")
        return int(id), self._out[id]

    def _count(self, arm: int, id: int) -> None:
        """Count what may count now that this decision is no longer out."""
        if self._late == "any":
            ready = [id]
        else:
            ready, queue = [], self._queues[arm]
            while queue and queue[0] not in self._out:
                ready.append(queue.popleft())
            if not queue:
                del self._queues[arm]
        model = shared_model(self._policy, self._problem)
        for number in ready:
            if number in self._told:  # else it was forgotten
                stream = self._stream(number, 1)
                observe_once(model, self._tally, arm, self._told.pop(number), stream)
        # A dictionary that was emptied keeps its room; a new one takes none.
        self._out, self._told, self._queues = self._out or {}, self._told or {}, self._queues or {}

    def _stream(self, number: int, purpose: int) -> np.random.Generator:
        """Return a stream for one plan or one reward, so that there is none to keep."""
        if not self._policy.randomised:
            return _NO_STREAM
        key = (number, purpose)
        sequence = np.random.SeedSequence(self._seed, spawn_key=key)
        return np.random.Generator(np.random.PCG64(sequence))


_NO_STREAM = np.random.default_rng(0)
