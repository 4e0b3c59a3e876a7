"""Runs on a Dask cluster: an executor for the address of its scheduler.

Dask does what clusters need: it finds workers, hands out batches, and hands them out again when a
worker is lost. It is an extra: ``pip install 'fpbandits[dask]'``.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from fpbandits.core.extras import needed_for
from fpbandits.errors import InputError, quote, said

PATIENCE = 10
"""How many seconds a scheduler has to answer."""

_SHORT_PATIENCE = 2
"""Seconds to wait where nothing depends on the answer."""

_LIKE = "; expected one such as tcp://10.0.0.1:8786"


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Connect to a Dask scheduler, such as ``tcp://10.0.0.1:8786``, for as long as it is needed."""
    import asyncio

    with needed_for("Dask", "dask"):
        from distributed import Client
        from distributed.core import rpc

    async def identify() -> Any:
        # The client itself would wait much longer for a server that does not answer.
        async with rpc(address, timeout=PATIENCE) as server:
            return await asyncio.wait_for(server.identity(), PATIENCE)

    # Dask logs much while it connects or is interrupted; here an error says it in one line.
    for name in list(logging.root.manager.loggerDict):
        if name.split(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        kind = asyncio.run(identify())["type"]
        if kind != "Scheduler":
            raise ValueError(f"a {kind.lower()} answers there")
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except OSError:
        raise InputError(
            f"no Dask scheduler answers at {quote(address)} within {PATIENCE} s{_LIKE}"
        ) from None
    except Exception as error:  # encryption that is not set up, transports that are not installed
        raise InputError(
            f"{quote(address)} is no Dask scheduler's address: {said(error, 120)}{_LIKE}"
        ) from None
    try:
        if not client.nthreads():
            warnings.warn(f"the scheduler at {address} has no workers yet: waiting", stacklevel=3)
        yield client.get_executor()
    finally:
        client.close(timeout=_SHORT_PATIENCE)


def dask_workers(executor: Executor) -> int | None:
    """Return how many workers a Dask client's executor has now; None if that is unknown."""
    client: Any = getattr(executor, "_client", None)
    try:
        # A few milliseconds. If the scheduler is gone, the batches that were sent fail and say so.
        return max(1, sum(map(int, client.nthreads(callback_timeout=_SHORT_PATIENCE).values())))
    except Exception:  # another kind of client, or one that has lost its scheduler
        return None
