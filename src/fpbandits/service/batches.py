"""One batch: requests that are served in one transaction, and answered after it.

`handle_together` checks contexts and arms, locks the units that the requests need, applies the
requests to them in order, writes, commits, and returns the answers. If the store has another
edition of an experiment (another `Stamp`) than the one by which a request was checked, the request
gets a `StaleError`. An answer does not depend on requests for other units in its batch.
`fpbandits.service.batcher` collects the batches.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence

from fpbandits.errors import Error, InputError, UnavailableError
from fpbandits.service.experiment import OPEN, Experiment
from fpbandits.service.messages import Ask, Request
from fpbandits.service.step import Answer, Event, Unit
from fpbandits.service.store import (
    Change,
    StaleError,
    Store,
    Transaction,
    UnitKey,
    UnitRow,
    Wanted,
)

MOST_RECENT = 5_000
"""Units that are kept in memory, a few kilobytes each."""

_logger = logging.getLogger("fpbandits.service")

Work = tuple[Experiment, Request]
Outcome = Answer | Error


class Recent:
    """A cache of the units that changed last, so that their states need not be unpacked again.

    A cached unit is used only if the store still has the very text into which it was packed, as
    many steps, and the same edition of the experiment: so it does not matter what another server
    has changed. It is taken out to be stepped, and kept again once its change is committed. A unit
    that did not change, or failed, is dropped.
    """

    def __init__(self, most: int = MOST_RECENT) -> None:
        self._most = most
        self._units: dict[UnitKey, tuple[str, Unit]] = {}

    def take(self, experiment: Experiment, unit_name: str, row: UnitRow) -> Unit | None:
        """Remove a unit from the cache and return it; None unless it is as the store has it."""
        state, unit = self._units.pop((experiment.id, unit_name), (None, None))
        if unit is None or unit.experiment.stamp != experiment.stamp:
            return None
        return unit if (unit.steps, state) == (row.steps, row.state) else None

    def keep(self, unit_key: UnitKey, state: str, unit: Unit) -> None:
        """Cache a unit that the store now has in this state, in place of the oldest if need be."""
        unit.begin({}, _nothing)  # or the transaction would be kept too, with all its rows
        self._units[unit_key] = state, unit
        if len(self._units) > self._most:
            del self._units[next(iter(self._units))]


def handle_together(
    store: Store,
    work: Sequence[Work],
    recent: Recent | None = None,
    enough: Callable[[], bool] = lambda: False,
    counts: Counter[tuple[str, str]] | None = None,
) -> list[Outcome]:
    """Serve requests in order, in one transaction; return an answer or an error for each served.

    Parameters
    ----------
    store, work
        Where the units are kept, and the requests with their experiments.
    recent
        A cache of units.
    enough
        Called after each request. Once it is true the rest is left for another transaction, and the
        list returned is shorter than ``work``.
    counts
        Gets the number of events, by experiment and kind, once they are committed.

    Raises
    ------
    UnavailableError, StorageError
        The store failed: that concerns all requests.
    """
    recent = Recent() if recent is None else recent
    stamps = {experiment.stamp for experiment, _ in work}
    # The experiments have passed `Experiment.check_serving`: each is open or closed.
    requests = [_checked(experiment, request) for experiment, request in work]
    asked, touched, request_keys = set[UnitKey](), set[UnitKey](), set[tuple[UnitKey, str]]()
    for (experiment, request), checked in zip(work, requests, strict=True):
        unit_key = experiment.id, request.unit
        # All units are locked, for simplicity those of refused requests too. The store adds missing
        # rows of ``asked`` only: units with an `Ask` that passed its checks, in an open experiment.
        if isinstance(checked, Ask) and experiment.status == OPEN:
            asked.add(unit_key)
        else:
            touched.add(unit_key)
        # The store looks these up, so that a repeated request gets its first decision again.
        if isinstance(checked, Ask) and checked.key is not None:
            request_keys.add((unit_key, checked.key))
    wanted = Wanted(sorted(stamps), sorted(asked), sorted(touched - asked), sorted(request_keys))
    with store.transaction(wanted) as transaction:
        batch = _Batch(transaction, recent)
        outcomes: list[Outcome] = []
        for (experiment, _), checked in zip(work, requests, strict=True):
            outcomes.append(batch.serve(experiment, checked))
            if enough():
                break
        changes = batch.changes()
        transaction.write(list(changes.values()))
    for unit_key, change in changes.items():
        recent.keep(unit_key, change.state, batch.units[unit_key])
    if counts is not None:
        counts.update(
            (batch.units[unit_key].experiment.name, event.kind)
            for unit_key, change in changes.items()
            for event in change.events
        )
    # Nothing is written of a unit that failed: what its steps answered before does not hold.
    return [
        outcome
        if outcome is checked or isinstance(outcome, StaleError)
        else batch.failed.get((experiment.id, request.unit), outcome)
        for (experiment, request), checked, outcome in zip(work, requests, outcomes, strict=False)
    ]


def unit_failure(experiment: Experiment, unit_name: str, error: Exception) -> Error:
    """Log the failure of a unit; return the error that its requests get."""
    extra = {"experiment": experiment.name, "detail": f"unit {unit_name!r}"}
    _logger.error("a unit failed", exc_info=error, extra=extra)
    return Error("an internal error stopped this unit's request; see the server's log")


def _nothing(number: int) -> Sequence[Event]:
    """Return no events: those of a unit that the store does not have."""
    return ()


def _checked(experiment: Experiment, request: Request) -> Request | InputError:
    """Return a request with its eligible arms in the problem's order, or what is wrong in it."""
    if not isinstance(request, Ask):
        return request
    try:
        experiment.check_context(request.context)
        if request.among is None:
            return request
        return request._replace(among=experiment.eligible(request.among))
    except InputError as error:
        return error


