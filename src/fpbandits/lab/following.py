"""The experiments of a service, read from its store and never written to.

A `Follower` reads the new events of an experiment's log, some at a time, and counts them. For the
units with the latest events it loads the agents, to see which models are plausible and how many
rewards are blocked. There may be millions of units, so it loads at most `MOST_UNITS`.

History of an earlier experiment is counted, and is no part of what happens over time.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from fpbandits.agent.agent import Agent
from fpbandits.errors import ConflictError
from fpbandits.service.experiment import Experiment, Kept
from fpbandits.service.step import (
    DECISION,
    EXPIRED,
    FORGOT,
    OBSERVED,
    REWARD,
    Event,
    unpacked,
)
from fpbandits.service.store import Store

MOST_UNITS = 1_000
"""How many agents are loaded: those of the units with the latest events."""

ERROR = 0.05
"""With which probability a verdict may be wrong."""

_AT_ONCE = 20_000
"""Events read at a time."""

_MOST_SPANS = 120
"""Events are counted in at most so many spans of time; beyond that, spans double in length."""


@dataclass
class Span:
    """What happened in a span of time: events by kind, and rewards that count with their sum."""

    events: Counter[str] = field(default_factory=Counter)
    rewards: int = 0
    total: float = 0.0

    def add(self, other: Span) -> None:
        """Take in another span."""
        self.events.update(other.events)
        self.rewards += other.rewards
        self.total += other.total


class UnitState(NamedTuple):
    """What the agent of a unit says: the plausible models, the best first, and two alarms.

    ``has_verdict`` tells whether there is a verdict, in all contexts if there are any.
    """

    plausible: tuple[str, ...]
    misfits: bool
    blocked: int
    has_verdict: bool


@dataclass
class Summary:
    """A summary of the units whose agents were loaded.

    Attributes
    ----------
    units
        Their number.
    settled
        For each model, how many units have no other plausible one.
    likeliest
        For each model, how many units it fits best.
    misfits
        Units for which, at some decision, no model fitted.
    blocked
        Rewards that do not count before earlier ones arrive.
    verdicts
        Units with a verdict, at `ERROR`.
    """

    units: int = 0
    settled: Counter[str] = field(default_factory=Counter)
    likeliest: Counter[str] = field(default_factory=Counter)
    misfits: int = 0
    blocked: int = 0
    verdicts: int = 0


class Follower:
    """Reads the log of one experiment.

    Attributes
    ----------
    experiment
        The experiment.
    events, arms
        The number of events of each kind, and of decisions for each arm.
    seconds
        The length of a span of time.
    spans
        What happened in each span; span k begins k · ``seconds`` after 1970.
    """

    def __init__(self, store: Store, kept: Kept) -> None:
        self.experiment = Experiment.from_kept(kept)
        self.events: Counter[str] = Counter()
        self.arms: Counter[str] = Counter()
        self.seconds = 1.0
        self.spans: dict[int, Span] = {}
        self._store, self._upto = store, 0
        self._units: OrderedDict[str, UnitState | None] = OrderedDict()

    def read(self) -> bool:
        """Read some new events, and return whether there may be more."""
        events = self._store.log(self.experiment.id, self._upto, _AT_ONCE)
        for seq, unit, event in events:
            self._upto = seq
            if unit is None:  # it happened to the experiment
                continue
            self.events[event.kind] += 1
            self._units[unit] = None
            self._units.move_to_end(unit)
            self._count(event)
        while len(self._units) > MOST_UNITS:
            self._units.popitem(last=False)
        return len(events) == _AT_ONCE

    def _count(self, event: Event) -> None:
        if event.kind == OBSERVED:
            return
        if event.kind == DECISION and event.arm is not None:
            self.arms[event.arm] += 1
        counts = event.kind in (REWARD, EXPIRED) and event.reward is not None
        happened = Span(Counter([event.kind]), int(counts), event.reward or 0.0 if counts else 0.0)
        self.spans.setdefault(int(event.time // self.seconds), Span()).add(happened)
        while max(self.spans) - min(self.spans) >= _MOST_SPANS:
            spans, self.spans, self.seconds = self.spans, {}, 2 * self.seconds
            for number, span in spans.items():
                self.spans.setdefault(number // 2, Span()).add(span)

    @property
    def rewards(self) -> Span:
        """All spans together."""
        everything = Span()
        for span in self.spans.values():
            everything.add(span)
        return everything

    @property
    def latest(self) -> list[str]:
        """The units with the latest events, the latest first."""
        return list(reversed(self._units))

    def agent(self, unit: str) -> Agent | None:
        """Return the agent of a unit, if there is one."""
        row = self._store.unit((self.experiment.id, unit))
        return None if row is None else unpacked(self.experiment, unit, row.state)[0]

    @property
    def open(self) -> int:
        """The number of decisions that have no reward yet."""
        resolved = sum(self.events[kind] for kind in (REWARD, FORGOT, EXPIRED))
        return self.events[DECISION] - resolved

    def summary(self) -> Summary:
        """Return a summary of the units with the latest events; loads those that have changed."""
        summary = Summary()
        for unit, state in self._units.items():
            state = state or self._load(unit)
            if state is None:
                continue
            self._units[unit] = state
            summary.units += 1
            summary.misfits += state.misfits
            summary.blocked += state.blocked
            summary.verdicts += state.has_verdict
            summary.likeliest.update(state.plausible[:1])
            if len(state.plausible) == 1:
                summary.settled.update(state.plausible)
        return summary

    def _load(self, unit: str) -> UnitState | None:
        agent = self.agent(unit)
        if agent is None:
            return None
        blocked = sum(each.rewards for each in agent.blocked.values())
        return UnitState(tuple(agent.plausible()), agent.misfits > 0, blocked, _has_verdict(agent))


def _has_verdict(agent: Agent) -> bool:
    contexts = agent.problem.contexts or (None,)
    try:
        return all(agent.verdict(ERROR, context) is not None for context in contexts)
    except ConflictError:  # under a change rate, or without a posterior
        return False
