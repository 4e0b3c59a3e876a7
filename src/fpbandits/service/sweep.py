"""`sweep`: what a server does by itself, beside its requests.

Every second it lets decisions expire whose units nobody asks for; every hour it forgets old keys,
if the server is set so. Several servers of one store may do both.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Protocol

from fpbandits.errors import Error, UnavailableError
from fpbandits.service.batches import Outcome
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import Expire, Request
from fpbandits.service.store import Store

PAGE = 1_000
"""Units with expired decisions that are looked for at once."""

_EVERY = 1.0
"""Seconds between two searches for decisions that have expired."""

_KEYS_EVERY = 3600.0
"""Seconds between two searches for keys that are too old."""

_SKIP_SECONDS = 60.0
"""Seconds for which a unit that fails is left out."""

_RETRY_SECONDS = 5.0
"""Seconds instead if the store was unavailable, which may be over by then."""

_MOST_SKIPPED = 100
"""If more units of an experiment are left out, all of it is."""

_logger = logging.getLogger("fpbandits.service")


class Serving(Protocol):
    """What a sweep needs of a `Backend`."""

    store: Store
    stopping: bool

    async def call_store(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call the store in a thread."""

    async def experiment(self, name: str) -> Experiment:
        """Return an experiment."""

    async def submit(self, experiment: Experiment, requests: Sequence[Request]) -> list[Outcome]:
        """Serve requests of an experiment."""


async def sweep(serving: Serving, keep_keys: float) -> None:
    """Sweep until the server stops; keys are kept for so many seconds, or for ever if that is 0."""
    sweeper = _Sweeper(serving)
    more, position, keys_done = False, 0, -_KEYS_EVERY
    # Cancelling is not enough: in Python 3.11, wait_for may lose it.
    while not serving.stopping:
        await asyncio.sleep(0 if more else _EVERY)
        more, now = False, asyncio.get_running_loop().time()
        try:
            more = await sweeper.expire_some(now)
            if keep_keys and now >= keys_done + _KEYS_EVERY:
                forget = serving.store.forget_keys
                next_position = await serving.call_store(forget, position, keep_keys)
                if next_position is None:
                    keys_done = now
                else:
                    position, more = next_position, True
        except Error:  # requests for the same get the same error; the next sweep tries again
            pass
        except Exception:
            _logger.exception("a sweep failed")


class _Sweeper:
    """Lets decisions expire, and leaves out units that fail for a while."""

    def __init__(self, serving: Serving) -> None:
        self._serving, self._skipped = serving, _Skipped()

    async def expire_some(self, now: float) -> bool:
        """Let some decisions expire; return whether there may be more."""
        more, left_out = False, self._skipped.at(now)
        due = await self._serving.call_store(self._serving.store.due, PAGE, *left_out)
        for name, group in groupby(sorted(due), itemgetter(0)):
            if await self._expire(name, [unit for _, unit in group]):
                more = len(due) == PAGE
        return more

    async def _expire(self, name: str, units: list[str]) -> bool:
        """Let decisions of some units expire; return whether any could."""
        try:
            experiment = await self._serving.experiment(name)
            outcomes = await self._serving.submit(experiment, list(map(Expire, units)))
        except Error as error:
            self._skipped.add_experiment(name, error)
            return False
        failed = {
            unit: outcome
            for unit, outcome in zip(units, outcomes, strict=True)
            if isinstance(outcome, Error)
        }
        for unit, failure in failed.items():
            self._skipped.add_unit(name, unit, failure)
        return len(failed) < len(units)


class _Skipped:
    """Experiments and units that the sweep leaves out for a while, since they fail."""

    def __init__(self) -> None:
        self._experiments: dict[str, float] = {}
        self._units: dict[tuple[str, str], float] = {}
        self._now = 0.0

    def at(self, now: float) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the experiments and the units that are left out now."""
        self._now = now
        self._experiments = {name: end for name, end in self._experiments.items() if end > now}
        self._units = {unit: end for unit, end in self._units.items() if end > now}
        return list(self._experiments), list(self._units)

    def add_experiment(self, name: str, error: Error) -> None:
        """Leave an experiment out, because of an error."""
        self._experiments[name] = self._end(error)

    def add_unit(self, experiment: str, unit: str, error: Error) -> None:
        """Leave a unit out, and all of its experiment if there are many."""
        self._units[experiment, unit] = self._end(error)
        if sum(name == experiment for name, _ in self._units) > _MOST_SKIPPED:
            self.add_experiment(experiment, error)

    def _end(self, error: Error) -> float:
        """Return until when an error leaves something out."""
        unavailable = isinstance(error, UnavailableError)
        return self._now + (_RETRY_SECONDS if unavailable else _SKIP_SECONDS)
