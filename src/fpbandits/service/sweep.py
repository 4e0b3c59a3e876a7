"""`sweep`: what a server does by itself, beside its requests.

Every second it lets decisions expire whose units nobody asks for; every hour it forgets old keys,
if the server is set so. Several servers of one store may do both.
"""

from __future__ import annotations

import asyncio
import logging
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from fpbandits.errors import Error, UnavailableError
from fpbandits.service.messages import Expire

if TYPE_CHECKING:
    from fpbandits.service.backend import Backend

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


async def sweep(backend: Backend, keep_keys: float) -> None:
    """Sweep until the server stops; keys are kept for so many seconds, or for ever if that is 0."""
    skipped: dict[tuple[str, str | None], float] = {}
    more, position, keys_done = False, 0, -_KEYS_EVERY
    # Cancelling is not enough: in Python 3.11, wait_for may lose it.
    while not backend.stopping:
        await asyncio.sleep(0 if more else _EVERY)
        more, now = False, asyncio.get_running_loop().time()
        try:
            more = await _expire_some(backend, skipped, now)
            if keep_keys and now >= keys_done + _KEYS_EVERY:
                forget = backend.store.forget_keys
                next_position = await backend.call_store(forget, position, keep_keys)
                if next_position is None:
                    keys_done = now
                else:
                    position, more = next_position, True
        except Error:  # requests for the same get the same error; the next sweep tries again
            pass
        except Exception:
            _logger.exception("a sweep failed")


async def _expire_some(
    backend: Backend, skipped: dict[tuple[str, str | None], float], now: float
) -> bool:
    """Let some decisions expire; return whether there may be more.

    ``skipped`` holds the units that are left out because they failed, each by the names of its
    experiment and itself, and until when. Without a unit's name, all of the experiment is left out.
    """
    for key in [key for key, end in skipped.items() if end <= now]:
        del skipped[key]
    experiments = [name for name, unit in skipped if unit is None]
    left_out = [(name, unit) for name, unit in skipped if unit is not None]
    due = await backend.call_store(backend.store.due, PAGE, experiments, left_out)
    more = False
    for name, group in groupby(sorted(due), itemgetter(0)):
        units = [unit for _, unit in group]
        try:
            experiment = await backend.experiment(name)
            outcomes = await backend.submit(experiment, list(map(Expire, units)))
        except Error as error:
            skipped[name, None] = now + _skip_seconds(error)
            continue
        for unit, outcome in zip(units, outcomes, strict=True):
            if not isinstance(outcome, Error):
                more = len(due) == PAGE
                continue
            skipped[name, unit] = now + _skip_seconds(outcome)
            if sum(key[0] == name and key[1] is not None for key in skipped) > _MOST_SKIPPED:
                skipped[name, None] = now + _skip_seconds(outcome)
    return more


def _skip_seconds(error: Error) -> float:
    """Return for how long an error leaves something out."""
    return _RETRY_SECONDS if isinstance(error, UnavailableError) else _SKIP_SECONDS
