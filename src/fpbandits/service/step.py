"""The one step of the service: a unit and a request → the unit thereafter, events, an answer.

It is the same for every store and reads no clock: what it does follows from the unit's state, the
request and the time that it is given. So all steps of a unit can be repeated from its events;
`verify` does so.

======== ======================================================================================
event    what happened
======== ======================================================================================
decision an arm was chosen, in a context if there are any, under a key if one was given
reward   its reward came in time: it counts, once no earlier one blocks it
forgot   it was given up
expired  ``reward_wait`` had passed: the default reward counts, or it is forgotten
late     its reward came after that, and does not count
observed a decision of another experiment counts here, with its reward; see `migrate`
clock    the clock had gone back: pending decisions expire within ``reward_wait`` from now
erased   all events before it were deleted, and the unit knows nothing; its numbers go on
======== ======================================================================================

Decisions of a unit are numbered from 0, its events from 1. A decision whose time has passed expires
at the next request for its unit, before that is served; `fpbandits.service.sweep` sends an `Expire`
to units without requests.

Some events happen to an experiment, not to a unit: `ADOPTED`, `CLOSED`, `REOPENED`.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from fpbandits import __version__
from fpbandits.errors import ConflictError, InputError, Place, UnknownError, quote
from fpbandits.problem.rewards import unit_reward
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import Ask, Erase, Expire, Forget, Request, Tell, decision_name
from fpbandits.service.statuses import MissingError, unknown_unit
from fpbandits.service.unit_state import cap_due, pack_unit, unpack_unit

DECISION, REWARD, FORGOT, EXPIRED, LATE, OBSERVED, CLOCK, ERASED = KINDS = (
    "decision",
    "reward",
    "forgot",
    "expired",
    "late",
    "observed",
    "clock",
    "erased",
)
"""Kinds of events of a unit; see the module's docstring."""

_RESOLUTIONS = REWARD, FORGOT, EXPIRED, LATE
"""Kinds whose number is that of a decision, and that say what came of it."""

ADOPTED = "adopted"
"""From this event on, another revision of the policy's rule makes the experiment's decisions."""

CLOSED = "closed"
"""The event that an experiment takes no more decisions."""

REOPENED = "reopened"
"""The event that an experiment takes decisions again."""

_WAS_ERASED = "was erased: its reward can no longer count"

CLOCK_TOLERANCE = 1.0
"""Seconds by which the clock may go back without a *clock* event; also in `due` of sql/*.sql."""


class Event(NamedTuple):
    """One line of the log; see the module's docstring.

    Attributes
    ----------
    step
        Its number among the events of its unit, from 1; 0 for the events of an experiment.
    kind
        What happened.
    number
        The number of the decision concerned. But for *observed*, the index of the decision among
        those that `migrate` took over for this unit; for *clock*, the same as ``step``; for
        *erased*, how many decisions there had been; for events of an experiment, the revision.
    key, arm, context, probability
        For *decision* the caller's key, and what was decided; for *observed* what another
        experiment decided. The probability is 1 for a policy that is not randomised, and None where
        it is not known.
    reward
        The reward that came, or the default reward that counts instead.
    time
        Seconds since 1970, by the database's clock. For *observed*, the time of the decision.
    version, revision
        The version of fpbandits, and the revision of the policy's rule.
    among
        For *decision* and *observed*, the eligible arms as a JSON list; None if all were.
    """

    step: int
    kind: str
    number: int
    key: str | None
    arm: str | None
    context: str | None
    probability: float | None
    reward: float | None
    time: float
    version: str
    revision: int
    among: str | None = None

    @property
    def eligible(self) -> list[str] | None:
        """The arms that were eligible; None: all."""
        return None if self.among is None else json.loads(self.among)


Answer = dict[str, Any]

_Decided = tuple[str | None, str | None, str | None, float | None]
"""Key, arm, context and probability, as in an event."""


def _as_json(arms: list[str]) -> str:
    return json.dumps(arms, ensure_ascii=False)


def experiment_event(kind: str, revision: int, now: float) -> Event:
    """Return an event of an experiment."""
    nothing = None, None, None, None, None
    return Event(0, kind, revision, *nothing, now, __version__, revision)


