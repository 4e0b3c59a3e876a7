"""Group commit: requests that arrive together are one transaction, and are answered after it.

`handle_together` handles one batch: it locks the units that the requests need, steps them in the
order of the requests, writes, commits, and returns the answers. An answer does not depend on the
other requests in its batch.

`Batcher` collects the batches: a queue, and a thread that takes from it. While one batch is
committed, the next one gathers. Experiments take turns in a batch, and while others wait a batch
ends after `SLICE` seconds of deciding: so a long list of slow decisions is spread over several
transactions, and no other experiment waits for all of it.

The queue is bounded, and so is the time that a request waits (`PATIENCE`): beyond either it is an
`UnavailableError`. A request that was given up may have been committed all the same; sent again
with the same key, it gets the same answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread

from fpbandits.errors import Error, InputError, UnavailableError
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import Ask, Request
from fpbandits.service.step import Answer, Event, Unit
from fpbandits.service.store import Change, StaleError, Store, Transaction, UnitKey, UnitRow

PATIENCE = 8.0
"""Seconds that a request waits for its answer: longer than a store may take, see `store`."""

MOST_WAITING = 20_000
MOST_TOGETHER = 4_000
"""Requests in the queue, and in one transaction: in a large one each costs less, since a unit is
read and written once for all of its requests."""

SLICE = 0.05
"""Seconds of deciding, of CPU time, after which a transaction is committed if others wait."""

CROWD, LINGER = 8, 0.002
"""After a batch of at least CROWD submissions, wait LINGER seconds for the next."""

MOST_RECENT = 5_000
"""Units that are kept in memory, a few kilobytes each."""

_logger = logging.getLogger("fpbandits.service")

Work = tuple[Experiment, Request]
Outcome = Answer | Error


class Recent:
    """A cache of the units that were stepped last, so that their states need not be unpacked again.

    A cached unit is used only if the store still has the very text into which it was packed, and
    the experiment is the same: so it does not matter what another server has changed meanwhile.
    """

    def __init__(self, most: int = MOST_RECENT) -> None:
        self._most = most
        self._units: dict[UnitKey, tuple[str, Unit]] = {}

    def take(self, experiment: Experiment, name: str, row: UnitRow) -> Unit | None:
        """Return a unit as the store has it, if it is here; it must be kept again to stay."""
        state, unit = self._units.pop((experiment.id, name), (None, None))
        if unit is None or unit.experiment.stamp != experiment.stamp:
            return None
        return unit if (unit.steps, state) == (row.steps, row.state) else None

    def keep(self, unit_key: UnitKey, state: str, unit: Unit) -> None:
        """Keep a unit that is as the store has it by now."""
        self._units[unit_key] = state, unit
        if len(self._units) > self._most:
            del self._units[next(iter(self._units))]


def handle_together(
    store: Store,
    work: Sequence[Work],
    recent: Recent | None = None,
    enough: Callable[[], bool] = lambda: False,
) -> list[Outcome]:
    """Serve requests in one transaction, and return an answer or an error for each.

    After each request ``enough`` says whether to serve no more: then only the first requests have
    answers. An `UnavailableError` or `StorageError` of the store concerns
    them all, and is raised.
    """
    recent = Recent() if recent is None else recent
    stamps = {experiment.stamp for experiment, _ in work}
    asked, touched, keys = set[UnitKey](), set[UnitKey](), set[tuple[UnitKey, str]]()
    for experiment, request in work:
        unit_key = experiment.id, request.unit
        if not isinstance(request, Ask):
            touched.add(unit_key)
            continue
        asked.add(unit_key)
        if request.key is not None:
            keys.add((unit_key, request.key))
    locked = sorted(stamps), sorted(asked), sorted(touched - asked), sorted(keys)
    with warnings.catch_warnings(), store.transaction(*locked) as transaction:
        warnings.simplefilter("ignore")  # an agent's warnings are for people
        batch = _Batch(transaction, recent)
        outcomes: list[Outcome] = []
        for experiment, request in work:
            outcomes.append(batch.serve(experiment, request))
            if enough():
                break
        changes = batch.changes()
        transaction.write(list(changes.values()))
    for unit_key, change in changes.items():
        recent.keep(unit_key, change.state, batch.units[unit_key])
    return [
        batch.failed.get((experiment.id, request.unit), outcome)
        for (experiment, request), outcome in zip(work, outcomes, strict=False)
    ]


class _Batch:
    """The units of a transaction as they are stepped, and those that failed.

    A unit that cannot be read, or fails inside, is left as it was: it concerns nobody else.
    """

    def __init__(self, transaction: Transaction, recent: Recent) -> None:
        self._transaction, self._recent = transaction, recent
        self.units: dict[UnitKey, Unit] = {}
        self.failed: dict[UnitKey, Error] = {}

    def serve(self, experiment: Experiment, request: Request) -> Outcome:
        """Step a unit, and return the answer or the error."""
        unit_key = experiment.id, request.unit
        if experiment.id not in self._transaction.current:
            return StaleError("the experiment has changed: try again")
        if unit_key in self.failed:
            return self.failed[unit_key]
        try:
            if unit_key not in self.units:
                self.units[unit_key] = self._unit(experiment, request.unit)
            return self.units[unit_key].step(request, self._transaction.now)
        except InputError as error:
            return error
        except UnavailableError:
            raise
        except Exception as error:
            return self._fail(unit_key, error)

    def changes(self) -> dict[UnitKey, Change]:
        """Return what is to be written."""
        found: dict[UnitKey, Change] = {}
        for unit_key, unit in self.units.items():
            if unit.events and unit_key not in self.failed:
                try:
                    found[unit_key] = Change.of(self._transaction.rows[unit_key].id, unit)
                except Exception as error:
                    self._fail(unit_key, error)
        return found

    def _fail(self, unit_key: UnitKey, error: Exception) -> Error:
        extra = {"experiment": unit_key[0], "detail": f"unit {unit_key[1]!r}"}
        _logger.error("a unit failed", exc_info=error, extra=extra)
        failed = Error("this unit's request failed inside; the server's log says how")
        return self.failed.setdefault(unit_key, failed)

    def _unit(self, experiment: Experiment, name: str) -> Unit:
        """Return a unit to be stepped; one that is unknown is new, and will not be written."""
        transaction, unit_key = self._transaction, (experiment.id, name)
        row = transaction.rows.get(unit_key)
        if row is None:
            return Unit(experiment, name, 0, None, {}, lambda number: ())

        def resolutions(number: int) -> Sequence[Event]:
            return transaction.resolutions(row.id, number)

        decided = transaction.decided.get(unit_key, {})
        unit = self._recent.take(experiment, name, row)
        if unit is None:
            return Unit(experiment, name, row.steps, row.state, decided, resolutions)
        unit.begin(decided, resolutions)
        return unit


@dataclass(eq=False, slots=True)
class _Submission:
    """Requests that came in together, their answers so far, and where these go."""

    work: Sequence[Work]
    future: asyncio.Future[list[Outcome]]
    outcomes: list[Outcome] = field(default_factory=list)
    failure: Error | None = None

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do: all is answered, something failed, or nobody waits."""
        done = len(self.outcomes) == len(self.work)
        return done or self.failure is not None or self.future.done()


