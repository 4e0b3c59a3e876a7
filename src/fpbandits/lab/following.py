"""Follows an experiment of a service by reading its store; nothing is written.

A `Follower` reads the new events of an experiment's log, some at a time, and counts them. For the
units with the latest events it loads the agents, to see which models are plausible and how many
rewards are blocked. There may be millions of units, so it loads at most `MOST_UNITS`.

Rewards inherited from an earlier experiment are counted, but are not shown over time.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field

from fpbandits.agent.agent import Agent
from fpbandits.errors import Error, InputError
from fpbandits.service.experiment import Experiment, Kept
from fpbandits.service.step import DECISION, EXPIRED, FORGOT, OBSERVED, REWARD, Event
from fpbandits.service.store import Store
from fpbandits.service.unit_state import unpack_unit

MOST_UNITS = 1_000
"""Agents are loaded for this many units at most, those with the latest events."""

ERROR = 0.05
"""The probability with which a verdict may be wrong."""

_AT_ONCE = 20_000
"""Events read at a time."""

_MOST_SPANS = 120
"""Events are counted in at most this many spans of time; when more are needed, spans double."""


@dataclass
class Span:
    """What happened in a span of time.

    ``events`` are counted by kind; ``rewards`` is the number of rewards that count, and ``total``
    their sum.
    """

    events: Counter[str] = field(default_factory=Counter)
    rewards: int = 0
    total: float = 0.0

    def add(self, other: Span) -> None:
        """Take in another span."""
        self.events.update(other.events)
        self.rewards += other.rewards
        self.total += other.total


@dataclass
class Summary:
    """A summary of the units whose agents were loaded.

    Attributes
    ----------
    units
        The number of these units.
    identified
        For each model, the number of units that have no other plausible one.
    best_fits
        For each model, the number of units that it fits best.
    misfits
        The number of units for which, at some decision, no model fitted.
    blocked
        The number of rewards that do not count before earlier ones arrive.
    verdicts
        The number of units with a verdict at `ERROR`, in all contexts if there are any.
    """

    units: int = 0
    identified: Counter[str] = field(default_factory=Counter)
    best_fits: Counter[str] = field(default_factory=Counter)
    misfits: int = 0
    blocked: int = 0
    verdicts: int = 0

    def add(self, other: Summary) -> None:
        """Take in a summary of other units."""
        self.units += other.units
        self.identified.update(other.identified)
        self.best_fits.update(other.best_fits)
        self.misfits += other.misfits
        self.blocked += other.blocked
        self.verdicts += other.verdicts


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
        What happened in each span; span k begins k · ``seconds`` after the start of 1970.
    """

    def __init__(self, store: Store, kept: Kept) -> None:
        self.experiment = Experiment.from_kept(kept)
        self.events: Counter[str] = Counter()
        self.arms: Counter[str] = Counter()
        self.seconds = 1.0
        self.spans: dict[int, Span] = {}
        self._store, self._last_seq = store, 0
        self._units: OrderedDict[str, Summary | None] = OrderedDict()

    def read(self) -> bool:
        """Read some new events, and return whether there may be more."""
        events = self._store.log(self.experiment.id, self._last_seq, _AT_ONCE)
        for seq, unit, event in events:
            self._last_seq = seq
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
        """Count an event in its span, unless it was inherited."""
        if event.kind == OBSERVED:
            return
        if event.arm is not None:  # a decision
            self.arms[event.arm] += 1
        reward = event.reward if event.kind in (REWARD, EXPIRED) else None
        new = Span(Counter([event.kind]), int(reward is not None), reward or 0.0)
        self.spans.setdefault(int(event.time // self.seconds), Span()).add(new)
        while max(self.spans) - min(self.spans) >= _MOST_SPANS:
            spans, self.spans, self.seconds = self.spans, {}, 2 * self.seconds
            for number, span in spans.items():
                self.spans.setdefault(number // 2, Span()).add(span)

    @property
    def overall(self) -> Span:
        """All spans together."""
        overall = Span()
        for span in self.spans.values():
            overall.add(span)
        return overall

    @property
    def latest_units(self) -> list[str]:
        """The units with the latest events, the latest first."""
        return list(reversed(self._units))

    def agent(self, unit: str) -> Agent | None:
        """Return the agent of a unit, if there is one."""
        state = self._state_of(unit)
        return None if state is None else unpack_unit(self.experiment, unit, state)[0]

    def _state_of(self, unit: str) -> str | None:
        row = self._store.unit((self.experiment.id, unit))
        return None if row is None else row.state

    @property
    def pending(self) -> int:
        """The number of pending decisions: those that wait for their rewards."""
        resolved = sum(self.events[kind] for kind in (REWARD, FORGOT, EXPIRED))
        return self.events[DECISION] - resolved

    def summary(self) -> Summary:
        """Load the agents that have changed, and return a summary of the latest units."""
        summary = Summary()
        for unit, loaded in self._units.items():
            of_unit = loaded or self._load(unit)
            if of_unit is not None:
                self._units[unit] = of_unit
                summary.add(of_unit)
        return summary

    def _load(self, unit: str) -> Summary | None:
        """Return the summary of one unit, if it has an agent that can be read."""
        state = self._state_of(unit)
        if state is None:
            return None
        try:
            agent, _ = unpack_unit(self.experiment, unit, state)
        except Error:  # a state that is spoiled concerns no other unit
            return None
        plausible = tuple(agent.plausible())
        return Summary(
            units=1,
            identified=Counter(plausible if len(plausible) == 1 else ()),
            best_fits=Counter(plausible[:1]),
            misfits=int(agent.misfits > 0),
            blocked=sum(arm.rewards for arm in agent.blocked.values()),
            verdicts=int(_has_verdict(agent)),
        )


def _has_verdict(agent: Agent) -> bool:
    """Tell whether an agent has a verdict, in all contexts if there are any."""
    contexts = agent.problem.contexts or (None,)
    try:
        return all(agent.verdict(ERROR, context) is not None for context in contexts)
    except InputError:  # under a change rate, where the truth moves, or without a posterior
        return False