class _Batch:
    """The units of a transaction as they are stepped, and those that failed.

    If a unit cannot be read, or a step raises an unexpected error, the unit stays as the store has
    it, and other units are served as if nothing had happened.
    """

    def __init__(self, transaction: Transaction, recent: Recent) -> None:
        self._transaction, self._recent = transaction, recent
        self.units: dict[UnitKey, Unit] = {}
        self.failed: dict[UnitKey, Error] = {}

    def serve(self, experiment: Experiment, request: Request | InputError) -> Outcome:
        """Step the unit of a request, and return the answer or the error."""
        # This comes first: under the same name there may now be an experiment with other arms and
        # contexts, and what was checked means nothing.
        if experiment.stamp not in self._transaction.current:
            return StaleError.of(experiment.name)
        if isinstance(request, InputError):
            return request
        unit_key = experiment.id, request.unit
        if unit_key in self.failed:
            return self.failed[unit_key]
        try:
            if unit_key not in self.units:
                self.units[unit_key] = self._unit(experiment, request.unit)
            return self.units[unit_key].step(request, self._transaction.now)
        except InputError as error:  # nothing has changed but what was due
            return error
        except UnavailableError:  # the store's: it concerns all units
            raise
        except Exception as error:  # also a `StorageError`: the state of this unit is damaged
            return self._fail(experiment, request.unit, error)

    def changes(self) -> dict[UnitKey, Change]:
        """Pack the units with new events, but for those that failed, or fail to be packed."""
        changes: dict[UnitKey, Change] = {}
        for unit_key, unit in self.units.items():
            if unit.events and unit_key not in self.failed:
                try:
                    changes[unit_key] = Change.of(self._transaction.rows[unit_key].id, unit)
                except Exception as error:
                    self._fail(unit.experiment, unit.name, error)
        return changes

    def _fail(self, experiment: Experiment, unit_name: str, error: Exception) -> Error:
        """Log the failure of a unit; return the error that its requests get."""
        failed = unit_failure(experiment, unit_name, error)
        self.failed[experiment.id, unit_name] = failed
        return failed

    def _unit(self, experiment: Experiment, unit_name: str) -> Unit:
        """Return a unit to be stepped: from the cache, from its row, or an empty one.

        Every unit that may make a decision in this batch has a row. One without a row refuses every
        request but an `Expire`, which does nothing: so it is not written.
        """
        transaction, unit_key = self._transaction, (experiment.id, unit_name)
        row = transaction.rows.get(unit_key)
        if row is None:
            return Unit(experiment, unit_name, 0, None, {}, _nothing)

        def resolutions(decision: int) -> Sequence[Event]:
            return transaction.resolutions(row.id, decision)

        by_key = transaction.decided.get(unit_key, {})  # earlier decisions, by request key
        unit = self._recent.take(experiment, unit_name, row)
        if unit is None:
            return Unit(experiment, unit_name, row.steps, row.state, by_key, resolutions)
        unit.begin(by_key, resolutions)
        return unit
