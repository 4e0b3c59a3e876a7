"""`Backend`: a store and its experiments, for an event loop that must not wait for either.

Requests that change something go through the `Batcher`. Reading from the store and preparing
experiments are done in threads. A call that takes longer than ``patience`` is an
`UnavailableError`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from fpbandits.errors import ConflictError, Error, InputError, StorageError, UnavailableError, quote
from fpbandits.service.batches import Batcher, logged
from fpbandits.service.experiment import Experiment, checked_experiment
from fpbandits.service.messages import Expire, decision_name, short_name
from fpbandits.service.metrics import Metrics
from fpbandits.service.statuses import MissingError
from fpbandits.service.step import Unit
from fpbandits.service.store import Kept, Logged, Store

PAGE = 1_000
"""Events of the log, or units with expired decisions, that are read at once."""

_MOST_READING = 500
"""Calls that may wait for the store, beside those that wait in the batcher."""

_SWEEP = 1.0
"""Seconds between two looks for decisions that have expired."""

_logger = logging.getLogger("fpbandits.service")

_T = TypeVar("_T")


class Backend:
    """A store with its batcher, and the experiments that were asked for so far.

    Parameters
    ----------
    store
        Where everything is kept.
    patience
        Seconds after which a call is given up.
    metrics
        Counts transactions, and watches the queue.
    """

    def __init__(self, store: Store, patience: float, metrics: Metrics) -> None:
        self.store, self._patience, self.metrics = store, patience, metrics
        self._experiments: dict[str, Experiment] = {}
        self._loading: dict[str, asyncio.Task[Experiment]] = {}
        self._reading = set[asyncio.Future[Any]]()
        # Apart from the threads that call the store: these may all be waiting for it.
        self._preparing = ThreadPoolExecutor(2, "fpbandits rules")
        self.batcher: Batcher

    @asynccontextmanager
    async def running(self, app: object = None) -> AsyncIterator[None]:
        """Serve as long as the application runs; then finish what is under way."""
        self.batcher = Batcher(
            self.store, patience=self._patience, committed=self.metrics.committed
        )
        self.metrics.watch(lambda: self.batcher.waiting)
        sweeping = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await sweeping
            await self.batcher.close()
            self._preparing.shutdown(wait=False, cancel_futures=True)
            self.store.close()

    async def _sweep(self) -> None:
        """Let decisions expire whose units nobody asks for."""
        more = False
        while True:
            await asyncio.sleep(0 if more else _SWEEP)
            more = False
            try:
                due = await self.read(self.store.due, PAGE)
                work = [(await self.experiment(name), Expire(unit)) for name, unit in due]
                if work:
                    await self.batcher.submit(work)
                more = len(due) == PAGE
            except Error:  # whoever asks is told; the next sweep will do
                pass
            except Exception:
                _logger.exception("a sweep failed")

    async def read(self, call: Callable[..., _T], *arguments: Any) -> _T:
        """Call the store in a thread, for a limited time; only so many calls may be under way."""
        if len(self._reading) >= _MOST_READING:
            raise UnavailableError(f"{_MOST_READING} wait for the store already: try again")
        reading = asyncio.get_running_loop().run_in_executor(None, call, *arguments)
        self._reading.add(reading)  # a thread cannot be stopped: it counts until it is done
        reading.add_done_callback(self._reading.discard)
        try:
            return await self._in_time(reading, "the store takes too long")
        except (UnavailableError, StorageError) as error:
            raise logged(error) from None

    async def _in_time(self, work: asyncio.Future[_T], late: str) -> _T:
        """Wait for a while; what is late goes on, and nobody is told if it fails."""
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.wait_for(asyncio.shield(work), self._patience)
        except TimeoutError:
            raise UnavailableError(f"{late}: try again") from None

    async def experiment(self, name: str) -> Experiment:
        """Return an experiment that takes requests."""
        if name in self._experiments:
            return self._experiments[name]
        if name not in self._loading:  # whoever asks for it meanwhile waits for the same
            self._loading[name] = asyncio.create_task(self._load(name))
            self._loading[name].add_done_callback(lambda done: self._loading.pop(name))
        return await self._in_time(self._loading[name], f"{quote(name)} is being prepared")

    async def _load(self, name: str) -> Experiment:
        kept = await self.read(self.kept, name)
        if not kept.open:
            raise UnavailableError(f"{quote(name)} is still being migrated: try again")
        found = self._experiments[name] = await self._prepare(_loaded, kept)
        return found

    async def _prepare(self, call: Callable[..., Experiment], *arguments: Any) -> Experiment:
        """Make an experiment in a thread: for a large problem that takes a while."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._preparing, call, *arguments)

    def kept(self, name: str) -> Kept:
        """Return an experiment as the store keeps it."""
        kept = self.store.experiment(name) if _can_be(name) else None
        if kept is None:
            wrong = f"unknown experiment {quote(name)}: PUT /v1/experiments/… makes one"
            raise MissingError(wrong, about=(("experiment", name),))
        return kept

    async def put(self, name: str, content: object) -> tuple[Kept, bool]:
        """Keep an experiment; return it, and whether it is new."""
        wanted = await self._prepare(checked_experiment, name, content)
        kept, new = await self.read(self.store.add_experiment, wanted.name, wanted.definition)
        if not new and json.loads(kept.definition) != json.loads(wanted.definition):
            raise ConflictError(
                f"{quote(name)} is another experiment, and experiments do not change: give the new "
                "one a name of its own"
            )
        if new:
            _logger.info("new experiment", extra={"experiment": name})
        if kept.open:
            self._experiments.setdefault(name, wanted.stored(kept.id))
        return kept, new

    def unit(self, experiment: Experiment, name: str) -> dict[str, Any]:
        """Return all that is known of a unit, as of its last event."""
        row = self.store.unit((experiment.id, name)) if _can_be(name) else None
        if row is None or row.state is None:
            wrong = f"unknown unit {quote(name)}: nothing was decided for it yet"
            raise MissingError(wrong, about=(("unit", name),))
        agent = Unit(experiment, name, row.steps, row.state, {}, lambda number: ()).agent
        return {
            "unit": name,
            "plays": agent.plays,
            "plausible": agent.plausible(),
            "misfits": agent.misfits,
            "pending": {decision_name(name, number): arm for number, arm in agent.pending.items()},
            "blocked": {arm: each.rewards for arm, each in agent.blocked.items()},
            "events": row.steps,
        }

    async def log(self, experiment: Experiment, after: int) -> list[Logged]:
        """Return a page of an experiment's log."""
        return await self.read(self.store.log, experiment.id, after, PAGE)


def _can_be(name: str) -> bool:
    """Tell whether something could have this name: a database takes not all texts."""
    try:
        return bool(short_name("it", name))
    except InputError:
        return False


def _loaded(kept: Kept) -> Experiment:
    """Read an experiment, and decide once: what is prepared is prepared here."""
    experiment = Experiment.from_definition(kept.id, kept.name, kept.definition)
    experiment.agent("").ask(next(iter(experiment.problem.contexts), None))
    return experiment