class Unit:
    """A unit as it is being stepped.

    Parameters
    ----------
    experiment, name
        The unit's experiment, and its name.
    steps, state
        The number of its events so far, and the text of `pack_unit`; 0 and None for a new one.
    by_key
        By key, the *decision* events that the store already has under the keys of this
        transaction's requests. Decisions made since are added.
    outcomes
        Takes a number, and returns the store's events of the unit that have it, but for a decision.
    """

    def __init__(
        self,
        experiment: Experiment,
        name: str,
        steps: int,
        state: str | None,
        by_key: dict[str, Event],
        outcomes: Callable[[int], Sequence[Event]],
    ) -> None:
        self.experiment, self.name, self.steps = experiment, name, steps
        self.agent, self._due = unpack_unit(experiment, name, state)
        self._pending = len(self.agent.pending)  # kept, since each `pending` builds a dictionary
        self.begin(by_key, outcomes)

    def begin(self, by_key: dict[str, Event], outcomes: Callable[[int], Sequence[Event]]) -> None:
        """Forget all new events, and look things up here from now on.

        At the beginning of a transaction, or of what is left of it after an erasure.
        """
        self.events: list[Event] = []
        # The request that erased the unit in this transaction, if any: the store deletes the events
        # that it lists, and all later ones.
        self.erasure: Erase | None = None
        self._by_key, self._outcomes = by_key, outcomes

    def pack(self) -> str:
        """Return the state as a text."""
        return pack_unit(self.experiment, self.agent, self._due)

    @property
    def due(self) -> float | None:
        """The time at which the first of its decisions expires, if any does."""
        return self._due[0][1] if self._due else None

    def step(self, request: Request, now: float) -> Answer:
        """Handle a request, and return its answer.

        If it raises an `InputError`, of which conflicts and unknown names are kinds, nothing has
        changed but what `_expire` did.
        """
        self._expire(now)
        match request:
            case Ask():
                return self._ask(request, now)
            case Tell():
                return self._tell(request.decision[1], request.reward, now)
            case Forget():
                return self._forget(request.decision[1], now)
            case Expire():
                return {}
            case Erase():
                return self._erase(request, now)

    def observe(self, row: Mapping[str, Any], number: int) -> None:
        """Observe a reward of another experiment's decision: a row of `export.Rewards`.

        ``number`` is its index among those of this unit.
        """
        arm, context, reward = row["arm"], row["context"], row["reward"]
        self.agent.observe(arm, reward, context)
        decided = None, arm, context, row["propensity"]
        among = None if row["among"] is None else _as_json(row["among"])
        self._note(OBSERVED, number, row["time"], reward, decided, among)

    def _ask(self, request: Ask, now: float) -> Answer:
        """Decide, unless a decision was made under the same key."""
        if request.key is not None and request.key in self._by_key:
            event = self._by_key[request.key]
            # Other eligible arms are no conflict: the first arm is returned all the same.
            if event.context != request.context:
                raise ConflictError(
                    f"the key {quote(request.key)} of {quote(self.name)} was used in the context "
                    f"{quote(event.context)}, not {quote(request.context)}: a key is for one "
                    "request",
                    about=("key",),
                )
            return self._decision(event)
        self.experiment.check_open()
        if self._pending >= self.experiment.most_pending:
            full = (
                f"{quote(self.name)} has {self._pending:,} pending decisions, the most there may be"
            )
            advice = "send their rewards, or forget them"
            if self.experiment.reward_wait is None:
                advice += "; an experiment with reward_wait would let them expire"
            raise ConflictError(f"{full}: {advice}", about=(("unit", self.name),))
        control = self.experiment.control_arm(self.name, request.among)
        if control is None:
            decision = self.agent.ask(request.context, request.among)
            arm, probability = decision.arm, decision.probability
        else:
            # A unit of the control group gets the control arm whenever that is eligible.
            decision = self.agent.follow(control, request.context, request.among)
            arm, probability = control, 1.0
        self._pending += 1
        decided = request.key, arm, request.context, probability
        among = None if request.among is None else _as_json(request.among)
        event = self._note(DECISION, decision.id, now, None, decided, among)
        if request.key is not None:
            self._by_key[request.key] = event
        if self.experiment.reward_wait is not None:
            self._due.append((decision.id, now + self.experiment.reward_wait))
        return self._decision(event)

    def _decision(self, event: Event) -> Answer:
        name = decision_name(self.name, event.number)
        return {"decision": name, "unit": self.name, "arm": event.arm}

    def _tell(self, number: int, reward: float, now: float) -> Answer:
        """Take the reward of a decision."""
        try:
            self.agent.tell(number, reward)
        except UnknownError:
            raise self._unknown(number) from None
        except ConflictError:
            return self._tell_again(number, reward, now)
        except InputError as error:
            # The place begins with the decision as the agent names it: put our name there.
            raise error.at(*self._place(number), dropping=1) from None
        self._resolve(number)
        self._note(REWARD, number, now, reward)
        return self._status(number, "told")

    def _tell_again(self, number: int, reward: float, now: float) -> Answer:
        """Answer a reward whose decision is resolved already.

        The agent knows that it is. If no event says how, its events were erased.
        """
        earlier = self._outcomes_of(number)
        first = earlier.get(REWARD) or earlier.get(LATE)
        if first is not None and first.reward != reward:
            both = f"has the reward {first.reward!r} already, and now came {reward!r}"
            raise self._conflict(number, f"{both}: the first one stays")
        if not earlier:
            raise self._conflict(number, _WAS_ERASED)
        if FORGOT in earlier:
            raise self._conflict(number, "was forgotten: its reward can no longer count")
        if first is None:  # it expired, and this is the first reward that came for it
            # It does not count, so models need not allow it.
            unit_reward(self.experiment.problem.rewards, reward, *self._place(number))
            self._note(LATE, number, now, reward)
        return self._status(number, "told" if REWARD in earlier else "late")

    def _forget(self, number: int, now: float) -> Answer:
        """Give up a decision."""
        try:
            self.agent.forget(number)
        except UnknownError:
            raise self._unknown(number) from None
        except ConflictError:
            earlier = self._outcomes_of(number)
            if not earlier:
                raise self._conflict(number, _WAS_ERASED) from None
            if REWARD in earlier:
                rewarded = "has its reward already: it cannot be forgotten"
                raise self._conflict(number, rewarded) from None
            # If it had expired, the request to forget it comes too late, as a reward would.
            return self._status(number, "forgotten" if FORGOT in earlier else "late")
        self._resolve(number)
        self._note(FORGOT, number, now)
        return self._status(number, "forgotten")

    def _erase(self, request: Erase, now: float) -> Answer:
        """Replace the agent by a new one, and all events by a tombstone; idempotent."""
        if not self.steps:
            raise unknown_unit(self.name)
        # The number of the next decision is how many there have been.
        decisions = json.loads(self.agent.own_state())["next"]
        empty = self.experiment.new_agent(self.name, decisions)
        # ``request.events`` were found before this transaction: there may be newer ones. The unit
        # is erased already if its last event is the tombstone.
        events = [*self._outcomes(decisions), *self.events]
        if not any(event.kind == ERASED and event.step == self.steps for event in events):
            self.agent, self._due, self._pending = empty, deque(), 0
            # What the store has of the unit counts no more for the rest of this transaction.
            self.begin({}, lambda number: ())
            self.erasure = request
            self._note(ERASED, decisions, now)
        return {"unit": self.name, "status": "erased"}

    def _expire(self, now: float) -> None:
        """Let decisions expire whose time has passed."""
        wait = self.experiment.reward_wait
        if wait is None or not self._due:
            return
        # A decision was made ``wait`` before it expires. If that moment is in the future, the clock
        # has gone back.
        if max(time for _, time in self._due) > now + wait + CLOCK_TOLERANCE:
            self._due = cap_due(self._due, wait, now)
            self._note(CLOCK, self.steps + 1, now)
        while self._due and self._due[0][1] <= now:
            number, _ = self._due.popleft()
            default = self.experiment.default_reward
            if default is None:
                self.agent.forget(number)
            else:
                self.agent.tell(number, default)
            self._pending -= 1
            self._note(EXPIRED, number, now, default)

    def _resolve(self, number: int) -> None:
        """Drop a decision from those that are pending."""
        self._pending -= 1
        if self.experiment.reward_wait is not None:
            self._due = deque((other, time) for other, time in self._due if other != number)

    def _outcomes_of(self, number: int) -> dict[str, Event]:
        """Return what became of a decision, by kind: in the store, and in this transaction."""
        events = [*self._outcomes(number), *self.events]
        return {
            event.kind: event
            for event in events
            if event.number == number and event.kind in _RESOLUTIONS
        }

    def _status(self, number: int, status: str) -> Answer:
        return {"decision": decision_name(self.name, number), "status": status}

    def _place(self, number: int) -> Place:
        return (("decision", decision_name(self.name, number)),)

    def _unknown(self, number: int) -> MissingError:
        unknown = f"unknown decision {quote(decision_name(self.name, number))}"
        return MissingError(f"{unknown}: no such decision was made", about=self._place(number))

    def _conflict(self, number: int, predicate: str) -> ConflictError:
        decision = f"decision {quote(decision_name(self.name, number))}"
        return ConflictError(f"{decision} {predicate}", about=self._place(number))

    def _note(
        self,
        kind: str,
        number: int,
        now: float,
        reward: float | None = None,
        decided: _Decided = (None, None, None, None),
        among: str | None = None,
    ) -> Event:
        """Add an event; ``decided`` is for *decision* and *observed*."""
        self.steps += 1
        origin = now, __version__, self.experiment.policy.revision
        event = Event(self.steps, kind, number, *decided, reward, *origin, among)
        self.events.append(event)
        return event
