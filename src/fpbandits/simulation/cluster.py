"""Runs on a Dask cluster: an executor for the address of its scheduler.

Dask does what clusters need: it finds workers, hands out chunks, and hands them out again when a
worker is lost. It is an extra: ``pip install 'fpbandits[dask]'``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

from fpbandits.errors import InputError, quote

PATIENCE = 10
"""How many seconds a scheduler has to answer."""


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Connect to a Dask scheduler, such as ``tcp://10.0.0.1:8786``, for as long as it is needed."""
    try:
        from distributed import Client
    except ImportError:
        raise InputError("Dask is not installed: pip install 'fpbandits[dask]'") from None
    # What it logs while it connects or is interrupted, an error says in one line.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise InputError(
            f"no Dask scheduler answers at {quote(address)} within {PATIENCE} s ({reason}): "
            "expected an address such as tcp://10.0.0.1:8786"
        ) from None
    try:
        yield client.get_executor()
    finally:
        client.close(timeout=2)
