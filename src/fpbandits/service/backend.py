"""`Backend`: a store and its experiments, for an event loop that must not wait for either.

Requests that change something go through the `Batcher`. Reading from the store and preparing
experiments are done in threads. A call that takes longer than ``patience`` is an
`UnavailableError`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from fpbandits.errors import ConflictError, Error, InputError, StorageError, UnavailableError, quote
from fpbandits.service.adopt import adopt
from fpbandits.service.batcher import Batcher, logged
from fpbandits.service.batches import Outcome
from fpbandits.service.beliefs import beliefs
from fpbandits.service.experiment import (
    CLOSED,
    OPEN,
    Experiment,
    Kept,
    checked_experiment,
    same_definition,
)
from fpbandits.service.messages import Ask, Expire, Request, decision_name, short_name
from fpbandits.service.metrics import Metrics
from fpbandits.service.statuses import MissingError
from fpbandits.service.step import CLOSED as CLOSED_EVENT
from fpbandits.service.step import REOPENED, Unit
from fpbandits.service.store import Logged, StaleError, Store

PAGE = 1_000
"""Events of the log, or units with expired decisions, that are read at once."""

MOST_EXPERIMENTS = 1_000
"""Experiments that a store may have."""

_MOST_READING, _MOST_MAKING = 500, 8
"""Calls that may wait for the store, beside those that wait in the batcher; and experiments that
may wait to be made."""

_SWEEP, _SKIP, _MOST_SKIPPED = 1.0, 60.0, 100
"""Seconds between two looks for decisions that have expired; seconds for which a unit that fails is
left out; and how many units of an experiment may fail before all of it is left out."""

_READY, _READY_AGAIN = 1.5, 1.0
"""Seconds that writing may take in a server that is ready, and between two tests of it."""

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
        self._under_way: dict[tuple[str, str], asyncio.Task[Any]] = {}
        self._reading = set[asyncio.Future[Any]]()
        # Apart from the threads that call the store: these may all be waiting for it. And new
        # experiments apart from old ones: a large one must not keep others from being served.
        self._preparing = ThreadPoolExecutor(2, "fpbandits rules")
        self._making = ThreadPoolExecutor(1, "fpbandits new rules")
        self._to_make = 0
        self._tested = 0.0
        self._test: asyncio.Task[Any] | None = None
        self._stopping = False
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
            self._stopping = True
            sweeping.cancel()
            with suppress(asyncio.CancelledError):
                await sweeping
            await self.batcher.close()
            for pool in (self._preparing, self._making):
                pool.shutdown(wait=False, cancel_futures=True)
            self.store.close()

    async def _sweep(self) -> None:
        """Let decisions expire whose units nobody asks for."""
        more, skipped = False, _Skipped()
        # Cancelling is not enough: in Python 3.11, wait_for may lose it.
        while not self._stopping:
            await asyncio.sleep(0 if more else _SWEEP)
            more = False
            try:
                left_out = skipped.at(asyncio.get_running_loop().time())
                due = await self.read(self.store.due, PAGE, *left_out)
                for name, some in groupby(sorted(due), itemgetter(0)):
                    units = [unit for _, unit in some]
                    if await self._expire(name, units, skipped):
                        more = len(due) == PAGE
            except Error:  # whoever asks gets the error; the next sweep tries again
                pass
            except Exception:
                _logger.exception("a sweep failed")

    async def _expire(self, name: str, units: list[str], skipped: _Skipped) -> bool:
        """Let decisions of some units expire; return whether any could."""
        try:
            experiment = await self.experiment(name)
            outcomes = await self.submit(experiment, list(map(Expire, units)))
        except Error:
            skipped.experiment(name)
            return False
        failed = [
            unit for unit, each in zip(units, outcomes, strict=True) if isinstance(each, Error)
        ]
        for unit in failed:
            skipped.unit(name, unit)
        return len(failed) < len(units)

    async def submit(self, experiment: Experiment, requests: Sequence[Request]) -> list[Outcome]:
        """Serve requests of an experiment, and return an answer or an error for each.

        If the experiment is not as this server knows it, it is read again, once.
        """
        try:
            _check(experiment, requests)
        except Error:  # it may take them by now
            experiment = await self.current(experiment.name)
            _check(experiment, requests)
        outcomes = await self.batcher.submit([(experiment, each) for each in requests])
        stale = [n for n, each in enumerate(outcomes) if isinstance(each, StaleError)]
        if not stale:
            return outcomes
        if self._experiments.get(experiment.name) is experiment:
            del self._experiments[experiment.name]
        try:
            renewed = await self.experiment(experiment.name)
            wanted = [requests[n] for n in stale]
            _check(renewed, wanted)
            again = await self.batcher.submit([(renewed, each) for each in wanted])
        except Error as error:
            again = [error] * len(stale)
        for n, outcome in zip(stale, again, strict=True):
            outcomes[n] = outcome
        return outcomes

    async def ready(self) -> None:
        """Raise an error unless the store can be written to, by the way that decisions take."""
        loop = asyncio.get_running_loop()
        if self._stopping:
            raise UnavailableError("the server is stopping")
        if self._test is None or (self._test.done() and loop.time() > self._tested + _READY_AGAIN):
            self._tested, self._test = loop.time(), asyncio.create_task(self.batcher.submit([]))
        await self._in_time(self._test, "the store cannot be written to", _READY)

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

    async def _in_time(
        self, work: asyncio.Future[_T], late: str, patience: float | None = None
    ) -> _T:
        """Wait for a while; what is late goes on, and nobody is told if it fails."""
        work.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.wait_for(asyncio.shield(work), patience or self._patience)
        except TimeoutError:
            raise UnavailableError(f"{late}: try again") from None

    async def _once(self, what: str, name: str, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Do something for an experiment; whoever asks for it meanwhile waits for the same."""
        key = what, name
        if key not in self._under_way:
            self._under_way[key] = asyncio.create_task(work())
            self._under_way[key].add_done_callback(lambda done: self._under_way.pop(key))
        return await self._in_time(self._under_way[key], f"{quote(name)} is being {what}")

    async def experiment(self, name: str) -> Experiment:
        """Return an experiment as it was when it was asked for first; see `submit`."""
        if name in self._experiments:
            return self._experiments[name]
        return await self._once("prepared", name, lambda: self._load(name))

    async def current(self, name: str) -> Experiment:
        """Return an experiment as the store has it now."""
        kept = await self.read(self.kept, name)
        known = self._experiments.get(name)
        if known is not None and known.stamp != kept.stamp:
            del self._experiments[name]
        return await self.experiment(name)

    async def _load(self, name: str) -> Experiment:
        kept = await self.read(self.kept, name)
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._preparing, _loaded, kept)
        if found.status in (OPEN, CLOSED):  # else it is about to change
            self._experiments[name] = found
        return found

    def kept(self, name: str) -> Kept:
        """Return an experiment as the store keeps it."""
        kept = self.store.experiment(name) if _can_be(name) else None
        if kept is None:
            wrong = f"unknown experiment {quote(name)}: PUT /v1/experiments/… makes one"
            raise MissingError(wrong, about=(("experiment", name),))
        return kept

    async def put(self, name: str, content: object) -> tuple[Kept, bool]:
        """Keep an experiment; return it, and whether it is new."""
        if self._to_make >= _MOST_MAKING:
            raise UnavailableError(f"{_MOST_MAKING} experiments are being made: try again")
        self._to_make += 1
        try:
            loop = asyncio.get_running_loop()
            wanted = await loop.run_in_executor(self._making, checked_experiment, name, content)
        finally:
            self._to_make -= 1
        kept, new = await self.read(self._add, wanted)
        if not new and not same_definition(kept.definition, wanted.definition):
            raise ConflictError(
                f"{quote(name)} is another experiment, and experiments do not change: give the new "
                "one a name of its own"
            )
        if new:
            _logger.info("new experiment", extra={"experiment": name})
        if kept.status == OPEN:
            self._experiments.setdefault(name, wanted.stored(kept))
        return kept, new

    def _add(self, wanted: Experiment) -> tuple[Kept, bool]:
        kept = self.store.experiment(wanted.name)
        if kept is not None:
            return kept, False
        if self.store.count_experiments() >= MOST_EXPERIMENTS:
            raise ConflictError(
                f"there are {MOST_EXPERIMENTS:,} experiments, the most there may be"
            )
        return self.store.add_experiment(wanted.name, wanted.definition, wanted.revision)

    async def change(self, name: str, what: str) -> Kept:
        """Let an experiment take no more decisions, or take them again; the same again is fine."""
        status, event = (CLOSED, CLOSED_EVENT) if what == "close" else (OPEN, REOPENED)
        kept = await self.read(self.kept, name)
        if kept.status not in (OPEN, CLOSED):
            raise ConflictError(f"{quote(name)} is {kept.status}: finish that first")
        if kept.status == status:
            return kept
        return await self.read(self.store.change_experiment, kept, status, None, event)

    async def adopt(self, name: str) -> Kept:
        """Let this version's revision of the rule decide in an experiment."""
        await self.read(self.kept, name)
        loop = asyncio.get_running_loop()

        async def work() -> Kept:
            return await loop.run_in_executor(self._making, adopt, self.store, name, self._go_on)

        return await self._once("adopted", name, work)

    def _go_on(self, units: int) -> None:
        if self._stopping:
            raise UnavailableError("the server is stopping")

    def unit(
        self, experiment: Experiment, name: str, context: str | None = None, error: float = 0.05
    ) -> dict[str, Any]:
        """Return all that is known of a unit, as of its last event; see `beliefs`."""
        row = self.store.unit((experiment.id, name)) if _can_be(name) else None
        if row is None or row.state is None:
            wrong = f"unknown unit {quote(name)}: nothing was decided for it yet"
            raise MissingError(wrong, about=(("unit", name),))
        agent = Unit(experiment, name, row.steps, row.state, {}, lambda number: ()).agent
        return {
            "unit": name,
            "plays": agent.plays,
            "plausible": agent.plausible(),
            "spread_fits": agent.spread_fits,
            "misfits": agent.misfits,
            "pending": {decision_name(name, number): arm for number, arm in agent.pending.items()},
            "blocked": {arm: each.rewards for arm, each in agent.blocked.items()},
            "events": row.steps,
            **beliefs(agent, context, error),
        }

    async def log(self, id: int, after: int) -> list[Logged]:
        """Return a page of an experiment's log."""
        return await self.read(self.store.log, id, after, PAGE)


