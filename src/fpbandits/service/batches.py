"""Group commit: requests that arrive together are one transaction, and are answered after it.

`handle_together` handles one batch: it locks the units that the requests need, steps them in the
order of the requests, writes, commits, and returns the answers. An answer does not depend on the
other requests in its batch.

`Batcher` collects the batches: a queue, and a thread that takes all that is in it. While one batch
is committed, the next one gathers. The queue is bounded, and so is the time that a request waits
(`PATIENCE`): beyond either it is an `UnavailableError`. A request that was given up may have been
committed all the same; sent again with the same key, it gets the same answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple

from fpbandits.errors import Error, InputError, UnavailableError
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import Ask, Request
from fpbandits.service.step import Answer, Event, Unit
from fpbandits.service.store import Change, Store, Transaction, UnitKey, UnitRow

PATIENCE = 8.0
"""Seconds that a request waits for its answer: longer than a store may take, see `store`."""

MOST_WAITING = 20_000
MOST_TOGETHER = 4_000
"""Requests in the queue, and in one transaction: in a large one each costs less, since a unit is
read and written once for all of its requests."""

CROWD, LINGER = 8, 0.002
"""After a batch of at least CROWD requests, wait LINGER seconds for the next."""

MOST_RECENT = 5_000
"""Units that are kept in memory, a few kilobytes each."""

_logger = logging.getLogger("fpbandits.service")

Work = tuple[Experiment, Request]
Outcome = Answer | Error


class Recent:
    """A cache of the units that were stepped last, so that their states need not be unpacked again.

    A cached unit is used only if the store still has the very text into which it was packed: so it
    does not matter if another server has changed it meanwhile.
    """

    def __init__(self, most: int = MOST_RECENT) -> None:
        self._most = most
        self._units: dict[UnitKey, tuple[str, Unit]] = {}

    def take(self, unit_key: UnitKey, row: UnitRow) -> Unit | None:
        """Return a unit as the store has it, if it is here; it must be kept again to stay."""
        state, unit = self._units.pop(unit_key, (None, None))
        return unit if unit is not None and (unit.steps, state) == (row.steps, row.state) else None

    def keep(self, unit_key: UnitKey, state: str, unit: Unit) -> None:
        """Keep a unit that is as the store has it by now."""
        self._units[unit_key] = state, unit
        if len(self._units) > self._most:
            del self._units[next(iter(self._units))]


def handle_together(
    store: Store, work: Sequence[Work], recent: Recent | None = None
) -> list[Outcome]:
    """Serve requests in one transaction, and return an answer or an error for each.

    An `UnavailableError` or `StorageError` concerns them all, and is raised.
    """
    recent = Recent() if recent is None else recent
    asked, touched, keys = set[UnitKey](), set[UnitKey](), set[tuple[UnitKey, str]]()
    for experiment, request in work:
        unit_key = experiment.id, request.unit
        if not isinstance(request, Ask):
            touched.add(unit_key)
            continue
        asked.add(unit_key)
        if request.key is not None:
            keys.add((unit_key, request.key))
    with (
        warnings.catch_warnings(),
        store.transaction(sorted(asked), sorted(touched - asked), sorted(keys)) as transaction,
    ):
        warnings.simplefilter("ignore")  # an agent's remarks are for who tells it, not for a log
        units: dict[UnitKey, Unit] = {}
        outcomes: list[Outcome] = []
        for experiment, request in work:
            unit_key = experiment.id, request.unit
            if unit_key not in units:
                units[unit_key] = _unit(transaction, recent, experiment, request.unit)
            try:
                outcomes.append(units[unit_key].step(request, transaction.now))
            except InputError as error:
                outcomes.append(error)
        changes = {
            unit_key: Change.of(transaction.rows[unit_key].id, unit)
            for unit_key, unit in units.items()
            if unit.events
        }
        transaction.write(list(changes.values()))
    for unit_key, change in changes.items():
        recent.keep(unit_key, change.state, units[unit_key])
    return outcomes


def _unit(transaction: Transaction, recent: Recent, experiment: Experiment, name: str) -> Unit:
    """Return a unit ready to be stepped; one that is unknown is new, and will not be written."""
    unit_key = experiment.id, name
    row = transaction.rows.get(unit_key)
    if row is None:
        return Unit(experiment, name, 0, None, {}, lambda number: ())

    def resolutions(number: int) -> Sequence[Event]:
        return transaction.resolutions(row.id, number)

    decided = transaction.decided.get(unit_key, {})
    unit = recent.take(unit_key, row)
    if unit is None:
        return Unit(experiment, name, row.steps, row.state, decided, resolutions)
    unit.begin(decided, resolutions)
    return unit


class _Submission(NamedTuple):
    """Requests that came in together, and where their answers go."""

    work: Sequence[Work]
    future: asyncio.Future[list[Outcome]]


_Served = tuple[_Submission, list[Outcome] | Error]


class Batcher:
    """Collects requests of an event loop into batches, and answers them after the commit.

    Parameters
    ----------
    store
        Where everything is kept; nobody else may write to this object of it.
    most_waiting, patience
        How many requests may wait, and for how many seconds.
    committed
        Is told how many requests each transaction had, and how many seconds it took.
    """

    def __init__(
        self,
        store: Store,
        *,
        most_waiting: int = MOST_WAITING,
        patience: float = PATIENCE,
        committed: Callable[[int, float], None] = lambda requests, seconds: None,
    ) -> None:
        self._store, self._most_waiting, self._patience = store, most_waiting, patience
        self._committed, self._recent = committed, Recent()
        self._queue: SimpleQueue[_Submission | None] = SimpleQueue()
        # Each is changed by one thread only.
        self._given = self._taken = 0
        self._loop = asyncio.get_running_loop()
        self._thread = Thread(target=self._run, name="fpbandits batches", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many requests wait, those being served included."""
        return self._given - self._taken

    async def submit(self, work: Sequence[Work]) -> list[Outcome]:
        """Serve requests, and return an answer or an error for each.

        What concerns them all is raised: an `UnavailableError`, or an `Error` that is logged.
        """
        if self.waiting + len(work) > self._most_waiting:
            raise UnavailableError(f"{self.waiting:,} requests wait already: try again")
        future: asyncio.Future[list[Outcome]] = self._loop.create_future()
        self._given += len(work)
        self._queue.put(_Submission(work, future))
        # Cheaper than `asyncio.wait_for`, and there are many.
        timer = self._loop.call_later(self._patience, _give_up, future)
        try:
            return await future
        finally:
            timer.cancel()

    async def close(self) -> None:
        """Handle what is in the queue, and stop."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        last, served = False, list[_Served]()
        while not last:
            submissions, last = self._gathered(len(served))
            # Those that were given up will be sent again.
            waiting = [each for each in submissions if not each.future.done()]
            served = self._serve(waiting) if waiting else []
            self._taken += sum(len(each.work) for each in submissions)
            with suppress(RuntimeError):  # the loop may be gone by now
                self._loop.call_soon_threadsafe(_answer, served)

    def _gathered(self, before: int) -> tuple[list[_Submission], bool]:
        """Wait for requests; return all that are there, and whether the queue was closed.

        After a large batch ``before``, the clients that were just answered are likely to send their
        next requests at once, and one transaction for all of them costs little more than one for
        half of them.
        """
        submissions: list[_Submission] = []
        requests = 0
        each = self._queue.get()
        if each is not None and before >= CROWD:
            time.sleep(LINGER)
        while each is not None:
            submissions.append(each)
            requests += len(each.work)
            if requests >= MOST_TOGETHER:
                return submissions, False
            try:
                each = self._queue.get_nowait()
            except Empty:
                return submissions, False
        return submissions, True

    def _serve(self, submissions: Sequence[_Submission]) -> list[_Served]:
        work = [each for submission in submissions for each in submission.work]
        began = self._loop.time()
        try:
            outcomes = iter(handle_together(self._store, work, self._recent))
        except Exception as error:
            if len(submissions) > 1 and not isinstance(error, UnavailableError):
                # One of them must not take the others with it.
                return [served for each in submissions for served in self._serve([each])]
            failure = logged(error)
            return [(each, failure) for each in submissions]
        self._committed(len(work), self._loop.time() - began)
        return [(each, list(islice(outcomes, len(each.work)))) for each in submissions]


def logged(error: Exception) -> Error:
    """Log a failure of the store or of the service; return what a caller is told of it."""
    if isinstance(error, Error):
        _logger.warning("store unavailable", extra={"detail": str(error)})
        return UnavailableError("the store does not answer: try again")
    _logger.error("a request failed", exc_info=error)
    return Error("this request failed inside; the server's log says how")


def _answer(served: Sequence[_Served]) -> None:
    for submission, outcomes in served:
        if submission.future.done():
            continue
        if isinstance(outcomes, Error):
            submission.future.set_exception(outcomes)
        else:
            submission.future.set_result(outcomes)


def _give_up(future: asyncio.Future[list[Outcome]]) -> None:
    if not future.done():
        future.set_exception(UnavailableError("the store takes too long: try again"))
