"""Stopping long work in threads.

A compilation cannot be stopped: when the lab shuts down, `leave` waits for it a moment, and then
ends the process.
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
    """An event that tells work to stop; `stop_all` sets all such events."""

    def __init__(self) -> None:
        super().__init__()
        _events.add(self)

    def check(self) -> None:
        """Raise `StoppedError` if the event is set."""
        if self.is_set():
            raise StoppedError


_events: WeakSet[Stop] = WeakSet()
"""All events that were made and are still in use."""


def stop_all() -> None:
    """Tell all work to stop."""
    for event in list(_events):
        event.set()


def leave(seconds: float, code: int) -> None:
    """Wait for threads to end; if one does not in time, end the process with an exit code."""
    stop_all()
    until = time.monotonic() + seconds
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(until - time.monotonic())
            if thread.is_alive():
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
