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
from itertools import islice, zip_longest
from queue import Empty, SimpleQueue
from threading import Thread

from fpbandits.errors import Error, UnavailableError
from fpbandits.service.batches import Outcome, Recent, Work, handle_together
from fpbandits.service.settings import Settings
from fpbandits.service.store import Store

MOST_TOGETHER = 4_000
"""Requests in one transaction: in a large one each costs less, since a unit is read and written
once for all of its requests."""

CROWD = 8
"""After a batch of at least so many submissions, the next batch is not begun at once."""

LINGER = 0.002
"""Seconds that it waits after its first submission, so that others can join it."""

_logger = logging.getLogger("fpbandits.service")


@dataclass(eq=False, slots=True)
class _Submission:
    """Requests of one experiment that came in together, and their answers so far."""

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
"""The key of submissions without requests; experiments are numbered from 1."""


class Batcher:
    """Collects requests of an event loop into batches, and answers them after the commit.

    Parameters
    ----------
    store
        Where everything is kept. Only the batcher's thread may write through it.
    most_waiting, patience
        How many requests may wait, and for how many seconds.
    longest
        Seconds of deciding, of CPU time, after which a transaction is committed if others wait.
    committed
        Called after each transaction with the number of its requests, the seconds that it took,
        and its events by experiment and kind.
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
        # What was taken from the queue, by experiment; whose turn it is comes first.
        self._turns: dict[int, deque[_Submission]] = {}
        # How many requests may be in the next transaction.
        self._most_together = MOST_TOGETHER
        # Experiments whose requests arrived since `_gather` last began.
        self._arrived = set[int]()
        self._closed = False
        # How many requests: the first is changed by the loop's thread only, the second by ours.
        self._submitted, self._finished = 0, 0
        self._loop = asyncio.get_running_loop()
        self._thread = Thread(target=self._run, name="fpbandits batches", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """How many requests wait, those being served included."""
        return self._submitted - self._finished

    async def submit(self, work: Sequence[Work]) -> list[Outcome]:
        """Serve requests of one experiment, and return an answer or an error for each.

        An empty list asks whether the store can be written to. A failure that concerns all of them
        is raised: an `UnavailableError`, or an `Error` without details, which the log has.
        """
        if self.waiting + len(work) > self._most_waiting:
            raise UnavailableError(f"{self.waiting:,} requests wait already: try again")
        future: asyncio.Future[list[Outcome]] = self._loop.create_future()
        self._submitted += len(work)
        self._queue.put(_Submission(work, future))
        if work:
            self._arrived.add(work[0][0].id)
        # Cheaper than `asyncio.wait_for`, and there are many.
        timer = self._loop.call_later(self._patience, _give_up, future)
        try:
            return await future
        finally:
            timer.cancel()

    async def close(self) -> None:
        """Serve what is in the queue, and stop."""
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        """Serve batch after batch; this is the thread."""
        batch: _Pairs = []
        while self._turns or not self._closed:
            self._gather(after=len({submission for submission, _ in batch}))
            batch = self._next_batch()
            if batch:
                self._serve(batch)
            self._answer()

    def _gather(self, after: int) -> None:
        """Take all that is in the queue; wait for it only if there is nothing else to do.

        ``after`` is how many submissions the last batch had. If they were many, and are answered,
        their clients are likely to send their next requests at once, and one transaction for all of
        them costs little more than one for half of them.
        """
        self._arrived = set()
        idle = not self._turns and not self._closed
        with suppress(Empty):
            submission = self._queue.get(block=idle)
            if idle and submission is not None and after >= CROWD:
                time.sleep(LINGER)
            while True:  # until the queue is empty
                if submission is None:
                    self._closed = True
                else:
                    key = submission.work[0][0].id if submission.work else _NO_EXPERIMENT
                    self._turns.setdefault(key, deque()).append(submission)
                submission = self._queue.get_nowait()

    def _next_batch(self) -> _Pairs:
        """Return the requests of the next transaction: one of each experiment in turn.

        Those who ask whether the store can be written to are answered here.
        """
        for submission in self._turns.pop(_NO_EXPERIMENT, ()):
            self._test_writing(submission)
        rounds = zip_longest(*map(self._unanswered, self._turns.values()))
        pairs = (pair for one_of_each in rounds for pair in one_of_each if pair is not None)
        return list(islice(pairs, self._most_together))

    def _unanswered(self, queue: deque[_Submission]) -> Iterator[tuple[_Submission, Work]]:
        """Yield the requests of an experiment that have no answer yet, in order."""
        for submission in queue:
            if not submission.finished:  # who gave up sends the requests again, with their keys
                for work in submission.work[len(submission.outcomes) :]:
                    yield submission, work

    def _serve(self, batch: _Pairs) -> None:
        """Serve a batch, or the first part of it, in one transaction."""
        began, counts = self._loop.time(), Counter[tuple[str, str]]()
        work, enough = [work for _, work in batch], self._enough(batch)
        try:
            outcomes = handle_together(self._store, work, self._recent, enough, counts)
        except Exception as error:
            submissions = dict.fromkeys(submission for submission, _ in batch)
            if len(submissions) > 1 and not isinstance(error, UnavailableError):
                # One of them must not take the others with it.
                for submission in submissions:
                    self._serve([pair for pair in batch if pair[0] is submission])
                return
            failure = logged_failure(error)
            for submission in submissions:
                submission.failure = failure
            return
        self._committed(len(outcomes), self._loop.time() - began, counts)
        for (submission, (experiment, _)), outcome in zip(batch, outcomes, strict=False):
            submission.outcomes.append(outcome)
            self._turns[experiment.id] = self._turns.pop(experiment.id)  # now the last in turn
        # A transaction begins by locking the units of all its requests: those for which there is no
        # time would be locked in vain.
        in_time = len(outcomes) == len(batch)
        most = 2 * self._most_together if in_time else 2 * len(outcomes)
        self._most_together = min(MOST_TOGETHER, most)

    def _enough(self, batch: _Pairs) -> Callable[[], bool]:
        """Return a test whether to end a transaction: time is up, and another experiment waits.

        The time begins when it is first called, after the first request. An experiment waits if it
        is in the same batch, or has arrived since.
        """
        experiments = {experiment.id for _, (experiment, _) in batch}
        until = None

        def enough() -> bool:
            nonlocal until
            if until is None:
                until = time.thread_time() + self._longest
            others_wait = len(experiments) > 1 or not self._arrived <= experiments
            return others_wait and time.thread_time() > until

        return enough

    def _test_writing(self, submission: _Submission) -> None:
        """Answer a submission without requests: write something to the store."""
        try:
            self._store.check_writing()
        except Exception as error:
            submission.failure = logged_failure(error)
        with suppress(RuntimeError):  # the loop may be gone by now
            self._loop.call_soon_threadsafe(_resolve, [submission])

    def _answer(self) -> None:
        """Answer the submissions that are finished, and drop those that were given up."""
        finished: list[_Submission] = []
        for key, queue in list(self._turns.items()):
            while queue and queue[0].finished:
                finished.append(queue.popleft())
            if not queue:
                del self._turns[key]
        self._finished += sum(len(submission.work) for submission in finished)
        with suppress(RuntimeError):  # the loop may be gone by now
            self._loop.call_soon_threadsafe(_resolve, finished)


def logged_failure(error: Exception, request: str | None = None) -> Error:
    """Log a failure of the store or of the service; return the error that the caller gets."""
    if isinstance(error, Error):  # errors of requests are outcomes: this one is the store's
        _logger.warning("store unavailable", extra={"detail": str(error)})
        return UnavailableError("the store does not answer: try again")
    _logger.error("a request failed", exc_info=error, extra={"request": request})
    return Error("this request failed inside; the server's log says how")


def _resolve(submissions: Sequence[_Submission]) -> None:
    """Give submissions their answers, in the event loop."""
    for submission in submissions:
        if submission.future.done():
            continue
        if submission.failure is not None:
            submission.future.set_exception(submission.failure)
        else:
            submission.future.set_result(submission.outcomes)


def _give_up(future: asyncio.Future[list[Outcome]]) -> None:
    if not future.done():
        future.set_exception(UnavailableError("the store takes too long: try again"))
