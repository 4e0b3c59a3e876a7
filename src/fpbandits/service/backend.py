"""`Backend`: a store and its experiments, for an event loop that must not wait for either.

Requests that change units go through the `Batcher`. All other calls of the store, and preparing
experiments, are done in threads. Each wait for the store, or for work that is shared, ends after
``patience`` with an `UnavailableError`; the work itself goes on. Making an experiment and `ready`
have times of their own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from time import monotonic, sleep
from typing import Any, TypeVar

from fpbandits.errors import ConflictError, Error, StorageError, UnavailableError, quote
from fpbandits.service.adopt import adopt
from fpbandits.service.batcher import Batcher, logged_failure
from fpbandits.service.batches import Outcome
from fpbandits.service.experiment import (
    CLOSED,
    DELETING,
    OPEN,
    Experiment,
    Kept,
    Stamp,
    checked_experiment,
    same_definition,
)
from fpbandits.service.messages import Request, is_name
from fpbandits.service.metrics import Metrics
from fpbandits.service.report import Report, report
from fpbandits.service.settings import Settings
from fpbandits.service.statuses import MissingError, unknown_unit
from fpbandits.service.step import CLOSED as CLOSED_EVENT
from fpbandits.service.step import REOPENED, Answer
from fpbandits.service.store import StaleError, Store
from fpbandits.service.sweep import sweep

_MOST_CALLS = 500
"""Calls by `Backend.call_store` that may be under way, or wait for a thread."""

_MOST_CREATING = 8
"""New experiments that may be prepared, or wait for it, at a time."""

_CREATING_SECONDS = 100.0
"""Seconds that a new experiment may wait until it is prepared: with very many models its policy is
compiled first. `Client` waits a little longer than this."""

_MOST_REPORTED = 2_000
"""Units whose states a report reads."""

_REPORT_SECONDS = 60.0
"""Seconds from its beginning for which a finished report is used again."""

_READY_SECONDS = 1.5
"""Seconds for which `Backend.ready` waits for a test write."""

_TEST_SECONDS = 1.0
"""Seconds between two test writes."""

_THREADS = {"load": 2, "create": 1, "change": 1, "delete": 1, "report": 1}
"""Threads by kind of long work. load: prepare stored experiments; create: prepare new ones; change:
adopt a revision, find a unit's events to erase; delete: delete an experiment; report: report on
one."""

_logger = logging.getLogger("fpbandits.service")

_T = TypeVar("_T")


class _StoppingError(UnavailableError):
    """The server is being stopped."""


class Backend:
    """A store with its batcher, and the experiments that were asked for so far.

    Parameters
    ----------
    store
        Where everything is kept.
    settings
        What is allowed, and how long a call may take.
    metrics
        Counts transactions, and watches the queue.
    """

    def __init__(self, store: Store, settings: Settings, metrics: Metrics) -> None:
        self.store, self.metrics, self._settings = store, metrics, settings
        self._experiments: dict[str, Experiment] = {}
        self._under_way: dict[tuple[str, ...], asyncio.Task[Any]] = {}
        self._calls = set[asyncio.Future[Any]]()
        # Calls of the store use the event loop's own pool, whose threads may all be waiting for the
        # store. So each kind of long work has a pool of its own.
        self._pools = {
            kind: ThreadPoolExecutor(threads, f"fpbandits {kind}")
            for kind, threads in _THREADS.items()
        }
        self._reports: dict[str, tuple[float, Stamp, Report]] = {}
        self._to_create = set[asyncio.Future[Any]]()
        self._test_began = 0.0
        self._test: asyncio.Task[Any] | None = None
        # A draining server still answers, but is not ready. `Server` sets ``draining``.
        self.stopping = self.draining = False
        self.batcher: Batcher

    @asynccontextmanager
    async def running(self, app: object = None) -> AsyncIterator[None]:
        """Serve as long as the application runs; then serve what is queued, and close the store.

        Long work that has not begun is dropped. ``app`` is what Starlette passes.
        """
        settings = self._settings
        self.batcher = Batcher(
            self.store,
            most_waiting=settings.most_waiting,
            patience=settings.patience,
            longest=settings.transaction_seconds,
            committed=self.metrics.committed,
        )
        self.metrics.watch(lambda: self.batcher.waiting)
        sweeping = asyncio.create_task(sweep(self, settings.keep_keys_days * 86_400))
        try:
            yield
        finally:
            self.stopping = True
            sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await sweeping
            await self.batcher.close()
            for pool in self._pools.values():
                pool.shutdown(wait=False, cancel_futures=True)
            self.store.close()  # this may wait for who reads; nothing else is left to do

    async def submit(self, experiment: Experiment, requests: Sequence[Request]) -> list[Outcome]:
        """Serve requests of an experiment, and return an answer or an error for each.

        An error that concerns all of them is raised.
        Those that are refused because the experiment has changed in the store are tried once more,
        with the experiment as it is now; then each gets the error.
        """
        try:
            experiment.check_serving()
        except Error:  # its status or its rule may have changed since this server read it
            experiment = await self.current(experiment.name)
            experiment.check_serving()
        outcomes = await self.batcher.submit([(experiment, request) for request in requests])
        stale = [n for n, outcome in enumerate(outcomes) if isinstance(outcome, StaleError)]
        if not stale:
            return outcomes
        try:
            renewed = await self.current(experiment.name)
            renewed.check_serving()
            again = await self.batcher.submit([(renewed, requests[n]) for n in stale])
        except Error as error:
            again = [error] * len(stale)
        for n, outcome in zip(stale, again, strict=True):
            outcomes[n] = outcome
        return outcomes

    async def ready(self) -> None:
        """Raise an error unless a test write by the batcher succeeds, or while the server stops."""
        loop = asyncio.get_running_loop()
        if self.stopping or self.draining:
            raise _StoppingError("the server is stopping")
        if self._test is None or (
            self._test.done() and loop.time() > self._test_began + _TEST_SECONDS
        ):
            self._test_began = loop.time()
            # A transaction without requests is a test write.
            self._test = asyncio.create_task(self.batcher.submit([]))
        await self._in_time(self._test, "the store cannot be written to", _READY_SECONDS)

    async def call_store(self, call: Callable[..., _T], *arguments: Any) -> _T:
        """Call the store in a thread, for a limited time; only so many calls may be under way."""
        if len(self._calls) >= _MOST_CALLS:
            raise UnavailableError(f"{_MOST_CALLS} calls wait for the store already: try again")
        calling = asyncio.get_running_loop().run_in_executor(None, call, *arguments)
        self._calls.add(calling)  # a thread cannot be stopped: it counts until it is done
        calling.add_done_callback(self._calls.discard)
        with _store_failures():
            # These words are for the log.
            return await self._in_time(calling, "the store takes too long")

    async def _work(self, kind: str, call: Callable[..., _T], *arguments: Any) -> _T:
        """Do long work, in a thread for work of this kind."""
        loop = asyncio.get_running_loop()
        with _store_failures():
            return await loop.run_in_executor(self._pools[kind], call, *arguments)

    async def _in_time(
        self, work: asyncio.Future[_T], late: str, patience: float | None = None
    ) -> _T:
        """Wait for a result, for a while; after that the work goes on."""
        # asyncio would log an exception that nobody has read: this reads it.
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.wait_for(asyncio.shield(work), patience or self._settings.patience)
        except TimeoutError:
            work.add_done_callback(_log_defect)
            raise UnavailableError(f"{late}: try again") from None

    async def _once(
        self, verb: str, *names: str, work: Callable[[], Coroutine[Any, Any, _T]]
    ) -> _T:
        """Do some work; whoever asks for the same meanwhile waits for the same task.

        ``verb`` is a participle: what is being done to the last of ``names``. The names before it
        complete the key: the experiment of a unit, or the stamp of an experiment.
        """
        key = verb, *names
        if key not in self._under_way:
            self._under_way[key] = asyncio.create_task(work())
            self._under_way[key].add_done_callback(lambda done: self._under_way.pop(key))
        return await self._in_time(self._under_way[key], f"{quote(names[-1])} is being {verb}")

    async def experiment(self, name: str) -> Experiment:
        """Return an experiment as this server knows it; the store may have changed it since."""
        if name in self._experiments:
            return self._experiments[name]
        return await self._once("prepared", name, work=lambda: self.current(name))

    async def current(self, name: str) -> Experiment:
        """Return an experiment as the store has it now."""
        kept = await self.call_store(self.read_kept, name)
        known = self._experiments.get(name)
        if known is not None and known.stamp == kept.stamp:
            return known
        # Calls for one stamp share a preparation; one for a newer stamp does not wait for it.
        return await self._once("prepared", str(kept.stamp), name, work=lambda: self._load(kept))

    async def _load(self, kept: Kept) -> Experiment:
        """Prepare an experiment of the store, and remember it."""
        prepared = await self._work("load", _prepare, kept)
        experiment = prepared.with_most_pending(self._settings.most_pending)
        # If another call has cached a newer edition meanwhile, `submit` will renew this one.
        self._experiments[kept.name] = experiment
        return experiment

    def read_kept(self, name: str) -> Kept:
        """Return an experiment as the store keeps it; this blocks, so call it in a thread."""
        kept = self.store.experiment(name) if is_name(name) else None
        if kept is None:
            reason = f"unknown experiment {quote(name)}: PUT /v1/experiments/… makes one"
            raise MissingError(reason, about=(("experiment", name),))
        return kept

    async def put(self, name: str, content: object) -> tuple[Kept, bool]:
        """Make an experiment, unless it is there; return it, and whether it is new."""
        if len(self._to_create) >= _MOST_CREATING:
            raise UnavailableError(f"{_MOST_CREATING} experiments are being made: try again")
        loop, most_means = asyncio.get_running_loop(), self._settings.most_means
        check = partial(checked_experiment, name, content, most_means=most_means)
        checking = loop.run_in_executor(self._pools["create"], check)
        self._to_create.add(checking)  # a thread cannot be stopped: it counts until it is done
        checking.add_done_callback(self._to_create.discard)
        wanted = await self._in_time(checking, "preparing takes too long", _CREATING_SECONDS)
        kept, new = await self.call_store(self._add, wanted)
        if kept.status == DELETING:
            raise ConflictError(f"{quote(name)} is being deleted: wait until that is done")
        if not new and not same_definition(kept.definition, wanted.definition):
            raise ConflictError(
                f"{quote(name)} is another experiment, and experiments do not change: give the new "
                "one a name of its own"
            )
        if new:
            _logger.info("new experiment", extra={"experiment": name})
        stored = wanted.as_kept(kept).with_most_pending(self._settings.most_pending)
        self._experiments[name] = stored  # the cache may hold a deleted one of this name
        return kept, new

    def _add(self, wanted: Experiment) -> tuple[Kept, bool]:
        """Add an experiment to the store, unless there is one of its name or there are too many.

        If several are added at once there may be a few more than the most.
        """
        kept = self.store.experiment(wanted.name)
        if kept is not None:
            return kept, False
        most = self._settings.most_experiments
        if self.store.count_experiments() >= most:
            raise ConflictError(f"there are {most:,} experiments, the most there may be")
        return self.store.add_experiment(wanted.name, wanted.definition, wanted.revision)

    async def set_open(self, name: str, is_open: bool) -> Kept:
        """Open an experiment for new decisions, or close it; idempotent."""
        status, event = (OPEN, REOPENED) if is_open else (CLOSED, CLOSED_EVENT)
        kept = await self.call_store(self.read_kept, name)
        if kept.status not in (OPEN, CLOSED):
            raise ConflictError(f"{quote(name)} is {kept.status}: finish that first")
        if kept.status == status:
            return kept
        change = partial(self.store.change_experiment, kept, status, kind=event)
        return await self.call_store(change)

    async def adopt(self, name: str) -> Kept:
        """Switch an experiment to this software's revision of its policy's rule."""
        await self.call_store(self.read_kept, name)  # a `MissingError` if there is none
        call = partial(adopt, self.store, name, self._stop_if_stopping)
        return await self._once("adopted", name, work=lambda: self._work("change", call))

    def _stop_if_stopping(self, *progress: int) -> None:
        """Raise an error, to end long work, if the server is being stopped; told of progress."""
        if self.stopping:
            raise _StoppingError("the server is stopping")

    async def erase(self, name: str, unit: str) -> Answer:
        """Erase a unit: nothing is left of it but how many decisions it had."""
        experiment = await self.current(name)
        experiment.check_serving()

        async def work() -> Answer:
            # Finding the unit's events is long work, so it is done before the transaction. The
            # store returns them as an `Erase`.
            unit_key = experiment.id, unit
            request = await self._work("change", self.store.find_events, unit_key)
            (outcome,) = await self.submit(experiment, [request])
            if isinstance(outcome, Error):
                raise outcome
            return outcome

        if not is_name(unit):
            raise unknown_unit(unit)
        return await self._once("erased", name, unit, work=work)

    async def delete(self, name: str) -> Answer:
        """Delete an experiment with its log; if that is interrupted, another call finishes it."""
        kept = await self.call_store(self.read_kept, name)

        async def work() -> Answer:
            await self._work("delete", self._delete, kept)
            self._experiments.pop(name, None)
            self._reports.pop(name, None)
            return {"name": name, "status": "deleted"}

        return await self._once("deleted", name, work=work)

    def _delete(self, wanted: Kept) -> None:
        """Delete an experiment, in a thread."""
        kept = self.read_kept(wanted.name)
        if (kept.id, kept.created) != (wanted.id, wanted.created):
            return  # another server has deleted it, and this is a new one of the same name
        if kept.status != DELETING:
            kept = self.store.change_experiment(kept, DELETING)
        began = monotonic()
        while self.store.delete_some(kept.id):
            # SQLite's lock is no queue: others get it only while it is free. So this pauses as long
            # as the last step took.
            sleep(monotonic() - began)
            self._stop_if_stopping()
            began = monotonic()
        _logger.info("experiment deleted", extra={"experiment": kept.name})

    async def report(self, name: str) -> Report:
        """Return a report on an experiment's present edition, begun a minute ago at most."""
        kept, loop = await self.call_store(self.read_kept, name), asyncio.get_running_loop()
        if name in self._reports:
            began, stamp, latest = self._reports[name]
            if loop.time() < began + _REPORT_SECONDS and stamp == kept.stamp:
                return latest

        async def work() -> Report:
            call, began = partial(report, self.store, name, most_units=_MOST_REPORTED), loop.time()
            latest = await self._work("report", call)
            self._reports[name] = began, kept.stamp, latest
            return latest

        return await self._once("reported on", str(kept.stamp), name, work=work)


def _log_defect(done: asyncio.Future[Any]) -> None:
    """Log what failed after somebody had given up waiting, unless it is an error of ours."""
    error = None if done.cancelled() else done.exception()
    if isinstance(error, Exception) and not isinstance(error, Error):
        logged_failure(error)


@contextmanager
def _store_failures() -> Iterator[None]:
    """Log a failure of the store, and raise an error without its words, which may be secret."""
    try:
        yield
    except (StaleError, _StoppingError):  # these are not failures of the store
        raise
    except (UnavailableError, StorageError) as error:
        raise logged_failure(error) from None


def _prepare(kept: Kept) -> Experiment:
    """Return an experiment of the store; a throwaway agent's decision prepares its policy."""
    experiment = Experiment.from_kept(kept)
    experiment.agent("").ask(next(iter(experiment.problem.contexts), None))
    return experiment