_Pairs = list[tuple[_Submission, Work]]
"""Requests, each with the submission that it came in."""

_NO_EXPERIMENT = 0
"""The turn of submissions without requests; experiments are numbered from 1."""


class Batcher:
    """Collects requests of an event loop into batches, and answers them after the commit.

    Parameters
    ----------
    store
        Where everything is kept; nobody else may write to this object of it.
    most_waiting, patience
        How many requests may wait, and for how many seconds.
    committed
        Is called with the number of requests of each transaction, and the seconds that it took.
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
        # By experiment, in turn; and how many requests may be in the next transaction.
        self._turns: dict[int, deque[_Submission]] = {}
        self._most_together = MOST_TOGETHER
        # Experiments whose requests are in the queue.
        self._arrived = set[int]()
        self._closed = False
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
        """Serve requests of one experiment, and return an answer or an error for each.

        Without any it is a question whether the store can be written to. What concerns them all is
        raised: an `UnavailableError`, or an `Error` that is logged.
        """
        if self.waiting + len(work) > self._most_waiting:
            raise UnavailableError(f"{self.waiting:,} requests wait already: try again")
        future: asyncio.Future[list[Outcome]] = self._loop.create_future()
        self._given += len(work)
        self._queue.put(_Submission(work, future))
        self._arrived.update(experiment.id for experiment, _ in work[:1])
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
        before = 0
        while self._turns or not self._closed:
            self._gather(before)
            batch = self._next_batch()
            if batch:
                self._serve(batch)
            before = len({id(submission) for submission, _ in batch})
            self._answer()

    def _gather(self, before: int) -> None:
        """Take all that is in the queue; wait for it only if there is nothing else to do.

        After a large batch ``before``, the clients that were just answered are likely to send their
        next requests at once, and one transaction for all of them costs little more than one for
        half of them.
        """
        self._arrived = set()
        idle = not self._turns and not self._closed
        with suppress(Empty):
            each = self._queue.get(block=idle)
            if idle and each is not None and before >= CROWD:
                time.sleep(LINGER)
            while True:
                if each is None:
                    self._closed = True
                else:
                    key = each.work[0][0].id if each.work else _NO_EXPERIMENT
                    self._turns.setdefault(key, deque()).append(each)
                each = self._queue.get_nowait()

    def _next_batch(self) -> _Pairs:
        """Return the requests of the next transaction: one of each experiment in turn."""
        for check in self._turns.pop(_NO_EXPERIMENT, ()):
            self._check(check)
        turns = [self._waiting_in(queue) for queue in self._turns.values()]
        batch: _Pairs = []
        while turns and len(batch) < self._most_together:
            for requests in turns.copy():
                each = next(requests, None)
                if each is None:
                    turns.remove(requests)
                else:
                    batch.append(each)
        return batch[: self._most_together]

    def _waiting_in(self, queue: deque[_Submission]) -> Iterator[tuple[_Submission, Work]]:
        for submission in queue:
            if not submission.finished:  # those that were given up will be sent again
                for work in submission.work[len(submission.outcomes) :]:
                    yield submission, work

    def _serve(self, batch: _Pairs) -> None:
        """Serve a batch, or the first part of it, in one transaction."""
        began = self._loop.time()
        try:
            outcomes = handle_together(
                self._store, [work for _, work in batch], self._recent, self._enough(batch)
            )
        except Exception as error:
            submissions = {id(submission): submission for submission, _ in batch}
            if len(submissions) > 1 and not isinstance(error, UnavailableError):
                # One of them must not take the others with it.
                for submission in submissions.values():
                    self._serve([each for each in batch if each[0] is submission])
                return
            failure = logged(error)
            for submission in submissions.values():
                submission.failure = failure
            return
        self._committed(len(outcomes), self._loop.time() - began)
        for (submission, _), outcome in zip(batch, outcomes, strict=False):
            submission.outcomes.append(outcome)
        # Units beyond what the time allows would be locked in vain.
        done, in_time = len(outcomes), len(outcomes) == len(batch)
        most = 2 * self._most_together if in_time else 2 * done
        self._most_together = min(MOST_TOGETHER, most)

    def _enough(self, batch: _Pairs) -> Callable[[], bool]:
        """Return what ends a transaction in time, if another experiment waits."""
        own, until = {experiment.id for _, (experiment, _) in batch}, None

        def enough() -> bool:
            nonlocal until
            if until is None:
                until = time.thread_time() + SLICE
            return time.thread_time() > until and (len(own) > 1 or not self._arrived <= own)

        return enough

    def _check(self, submission: _Submission) -> None:
        """Find out whether the store can be written to."""
        try:
            self._store.check_writing()
        except Exception as error:
            submission.failure = logged(error)
        with suppress(RuntimeError):  # the loop may be gone by now
            self._loop.call_soon_threadsafe(_answer, [submission])

    def _answer(self) -> None:
        """Answer what is finished, and forget what was given up."""
        finished: list[_Submission] = []
        for key, queue in list(self._turns.items()):
            while queue and queue[0].finished:
                finished.append(queue.popleft())
            if not queue:
                del self._turns[key]
        self._taken += sum(len(each.work) for each in finished)
        with suppress(RuntimeError):  # the loop may be gone by now
            self._loop.call_soon_threadsafe(_answer, finished)


def logged(error: Exception) -> Error:
    """Log a failure of the store or of the service; return what a caller is told of it."""
    if isinstance(error, Error):
        _logger.warning("store unavailable", extra={"detail": str(error)})
        return UnavailableError("the store does not answer: try again")
    _logger.error("a request failed", exc_info=error)
    return Error("this request failed inside; the server's log says how")


def _answer(submissions: Sequence[_Submission]) -> None:
    for each in submissions:
        if each.future.done():
            continue
        if each.failure is not None:
            each.future.set_exception(each.failure)
        else:
            each.future.set_result(each.outcomes)


def _give_up(future: asyncio.Future[list[Outcome]]) -> None:
    if not future.done():
        future.set_exception(UnavailableError("the store takes too long: try again"))
