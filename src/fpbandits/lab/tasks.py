"""Long work beside the page: in threads, each of which can be told to stop."""

from __future__ import annotations

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
