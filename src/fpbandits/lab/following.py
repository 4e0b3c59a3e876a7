"""What the experiments of a service are doing, read from its store and never written to.

A `Follower` reads the log of an experiment from where it left off, some at a time, and counts. The
units that the log named last are looked at as they are: which models their agents still hold
possible, and what they wait for. There may be millions of units, so no more than `MOST_UNITS`.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from fpbandits.errors import InputError
from fpbandits.service.experiment import Experiment
from fpbandits.service.step import DECISION, EXPIRED, FORGOT, REWARD, Event, unpacked
from fpbandits.service.store import Kept, Store

MOST_UNITS = 1_000
"""Units that are looked at, those with the latest events."""

_AT_ONCE = 20_000
"""Events that are read at a time."""

_MOST_SPANS = 120
"""Spans of time in which events are counted, at the most; then each becomes twice as long."""


@dataclass
class Span:
    """What happened within a span of time."""

    decisions: int = 0
    rewards: int = 0


class Look(NamedTuple):
    """A unit as it was when it was looked at; no models where its policy rules none out."""

    models: tuple[str, ...] | None
    misfits: bool
    blocked: int


@dataclass
class Standing:
    """How the units stand that were looked at.

    Attributes
    ----------
    units
        How many they are.
    settled
        For each model, how many units have no other left.
    likeliest
        For each model, how many units it fits best, settled or not.
    misfits
        Units of which no model fitted what was seen, in some plan.
    blocked
        Rewards that were told and cannot count before earlier ones come.
    rules_out
        Whether the policy rules models out at all.
    """

    units: int = 0
    settled: Counter[str] = field(default_factory=Counter)
    likeliest: Counter[str] = field(default_factory=Counter)
    misfits: int = 0
    blocked: int = 0
    rules_out: bool = True


class Follower:
    """Follows one experiment.

    Attributes
    ----------
    experiment
        Which one.
    events
        How many events of each kind there were.
    seconds, spans
        How long a span of time is; and what happened in each, by its number since 1970.
    """

    def __init__(self, store: Store, kept: Kept) -> None:
        self.experiment = Experiment.from_definition(kept.id, kept.name, kept.definition)
        self.events: Counter[str] = Counter()
        self.seconds = 1.0
        self.spans: dict[int, Span] = {}
        self._store, self._upto = store, 0
        self._looks: OrderedDict[str, Look | None] = OrderedDict()

    def read(self) -> bool:
        """Read some events that are new, and tell whether there may be more."""
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
        span = self.spans.setdefault(int(event.time // self.seconds), Span())
        span.decisions += event.kind == DECISION
        span.rewards += event.kind in (REWARD, EXPIRED)
        while max(self.spans) - min(self.spans) >= _MOST_SPANS:
            spans, self.spans, self.seconds = self.spans, {}, 2 * self.seconds
            for number, old in spans.items():
                span = self.spans.setdefault(number // 2, Span())
                span.decisions += old.decisions
                span.rewards += old.rewards

    @property
    def open(self) -> int:
        """Decisions of which nothing has become yet."""
        settled = sum(self.events[kind] for kind in (REWARD, FORGOT, EXPIRED))
        return self.events[DECISION] - settled

    def standing(self) -> Standing:
        """Look at the units with the latest events, as far as they have changed."""
        found = Standing()
        for unit, look in self._looks.items():
            look = look or self._look(unit)
            if look is None:
                continue
            self._looks[unit] = look
            found.units += 1
            found.misfits += look.misfits
            found.blocked += look.blocked
            if look.models is None:
                found.rules_out = False
                continue
            found.likeliest.update(look.models[:1])
            if len(look.models) == 1:
                found.settled.update(look.models)
        return found

    def _look(self, unit: str) -> Look | None:
        row = self._store.unit((self.experiment.id, unit))
        if row is None:
            return None
        agent, _ = unpacked(self.experiment, unit, row.state)
        models: tuple[str, ...] | None
        try:
            models = tuple(agent.plausible())
        except InputError:  # a policy that rules nothing out
            models = None
        blocked = sum(each.rewards for each in agent.blocked.values())
        return Look(models, agent.misfits > 0, blocked)