class _Skipped:
    """Experiments and units that the sweep leaves out for a while, since they fail."""

    def __init__(self) -> None:
        self._experiments: dict[str, float] = {}
        self._units: dict[tuple[str, str], float] = {}
        self._now = 0.0

    def at(self, now: float) -> tuple[list[str], list[tuple[str, str]]]:
        """Return those that are left out now."""
        self._now = now
        self._experiments = {name: end for name, end in self._experiments.items() if end > now}
        self._units = {unit: end for unit, end in self._units.items() if end > now}
        return list(self._experiments), list(self._units)

    def experiment(self, name: str) -> None:
        """Leave an experiment out."""
        self._experiments[name] = self._now + _SKIP

    def unit(self, experiment: str, unit: str) -> None:
        """Leave a unit out, and all of its experiment if there are many."""
        self._units[experiment, unit] = self._now + _SKIP
        if sum(name == experiment for name, _ in self._units) > _MOST_SKIPPED:
            self.experiment(experiment)


def _check(experiment: Experiment, requests: Sequence[Request]) -> None:
    """Raise an error if an experiment does not take such requests now."""
    experiment.check_serving()
    if experiment.status == CLOSED and any(isinstance(each, Ask) for each in requests):
        raise ConflictError(
            f"{quote(experiment.name)} is closed: it takes rewards, no new decisions"
        )


def _can_be(name: str) -> bool:
    """Tell whether something could have this name: a database takes not all texts."""
    try:
        return bool(short_name("it", name))
    except InputError:
        return False


def _loaded(kept: Kept) -> Experiment:
    """Read an experiment, and decide once: what is prepared is prepared here."""
    experiment = Experiment.from_kept(kept)
    experiment.agent("").ask(next(iter(experiment.problem.contexts), None))
    return experiment
