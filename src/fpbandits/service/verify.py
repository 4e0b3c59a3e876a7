"""`verify`: repeat every step of the log, and compare each decision with the log.

For each unit a new agent goes through the log: it is asked where the log has a decision, plays the
arm in the log, and is told the rewards in their order. If a decision was made by this version's
revision of the rule, the agent must decide the same, with the same probability; decisions of other
revisions are only counted. In the end the agent's state must be the one that the store keeps. The
unit's events must be numbered without a gap, so that nothing was lost or counted twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import isclose
from operator import itemgetter

from fpbandits.agent.agent import Agent
from fpbandits.errors import ConflictError, Error, UnknownError, quote, unknown
from fpbandits.service.experiment import DELETING, Experiment, Kept
from fpbandits.service.messages import decision_name
from fpbandits.service.step import (
    CLOCK,
    DECISION,
    ERASED,
    EXPIRED,
    FORGOT,
    KINDS,
    OBSERVED,
    REWARD,
    Event,
)
from fpbandits.service.store import History, Store
from fpbandits.service.unit_state import Due, cap_due, pack_unit, unpack_unit

MOST_SHOWN = 20
"""Differences that are described; all are counted."""


class DeletedError(ConflictError):
    """An experiment is being deleted."""

    @classmethod
    def of(cls, name: str) -> DeletedError:
        """Return the error for the experiment of this name."""
        return cls(f"{quote(name)} is being deleted")


@dataclass
class Verification:
    """How many decisions there are, how many could not be checked, and what differs.

    Attributes
    ----------
    decisions, units, events
        How many there are.
    erased
        Units that were erased.
    unchecked
        Decisions of another revision of the rule than this version has.
    differences, shown
        How many there are, and the first of them in words.
    impossible
        How many differences are events that cannot have happened, such as a reward without a
        decision.
    deleting
        Experiments that are being deleted: what is left of them is not verified.
    """

    decisions: int = 0
    unchecked: int = 0
    units: int = 0
    erased: int = 0
    events: int = 0
    differences: int = 0
    impossible: int = 0
    shown: list[str] = field(default_factory=list)
    deleting: list[str] = field(default_factory=list)

    def note(self, description: str) -> None:
        """Count a difference, and keep its description if it is among the first."""
        self.differences += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(description)


def experiments_of(store: Store, name: str | None) -> list[Kept]:
    """Return the experiment of that name, or all of them; refuse one that is being deleted."""
    kept = store.experiments()
    if name is None:
        return kept
    if not kept:
        raise UnknownError(f"unknown experiment {quote(name)}: the store has none")
    names = [experiment.name for experiment in kept]
    if name not in names:
        raise unknown("experiment", name, names)
    found = kept[names.index(name)]
    if found.status == DELETING:
        raise DeletedError.of(name)
    return [found]


@contextmanager
def whole_history(store: Store, kept: Kept) -> Iterator[History]:
    """Return all events of an experiment's units; refuse if some are deleted by that moment."""
    with store.history(kept.id) as history:
        if not list(history.rows("remains")):
            raise DeletedError.of(kept.name)
        yield history


def verify(
    store: Store, experiment: str | None = None, progress: Callable[[int], None] | None = None
) -> Verification:
    """Verify an experiment, or all; ``progress`` is called with the number of events so far."""
    result = Verification()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an agent warned when its reward came
        for listed in experiments_of(store, experiment):
            # Verifying those before it may have taken long.
            kept = store.experiment(listed.name) or listed
            try:
                with whole_history(store, kept) as history:
                    _verify(history, kept, result, progress)
            except DeletedError:
                result.deleting.append(kept.name)
    return result


def _verify(
    history: History, kept: Kept, result: Verification, progress: Callable[[int], None] | None
) -> None:
    """Verify one experiment."""
    experiment, states = Experiment.from_kept(kept), history.states()
    for unit, rows in groupby(history.events(), itemgetter(0)):
        where = f"{kept.name}: {unit}"
        agent, due, count = follow(experiment, unit, (event for _, event in rows), result)
        for name, steps, state in states:
            if name == unit:
                if steps != count:
                    result.note(f"{where}: {steps} events are kept, and {count} are logged")
                # States of another revision cannot be compared.
                elif experiment.is_current and not _is_state(experiment, unit, state, agent, due):
                    result.note(f"{where}: its state does not follow from the log")
                break
            _expect_no_events(kept.name, name, steps, result)
        else:
            result.note(f"{where}: has events and no state")
        result.units += 1
        if progress is not None:
            progress(result.events)
    for name, steps, _ in states:
        _expect_no_events(kept.name, name, steps, result)


