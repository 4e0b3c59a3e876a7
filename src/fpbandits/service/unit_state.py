"""A unit's state as a text: its agent, and when its pending decisions expire."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable

from fpbandits.agent.agent import Agent
from fpbandits.service.experiment import Experiment

Due = deque[tuple[int, float]]
"""Numbers of pending decisions, and the time at which each expires, in seconds since 1970."""


def cap_due(due: Iterable[tuple[int, float]], wait: float, now: float) -> Due:
    """Return the same, but no time later than ``wait`` from now: the clock has gone back."""
    return deque((number, min(until, now + wait)) for number, until in due)


def pack_unit(experiment: Experiment, agent: Agent, due: Iterable[tuple[int, float]]) -> str:
    """Return a unit's state as a text: its agent's, and when its decisions expire."""
    state = agent.own_state()
    if experiment.reward_wait is None:
        return state
    # The times come first, on a line of their own, so that the agent's state need not be parsed.
    return f"{json.dumps(list(due), separators=(',', ':'))}\n{state}"


def unpack_unit(experiment: Experiment, unit: str, state: str | None) -> tuple[Agent, Due]:
    """Return the agent, and when its decisions expire: the reverse of `pack_unit`."""
    if state is None or experiment.reward_wait is None:
        return experiment.agent(unit, state), deque()
    due, _, agent_state = state.partition("\n")
    return experiment.agent(unit, agent_state), deque(map(tuple, json.loads(due)))
