"""Long work beside the page: in threads, each of which can be told to stop.

A compilation cannot: whoever ends the lab waits for it a moment, and then no longer.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from weakref import WeakSet


class StoppedError(Exception):
    """Someone said stop."""


class Stop:
    """Whether a piece of work has been told to stop."""

    def __init__(self) -> None:
        self.is_set = False
        _under_way.add(self)

    def set(self) -> None:
        """Tell it to stop."""
        self.is_set = True

    def check(self) -> None:
        """Raise `StoppedError` if it has been told to."""
        if self.is_set:
            raise StoppedError


_under_way: WeakSet[Stop] = WeakSet()


def stop_all() -> None:
    """Tell all work to stop, since the lab ends."""
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
