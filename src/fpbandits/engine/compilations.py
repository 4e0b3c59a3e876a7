"""Says that rules are being compiled, which takes seconds.

Code that shows progress listens with `compilations`. Where none does, as in a script or a pipe, a
line is logged once a compilation has taken `PATIENCE` seconds. By default Python prints such lines
on standard error.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer, current_thread

from numba.core.event import Listener, register, unregister

from fpbandits.engine.code_cache import Numba

PATIENCE = 2.0
"""Seconds of compiling after which a line is logged."""

IN_BACKGROUND = "fpbandits compiles"
"""The name of threads that compile while nobody waits."""

_logger = logging.getLogger("fpbandits")


@contextmanager
def compilations(tell: Callable[[int], None]) -> Iterator[None]:
    """Call ``tell`` with +1 when a compilation begins and with -1 when it ends, in any thread."""
    listener = _Listener(tell)
    register("numba:compile", listener)
    _announcer.listeners += 1
    try:
        yield
    finally:
        _announcer.listeners -= 1
        unregister("numba:compile", listener)


class _Listener(Listener):
    """Calls a function when a compilation begins or ends."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell = tell

    def on_start(self, event: object) -> None:
        self._tell(1)

    def on_end(self, event: object) -> None:
        self._tell(-1)


class _Announcer(Listener):
    """Logs a line when one of the package's loops takes long to compile."""

    def __init__(self) -> None:
        self.listeners = 0
        self._timers: dict[object, Timer] = {}

    def on_start(self, event: Numba) -> None:
        """Start a timer for a loop that someone waits for."""
        function = event.data["dispatcher"]
        if current_thread().name == IN_BACKGROUND or not getattr(function, "is_announced", False):
            return
        timer = self._timers[function] = Timer(PATIENCE, self._announce)
        timer.daemon = True
        timer.start()

    def on_end(self, event: Numba) -> None:
        """Stop the loop's timer."""
        timer = self._timers.pop(event.data["dispatcher"], None)
        if timer is not None:
            timer.cancel()

    def _announce(self) -> None:
        if not self.listeners:
            _logger.warning("fpbandits is compiling, once per machine: some seconds more")


_announcer = _Announcer()
register("numba:compile", _announcer)
