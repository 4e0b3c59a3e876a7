"""Group commit: requests that arrive together are one transaction, and are answered after it.

`Batcher` is a queue, and a thread that takes from it. While one batch is committed, the next one
gathers. Experiments take turns in a batch, and while others wait a batch ends after so many seconds
of deciding (``longest``): so a long list of slow decisions is spread over several transactions, and
no other experiment waits for all of it.

The queue is bounded, and so is the time that a request waits (``patience``): beyond either it is an
`UnavailableError`. A request that was given up may have been committed all the same; sent again
with the same key, it gets the same answer.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Thread

from fpbandits.errors import Error, UnavailableError
from fpbandits.service.batches import Outcome, Recent, Work, handle_together
from fpbandits.service.settings import Settings
from fpbandits.service.store import Store

MOST_TOGETHER = 4_000
"""Requests in one transaction: in a large one each costs less, since a unit is read and written
once for all of its requests."""

CROWD, LINGER = 8, 0.002
"""After a batch of at least CROWD submissions, wait LINGER seconds for the next."""

_logger = logging.getLogger("fpbandits.service")


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
    longest
        Seconds of deciding, of CPU time, after which a transaction is committed if others wait.
    committed
        Is called with the number of requests of each transaction, the seconds that it took, and
        its events by experiment and kind.
    """

    def __init__(
        self,
        store: Store,
        *,
        most_waiting: int = Settings.most_waiting,
        patience: float = Settings.patience,
        longest: float = Settings.transaction_seconds,
        committed: Callable[[int, float, Counter[tuple[str, str]]], None] = lambda *numbers: None,
    ) -> None:
        self._store, self._most_waiting, self._patience = store, most_waiting, patience
        self._committed, self._recent, self._longest = committed, Recent(), longest
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
        began, counts = self._loop.time(), Counter[tuple[str, str]]()
        work, enough = [work for _, work in batch], self._enough(batch)
        try:
            outcomes = handle_together(self._store, work, self._recent, enough, counts)
        except Exception as error:
            submissions = {id(submission): submission for submission, _ in batch}
            if len(submissions) > 1 and not isinstance(error, UnavailableError):
                # One of them must not take the others with it.
                for submission in submissions.values():
                    self._serve([each for each in batch if each[0] is submission])
                return
            failure = log_failure(error)
            for submission in submissions.values():
                submission.failure = failure
            return
        self._committed(len(outcomes), self._loop.time() - began, counts)
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
                until = time.thread_time() + self._longest
            return time.thread_time() > until and (len(own) > 1 or not self._arrived <= own)

        return enough

    def _check(self, submission: _Submission) -> None:
        """Find out whether the store can be written to."""
        try:
            self._store.check_writing()
        except Exception as error:
            submission.failure = log_failure(error)
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


def log_failure(error: Exception, request: str | None = None) -> Error:
    """Log a failure of the store or of the service; return what a caller is told of it."""
    if isinstance(error, Error):
        _logger.warning("store unavailable", extra={"detail": str(error)})
        return UnavailableError("the store does not answer: try again")
    _logger.error("a request failed", exc_info=error, extra={"request": request})
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
