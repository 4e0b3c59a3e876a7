"""`verify`: take every step of the log again, and compare each decision with the log.

For each unit a new agent goes through the log: it is asked where the log has a decision, plays the
arm in the log, and is told the rewards in their order. Where the decision was made by the revision
of the rule that this version has, the agent must have decided the same, and with the same
probability; decisions of other revisions are counted. The unit's state must be the one that is
kept, and its events must be numbered without a gap: so that nothing was lost or counted twice.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from math import isclose
from operator import itemgetter

from fpbandits.agent.agent import Agent
from fpbandits.errors import Error, UnknownError, quote, unknown
from fpbandits.service.experiment import Experiment, Kept
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
    Due,
    Event,
    packed,
    unpacked,
    without_jump,
)
from fpbandits.service.store import Store

MOST_SHOWN = 20
"""Differences that are kept; all are counted."""


@dataclass
class Verification:
    """How many decisions there are, how many could not be checked, and what differs.

    Attributes
    ----------
    decisions, units, events
        How many there are.
    erased
        Units whose first event is that all before it were deleted.
    unchecked
        Decisions of another revision of the rule than this version has.
    differences, shown
        How many there are, and the first of them in words.
    impossible
        Differences that are events which cannot have happened, as a reward of no decision.
    """

    decisions: int = 0
    unchecked: int = 0
    units: int = 0
    erased: int = 0
    events: int = 0
    differences: int = 0
    impossible: int = 0
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
    """Go through a store's log again; ``progress`` is told how many events there were."""
    found = Verification()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an agent warned when its reward came
        for kept in experiments_of(store, experiment):
            _verify(store, kept, found, progress)
    return found


def _verify(
    store: Store, kept: Kept, found: Verification, progress: Callable[[int], None] | None
) -> None:
    experiment = Experiment.from_kept(kept)
    with store.history(kept.id) as history:
        states = history.states()
        for unit, rows in groupby(history.events(), itemgetter(0)):
            where = f"{kept.name}: {unit}"
            agent, due, count = follow(experiment, unit, (event for _, event in rows), found)
            for name, steps, state in states:
                if name == unit:
                    if steps != count:
                        found.differs(f"{where}: {steps} events are kept, and {count} are logged")
                    # The states that another revision left are its own.
                    elif experiment.is_current and not _same(experiment, unit, state, agent, due):
                        found.differs(f"{where}: its state does not follow from the log")
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
        found.differs(f"{experiment}: {unit}: {steps} events are kept, and none is logged")


def _same(experiment: Experiment, unit: str, state: str | None, agent: Agent, due: Due) -> bool:
    """Tell whether a kept state is that of an agent.

    It is read and written again first: another version of zlib compresses the same numbers to
    another text.
    """
    try:
        kept = packed(experiment, *unpacked(experiment, unit, state))
    except (Error, ValueError, TypeError):
        return False
    return kept == packed(experiment, agent, due)


def follow(
    experiment: Experiment, unit: str, events: Iterator[Event], found: Verification
) -> tuple[Agent, Due, int]:
    """Take a new agent through a unit's events.

    Returns
    -------
    agent, due, count
        The agent, when its pending decisions expire, and how many events there were.
    """
    agent, due, count = experiment.agent(unit), Due(), 0
    wait = experiment.reward_wait
    for event in events:
        if event.kind == ERASED:
            if count:
                found.differs(f"{experiment.name}: {unit}: it was erased, and has earlier events")
            agent, count = experiment.agent_after(unit, event.number), event.step - 1
            found.erased += 1
        count += 1
        found.events += 1
        if event.step != count:
            found.differs(f"{experiment.name}: {unit}: event {count} is numbered {event.step}")
        if wait is not None and event.kind == DECISION:
            due.append((event.number, event.time + wait))
        elif wait is not None and event.kind == CLOCK:
            due = without_jump(due, wait, event.time)
        elif wait is not None and event.kind != OBSERVED:
            due = Due(each for each in due if each[0] != event.number)
        try:
            _take(experiment, agent, unit, event, found)
        except Error as error:
            where = decision_name(unit, event.number)
            found.impossible += 1
            found.differs(f"{experiment.name}: {where}: {event.kind} cannot be ({error})")
    return agent, due, count


def _take(
    experiment: Experiment, agent: Agent, unit: str, event: Event, found: Verification
) -> None:
    if event.kind == DECISION:
        found.decisions += 1
        decision = agent.follow(event.arm or "", event.context, event.eligible)
        control = experiment.control_arm(unit, event.eligible)
        if control is not None:
            decision = replace(decision, arm=control, probability=1.0)
        where = f"{experiment.name}: {decision_name(unit, event.number)}"
        if event.revision != experiment.policy.revision:
            found.unchecked += 1
        elif (decision.id, decision.arm) != (event.number, event.arm):
            now = f"{decision.arm} ({decision_name(unit, decision.id)})"
            found.differs(f"{where}: logged {event.arm}, and now it is {now}")
        elif not _alike(decision.probability, event.probability):
            likely = f"{event.probability}, and now it is {decision.probability}"
            found.differs(f"{where}: logged with probability {likely}")
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
