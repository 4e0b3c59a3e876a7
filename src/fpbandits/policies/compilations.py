"""Who wants to know that rules are being compiled, which takes seconds, is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def compilations(tell: Callable[[int], None]) -> Iterator[None]:
    """Tell +1 when a compilation begins and -1 when it ends, in whichever thread."""
    from numba.core.event import Listener, register, unregister

    class Ear(Listener):
        def on_start(self, event: object) -> None:
            tell(1)

        def on_end(self, event: object) -> None:
            tell(-1)

    ear = Ear()
    register("numba:compile", ear)
    try:
        yield
    finally:
        unregister("numba:compile", ear)
