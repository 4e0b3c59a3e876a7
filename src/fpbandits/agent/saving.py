"""An agent as JSON, for a file or a database.

An agent's own state is small: counts and sums for each arm, and the pending decisions. All agents
on a problem share the problem and what the policy prepared of it. A state holds the problem's
fingerprint, not the problem.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Self

import numpy as np

from fpbandits.agent.ledger import Late, Ledger
from fpbandits.agent.player import Player
from fpbandits.agent.state import (
    READ,
    SCHEMA,
    numbers_to_json,
    packed_from_json,
    policy_of,
    rewards_without_statistics,
)
from fpbandits.core.checks import checked_path
from fpbandits.core.storage import check_kind, read_json, shown, write_aside
from fpbandits.engine.policy import Policy
from fpbandits.errors import ConflictError, Error, InputError, StorageError, quote, within
from fpbandits.policies.own import code_of
from fpbandits.problem.chain import filter_of
from fpbandits.problem.files import the_problem
from fpbandits.problem.problem import Problem

_compact = json.JSONEncoder(separators=(",", ":")).encode
"""Writes JSON without spaces; made once, because making an encoder takes longer than using it."""

_NO_STATE = ValueError, LookupError, TypeError, RecursionError, OverflowError, np.ma.MAError
"""What reading a state may raise if it is none; an `InputError` is among them, as a ValueError."""


class Saved(Player):
    """A player that can be saved and loaded."""

    __slots__ = ()

    def state(self) -> dict[str, Any]:
        """Return all of the agent but its problem, as values that JSON holds."""
        state = {
            "kind": "fpbandits agent",
            "schema": SCHEMA,
            "fingerprint": self._ready.problem.fingerprint,
            "policy": str(self._ready.policy),
            "code": code_of(self._ready.policy),
            "seed": self._seed,
            "late": self._ledger.late,
            **({"explore": self._explore} if self._explore else {}),
        }
        # A copy, so that neither changes with the other.
        own_state: dict[str, Any] = json.loads(self.own_state())
        return state | own_state

    def own_state(self) -> str:
        """Return, as JSON, what distinguishes the agent from one that has seen nothing yet.

        `another` reads it. For many agents with the same problem and policy.
        """
        with self._lock:
            state = {
                **self._ledger.state(),
                "observed": self._from_history,
                "plan": self._to_hand_out,
                **numbers_to_json(self._packed, self._ready),
                "memory": self._memory,
            }
            if self._squares is not None:
                state["squares"] = self._squares
            if self._filter is not None:
                state["filter"] = [self._filter.play, self._filter.belief.tolist()]
            if self._unweighed != rewards_without_statistics(state, self._seen, self._ready):
                state["unweighed"] = self._unweighed
            if self._log is not None:
                state["log"] = self._log
            try:
                return _compact(state)
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"its memory is not fit for JSON ({error})", place=(str(self._ready.policy),)
                ) from None

    def another(self, *, seed: int, own_state: str | None = None) -> Self:
        """Return an agent with the same problem, policy and options, and another seed.

        It has seen nothing, or what an `own_state` says. For many such agents: what they share is
        neither looked up nor checked again.
        """
        agent = type(self).__new__(type(self))
        log: list[Any] | None = None if self._log is None else []
        agent._begin(self._ready, seed, self._ledger.late, self._explore, log)
        if own_state is not None:
            try:
                agent._restore(json.loads(own_state))
            except _NO_STATE as error:
                if isinstance(error, Error):
                    raise
                raise _incomplete(error) from None
        return agent

    @classmethod
    def from_state(
        cls,
        state: Mapping[str, Any],
        problem: Problem | str | os.PathLike[str],
        policy: Policy | None = None,
    ) -> Self:
        """Return the agent that `state` describes, for the same problem.

        A ``policy`` of your own must be given if its class is not imported yet; its rule must be
        the one that the agent was playing by.
        """
        problem = the_problem(problem)
        try:
            checked = check_kind(dict(state), "agent", READ)
            if checked["fingerprint"] != problem.fingerprint:
                raise ConflictError(
                    f"this agent plays another problem than {quote(problem.name)}: the "
                    "fingerprints differ"
                )
            # A copy: the caller's state must not change with the agent.
            checked = checked | deepcopy({key: checked.get(key) for key in ("memory", "log")})
            agent = cls(
                problem,
                policy_of(checked, policy),
                seed=checked["seed"],
                late=checked["late"],
                explore=checked.get("explore", 0.0),
                log=checked["log"] is not None,
            )
            agent._restore(checked)
        except _NO_STATE as error:
            if isinstance(error, Error):
                raise
            raise _incomplete(error) from None
        return agent

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
    ) -> Self:
        """Read an agent that `save` wrote; see `from_state`."""
        file = checked_path(path)
        state = read_json(file, "agent", READ)
        with within(shown(file)):
            return cls.from_state(state, problem, policy)

    def _restore(self, state: dict[str, Any]) -> None:
        """Become the agent that a state describes."""
        ready, problem = self._ready, self._ready.problem
        arms, pairs = range(len(problem.arms)), range(ready.pairs)
        self._packed = packed_from_json(state, ready)
        self._memory = state.get("memory")
        self._from_history = int(state.get("observed", 0))
        self._to_hand_out = [arms.index(arm) for arm in state["plan"]]
        late: Late = self._ledger.late
        self._ledger = Ledger.from_state(state, late, pairs, problem.rewards.bounded)
        self._unweighed = int(
            state.get("unweighed", rewards_without_statistics(state, self._seen, ready))
        )
        # Earlier versions saved no squares: such an agent never checks the spread.
        squares = state.get("squares")
        self._squares = None if squares is None else float(squares)
        if self._filter is not None:
            self._filter = filter_of(state["filter"], problem, self._ledger.next)
        if self._log is not None:
            log = state.get("log") or []
            self._log = [[pairs.index(pair), float(reward)] for pair, reward in log]

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle by the state: a lock cannot be copied, and what is shared need not be."""
        return type(self).from_state, (self.state(), self._ready.problem, self._ready.policy)


def _incomplete(error: Exception) -> StorageError:
    return StorageError(f"not the whole state of an agent ({type(error).__name__}: {error})")
