"""Long work in threads that can be stopped.

A compilation cannot: when the lab ends, it is waited for a moment, and then no longer.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from weakref import WeakSet


class StoppedError(Exception):
    """The work was stopped."""


class Stop(threading.Event):
    """An event that stops work; `stop_all` sets all of them."""

    def __init__(self) -> None:
        super().__init__()
        _under_way.add(self)

    def check(self) -> None:
        """Raise `StoppedError` if it is set."""
        if self.is_set():
            raise StoppedError


_under_way: WeakSet[Stop] = WeakSet()


def stop_all() -> None:
    """Stop all work, since the lab ends."""
    for stop in list(_under_way):
        stop.set()


def leave(seconds: float, code: int) -> None:
    """Give threads some time to end; if one does not, end the process with an exit code."""
    stop_all()
    until = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
