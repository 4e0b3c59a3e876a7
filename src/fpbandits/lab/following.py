"""The experiments of a service, read from its store and never written to.

A `Follower` reads the log of an experiment from where it left off, some events at a time, and
counts them. For the units with the latest events it loads the agents: which models are plausible,
and which rewards are blocked. There may be millions of units, so it loads at most `MOST_UNITS`.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from fpbandits.service.experiment import Experiment
from fpbandits.service.step import DECISION, EXPIRED, FORGOT, REWARD, Event, unpacked
from fpbandits.service.store import Kept, Store

MOST_UNITS = 1_000
"""Units whose agents are loaded: those with the latest events."""

_AT_ONCE = 20_000
"""Events read at a time."""

_MOST_SPANS = 120
"""Most spans of time in which events are counted; then each becomes twice as long."""


class Look(NamedTuple):
    """A unit when its agent was loaded: the plausible models, the best first, and two alarms."""

    models: tuple[str, ...]
    misfits: bool
    blocked: int


@dataclass
class Standing:
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
        Units whose rewards no model fitted, in some plan.
    blocked
        Rewards that cannot count before earlier ones come.
    """

    units: int = 0
    settled: Counter[str] = field(default_factory=Counter)
    likeliest: Counter[str] = field(default_factory=Counter)
    misfits: int = 0
    blocked: int = 0


class Follower:
    """Follows one experiment.

    Attributes
    ----------
    experiment
        Which one.
    events
        The number of events of each kind.
    seconds
        The length of a span of time.
    spans
        Events of each kind in each span, by its number since 1970.
    """

    def __init__(self, store: Store, kept: Kept) -> None:
        self.experiment = Experiment.from_definition(kept.id, kept.name, kept.definition)
        self.events: Counter[str] = Counter()
        self.seconds = 1.0
        self.spans: dict[int, Counter[str]] = {}
        self._store, self._upto = store, 0
        self._looks: OrderedDict[str, Look | None] = OrderedDict()

    def read(self) -> bool:
        """Read some new events, and return whether there may be more."""
        events = self._store.log(self.experiment.id, self._upto, _AT_ONCE)
        for seq, unit, event in events:
            self._upto = seq
            self.events[event.kind] += 1
            self._looks[unit] = None
            self._looks.move_to_end(unit)
            self._count(event)
        while len(self._looks) > MOST_UNITS:
            self._looks.popitem(last=False)
        return len(events) == _AT_ONCE

    def _count(self, event: Event) -> None:
        self.spans.setdefault(int(event.time // self.seconds), Counter())[event.kind] += 1
        while max(self.spans) - min(self.spans) >= _MOST_SPANS:
            spans, self.spans, self.seconds = self.spans, {}, 2 * self.seconds
            for number, events in spans.items():
                self.spans.setdefault(number // 2, Counter()).update(events)

    @property
    def open(self) -> int:
        """Decisions without a reward so far."""
        resolved = sum(self.events[kind] for kind in (REWARD, FORGOT, EXPIRED))
        return self.events[DECISION] - resolved

    def standing(self) -> Standing:
        """Return a summary of the units with the latest events; loads those that have changed."""
        found = Standing()
        for unit, look in self._looks.items():
            look = look or self._look(unit)
            if look is None:
                continue
            self._looks[unit] = look
            found.units += 1
            found.misfits += look.misfits
            found.blocked += look.blocked
            found.likeliest.update(look.models[:1])
            if len(look.models) == 1:
                found.settled.update(look.models)
        return found

    def _look(self, unit: str) -> Look | None:
        row = self._store.unit((self.experiment.id, unit))
        if row is None:
            return None
        agent, _ = unpacked(self.experiment, unit, row.state)
        blocked = sum(each.rewards for each in agent.blocked.values())
        return Look(tuple(agent.plausible()), agent.misfits > 0, blocked)
