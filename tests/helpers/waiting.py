"""Waiting for what will happen: tests look for events, and never at how long they took."""

from __future__ import annotations

import time
from collections.abc import Callable

LONG = 600.0
"""Seconds after which something hangs. What a test says does not depend on it."""


def wait_until(happened: Callable[[], object]) -> None:
    """Wait until something has happened."""
    until = time.monotonic() + LONG
    while not happened():
        assert time.monotonic() < until, "it never happened"
        time.sleep(0.01)