def _expect_no_events(experiment: str, unit: str, steps: int, result: Verification) -> None:
    if steps:
        result.note(f"{experiment}: {unit}: {steps} events are kept, and none is logged")


def _is_state(experiment: Experiment, unit: str, state: str | None, agent: Agent, due: Due) -> bool:
    """Tell whether a kept state is that of an agent.

    It is unpacked and packed again first: another version of zlib may have compressed the same
    numbers to another text.
    """
    try:
        kept = pack_unit(experiment, *unpack_unit(experiment, unit, state))
    except (Error, ValueError, TypeError):
        return False
    return kept == pack_unit(experiment, agent, due)


def follow(
    experiment: Experiment, unit: str, events: Iterator[Event], result: Verification
) -> tuple[Agent, Due, int]:
    """Let a new agent go through a unit's events, and add what differs to ``result``.

    Returns
    -------
    agent, due, count
        The agent, when its pending decisions expire, and the number of events.
    """
    agent, due, count = experiment.agent(unit), Due(), 0
    wait = experiment.reward_wait
    for event in events:
        if event.kind == ERASED:
            if count:
                result.note(f"{experiment.name}: {unit}: it was erased, and has earlier events")
            agent, count = experiment.new_agent(unit, event.number), event.step - 1
            result.erased += 1
        count += 1
        result.events += 1
        if event.step != count:
            result.note(f"{experiment.name}: {unit}: event {count} is numbered {event.step}")
        if wait is not None and event.kind == DECISION:
            due.append((event.number, event.time + wait))
        elif wait is not None and event.kind == CLOCK:
            due = cap_due(due, wait, event.time)
        elif wait is not None and event.kind != OBSERVED:
            due = Due((number, time) for number, time in due if number != event.number)
        try:
            _repeat(experiment, agent, unit, event, result)
        except Error as error:
            where = decision_name(unit, event.number)
            result.impossible += 1
            result.note(f"{experiment.name}: {where}: {event.kind} cannot be ({error})")
    return agent, due, count


def _repeat(
    experiment: Experiment, agent: Agent, unit: str, event: Event, result: Verification
) -> None:
    """Let an agent do what an event says, and compare its decision."""
    if event.kind == DECISION:
        result.decisions += 1
        decision = agent.follow(event.arm or "", event.context, event.eligible)
        control = experiment.control_arm(unit, event.eligible)
        if control is not None:
            decision = replace(decision, arm=control, probability=1.0)
        where = f"{experiment.name}: {decision_name(unit, event.number)}"
        if event.revision != experiment.policy.revision:
            result.unchecked += 1
        elif (decision.id, decision.arm) != (event.number, event.arm):
            now = f"{decision.arm} ({decision_name(unit, decision.id)})"
            result.note(f"{where}: logged {event.arm}, and now it is {now}")
        elif not _same_probability(decision.probability, event.probability):
            both = f"{event.probability}, and now it is {decision.probability}"
            result.note(f"{where}: logged with probability {both}")
    elif event.kind == REWARD or (event.kind == EXPIRED and event.reward is not None):
        agent.tell(event.number, event.reward)  # type: ignore[arg-type]  # refused if it is None
    elif event.kind in (FORGOT, EXPIRED):
        agent.forget(event.number)
    elif event.kind == OBSERVED:
        agent.observe(event.arm, event.reward, event.context)  # type: ignore[arg-type]  # likewise
    elif event.kind not in KINDS:
        result.note(f"{experiment.name}: {unit}: unknown event {quote(event.kind)}")


def _same_probability(first: float | None, second: float | None) -> bool:
    """Tell whether two probabilities agree up to rounding, which may depend on the machine."""
    if first is None or second is None:
        return first is second
    return isclose(first, second, rel_tol=1e-9)
