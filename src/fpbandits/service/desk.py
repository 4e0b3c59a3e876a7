"""Group commit: requests that arrive together become one transaction, and are answered after it.

`handle_together` is the whole of it but the waiting: it locks the units that some requests need,
steps them in the order of the requests, writes, commits, and only then has answers. What one
request gets does not depend on which others are beside it.

`Desk` does the waiting: a queue, and one thread that takes whatever is in it. While a commit is
under way, the next requests gather. The queue has an end, and nobody waits beyond `PATIENCE`: both
are an `UnavailableError`. Someone who gave up waiting may have been served all the same; asked
again under the same key, the answer is the same.
"""

from __future__ import annotations

import asyncio
import logging
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple

from fpbandits.errors import Error, InputError, StorageError, UnavailableError
from fpbandits.service.experiment import Experiment
from fpbandits.service.step import Answer, Ask, Event, Request, Unit
from fpbandits.service.store import Change, Place, Store, Transaction, UnitRow

PATIENCE = 8.0
"""Seconds that a request waits for its answer: longer than a store may take, see `store`."""

MOST_WAITING = 20_000
MOST_TOGETHER = 4_000
"""Requests that may wait, and that become one transaction: the more, the less each of them costs,
since a unit is read and written once for all of its own."""

CROWD, LINGER = 8, 0.002
"""Where so many came together, the next are waited for, for so many seconds."""

MOST_RECENT = 5_000
"""Units that are kept in memory, a few kilobytes each."""

_logger = logging.getLogger("fpbandits.service")

Work = tuple[Experiment, Request]
Outcome = Answer | Error


class Recent:
    """Units that were stepped lately, so that their states need not be read again.

    A state that the store hands out decides: a unit counts only if it was packed into that very
    text. So it does not matter who else has changed it meanwhile.
    """

    def __init__(self, most: int = MOST_RECENT) -> None:
        self._most = most
        self._units: dict[Place, tuple[str, Unit]] = {}

    def take(self, place: Place, row: UnitRow) -> Unit | None:
        """Return a unit as the store has it, if it is here; it must be kept again to stay."""
        state, unit = self._units.pop(place, (None, None))
        return unit if unit is not None and (unit.steps, state) == (row.steps, row.state) else None

    def keep(self, place: Place, state: str, unit: Unit) -> None:
        """Keep a unit that is as the store has it by now."""
        self._units[place] = state, unit
        if len(self._units) > self._most:
            del self._units[next(iter(self._units))]


def handle_together(
    store: Store, work: Sequence[Work], recent: Recent | None = None
) -> list[Outcome]:
    """Serve requests in one transaction, and return an answer or an error for each.

    An `UnavailableError` or `StorageError` concerns them all, and is raised.
    """
    recent = Recent() if recent is None else recent
    asked, touched, keys = set[Place](), set[Place](), set[tuple[Place, str]]()
    for experiment, request in work:
        place = experiment.id, request.unit
        if not isinstance(request, Ask):
            touched.add(place)
            continue
        asked.add(place)
        if request.key is not None:
            keys.add((place, request.key))
    with (
        warnings.catch_warnings(),
        store.transaction(sorted(asked), sorted(touched - asked), sorted(keys)) as transaction,
    ):
        warnings.simplefilter("ignore")  # an agent's remarks are for who tells it, not for a log
        units: dict[Place, Unit] = {}
        outcomes = [_handle(transaction, units, recent, *each) for each in work]
        changes = {
            place: Change(place[0], transaction.rows[place].id, unit.steps, unit.packed(), unit.due,
                          unit.events)
            for place, unit in units.items()
            if unit.events
        }  # fmt: skip
        transaction.write(list(changes.values()))
    for place, change in changes.items():
        recent.keep(place, change.state, units[place])
    return outcomes


def _handle(
    transaction: Transaction,
    units: dict[Place, Unit],
    recent: Recent,
    experiment: Experiment,
    request: Request,
) -> Outcome:
    place = experiment.id, request.unit
    unit = units.get(place)
    if unit is None:
        unit = units[place] = _unit(transaction, recent, experiment, request.unit)
    try:
        return unit.step(request, transaction.now)
    except InputError as error:
        return error


def _unit(transaction: Transaction, recent: Recent, experiment: Experiment, name: str) -> Unit:
    """Return a unit ready to be stepped; one that is unknown is new, and will not be written."""
    place = experiment.id, name
    row = transaction.rows.get(place)
    if row is None:
        return Unit(experiment, name, 0, None, {}, lambda number: ())

    def settlements(number: int) -> Sequence[Event]:
        return transaction.settlements(row.id, number)

    decided = transaction.decided.get(place, {})
    unit = recent.take(place, row)
    if unit is None:
        return Unit(experiment, name, row.steps, row.state, decided, settlements)
    unit.begin(decided, settlements)
    return unit


class _Submission(NamedTuple):
    """Requests that came in together, and where their answers go."""

    work: Sequence[Work]
    future: asyncio.Future[list[Outcome]]


class Desk:
    """Takes requests from an event loop, and answers them after the commit.

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
        self._thread = Thread(target=self._run, name="fpbandits desk", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many requests wait, those being served included."""
        return self._given - self._taken

    async def submit(self, work: Sequence[Work]) -> list[Outcome]:
        """Serve requests, and return an answer or an error for each."""
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
        """Serve who waits, and stop."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        last, served = False, list[tuple[_Submission, list[Outcome]]]()
        while not last:
            submissions, last = self._gathered(len(served))
            # Who gave up waiting comes again.
            waiting = [each for each in submissions if not each.future.done()]
            served = self._serve(waiting) if waiting else []
            self._taken += sum(len(each.work) for each in submissions)
            with suppress(RuntimeError):  # the loop may be gone by now
                self._loop.call_soon_threadsafe(_answer, served)

    def _gathered(self, before: int) -> tuple[list[_Submission], bool]:
        """Wait for requests, and return those that are there; and whether they are the last.

        Where several came together ``before``, those who were just answered are likely to come
        again at once, and a transaction of them all costs little more than one of half of them.
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

    def _serve(self, submissions: Sequence[_Submission]) -> list[tuple[_Submission, list[Outcome]]]:
        work = [each for submission in submissions for each in submission.work]
        began = self._loop.time()
        try:
            outcomes = handle_together(self._store, work, self._recent)
        except Error as error:
            if isinstance(error, StorageError) and len(submissions) > 1:  # one unit's, perhaps
                return [served for each in submissions for served in self._serve([each])]
            _logger.warning("store unavailable", extra={"detail": str(error)})
            # The caller gets no words of the database's.
            unavailable = UnavailableError("the store does not answer: try again")
            return [(each, [unavailable] * len(each.work)) for each in submissions]
        except Exception:
            if len(submissions) > 1:  # one of them must not take the others with it
                return [served for each in submissions for served in self._serve([each])]
            _logger.exception("a request failed")
            failed = Error("this request failed inside; the server's log says how")
            return [(each, [failed] * len(each.work)) for each in submissions]
        self._committed(len(work), self._loop.time() - began)
        served, place = [], 0
        for each in submissions:
            served.append((each, outcomes[place : place + len(each.work)]))
            place += len(each.work)
        return served


def _answer(served: Sequence[tuple[_Submission, list[Outcome]]]) -> None:
    for submission, outcomes in served:
        if not submission.future.done():
            submission.future.set_result(outcomes)


def _give_up(future: asyncio.Future[list[Outcome]]) -> None:
    if not future.done():
        future.set_exception(UnavailableError("the store takes too long: try again"))
