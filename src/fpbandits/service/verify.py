"""`verify`: take every step of the log again, and see whether each decision is as logged.

For each unit a new agent is told what the log says, in its order, and asked where the log says that
it was asked. It must decide the same, and be as likely to. The unit's state, too, must be the one
that is kept, with the decisions that it waits for, and its events must be numbered without a gap:
so that nothing was lost, and nothing counted twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from math import isclose
from operator import itemgetter

from fpbandits.agent.agent import Agent
from fpbandits.errors import Error, UnknownError, quote, unknown
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import decision_name
from fpbandits.service.step import (
    DECISION,
    EXPIRED,
    FORGOT,
    KINDS,
    OBSERVED,
    REWARD,
    Event,
    packed,
)
from fpbandits.service.store import Kept, Store

MOST_SHOWN = 20
"""Differences that are kept; all are counted."""


@dataclass
class Verification:
    """How many decisions were made again, and what differs from the log."""

    decisions: int = 0
    units: int = 0
    events: int = 0
    differences: int = 0
    shown: list[str] = field(default_factory=list)

    def differs(self, words: str) -> None:
        """Note a difference."""
        self.differences += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(words)


def experiments_of(store: Store, name: str | None) -> list[Kept]:
    """Return the experiment of that name, or all of them."""
    kept = store.experiments()
    if name is None:
        return kept
    found = [each for each in kept if each.name == name]
    if not found:
        raise (
            unknown("experiment", name, [each.name for each in kept])
            if kept
            else UnknownError(f"unknown experiment {quote(name)}: the store has none")
        )
    return found


def verify(
    store: Store, experiment: str | None = None, progress: Callable[[int], None] | None = None
) -> Verification:
    """Play a store's log again; ``progress`` is told how many events were taken."""
    found = Verification()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an agent's remarks were made when it was told
        for kept in experiments_of(store, experiment):
            _verify(store, kept, found, progress)
    return found


def _verify(
    store: Store, kept: Kept, found: Verification, progress: Callable[[int], None] | None
) -> None:
    experiment = Experiment.from_definition(kept.id, kept.name, kept.definition)
    with store.history(kept.id) as history:
        states = history.states()
        for unit, rows in groupby(history.events(), itemgetter(0)):
            where = f"{kept.name}: {unit}"
            played = _played(experiment, unit, (event for _, event in rows), found)
            for name, steps, state in states:
                if name == unit:
                    _compare(played, steps, state, where, found)
                    break
                _nothing_expected(kept.name, name, steps, found)
            else:
                found.differs(f"{where}: has events and no state")
            found.units += 1
            if progress is not None:
                progress(found.events)
        for name, steps, _ in states:
            _nothing_expected(kept.name, name, steps, found)


def _nothing_expected(experiment: str, unit: str, steps: int, found: Verification) -> None:
    if steps:
        found.differs(f"{experiment}: {unit}: {steps} events are kept, and none is in the log")


def _played(
    experiment: Experiment, unit: str, events: Iterator[Event], found: Verification
) -> tuple[str, int]:
    """Return the state of a unit that went through all of its events, and how many there were."""
    agent, count = experiment.agent(unit), 0
    due: dict[int, float] = {}
    for event in events:
        count += 1
        found.events += 1
        if event.kind == DECISION:
            due[event.number] = event.time + (experiment.reward_wait or 0)
        else:
            due.pop(event.number, None)
        if event.step != count:
            found.differs(f"{experiment.name}: {unit}: event {count} is numbered {event.step}")
        try:
            _take(experiment, agent, unit, event, found)
        except Error as error:
            where = decision_name(unit, event.number)
            found.differs(f"{experiment.name}: {where}: {event.kind} cannot be ({error})")
    return packed(experiment, agent, due.items()), count


def _take(
    experiment: Experiment, agent: Agent, unit: str, event: Event, found: Verification
) -> None:
    if event.kind == DECISION:
        found.decisions += 1
        decision = agent.ask(event.context)
        if (decision.id, decision.arm) != (event.number, event.arm):
            found.differs(
                f"{experiment.name}: {decision_name(unit, event.number)}: logged {event.arm}, "
                f"and now it is {decision.arm} ({decision_name(unit, decision.id)})"
            )
        elif not _alike(decision.probability, event.probability):
            found.differs(
                f"{experiment.name}: {decision_name(unit, event.number)}: logged as likely "
                f"{event.probability}, and now it is {decision.probability}"
            )
    elif event.kind == REWARD or (event.kind == EXPIRED and event.reward is not None):
        agent.tell(event.number, event.reward)  # type: ignore[arg-type]  # refused if it is None
    elif event.kind in (FORGOT, EXPIRED):
        agent.forget(event.number)
    elif event.kind == OBSERVED:
        agent.observe(event.arm, event.reward, event.context)  # type: ignore[arg-type]  # likewise
    elif event.kind not in KINDS:
        found.differs(f"{experiment.name}: {unit}: unknown event {quote(event.kind)}")


def _alike(first: float | None, second: float | None) -> bool:
    """Tell whether two probabilities are the same, but for what another machine may round."""
    if first is None or second is None:
        return first is second
    return isclose(first, second, rel_tol=1e-9)


def _compare(
    played: tuple[str, int],
    steps: int,
    state: str | None,
    where: str,
    found: Verification,
) -> None:
    expected, count = played
    if steps != count:
        found.differs(f"{where}: {steps} events are kept, and {count} are in the log")
    elif state != expected:
        found.differs(f"{where}: its state does not follow from the log")
