"""HTTP connections with limits: their number, the size of a head, the time for a whole request.

A request's head is read before its token is checked, so what a stranger can make the server store
is limited here. A connection that exceeds a limit is closed, after an answer with a status if HTTP
allows one.
"""

from __future__ import annotations

import resource
from asyncio import TimerHandle, Transport
from contextlib import suppress

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from fpbandits.service.settings import Settings

_OTHER_FILES = 200
"""Files that a server may have open beside its connections."""


def limited_protocol(settings: Settings) -> type[LimitedProtocol]:
    """Return the protocol with these settings, as far as the process may open files."""
    most = most_connections(settings.most_connections)
    return type("Protocol", (LimitedProtocol,), {"settings": settings, "most_connections": most})


def most_connections(most: int) -> int:
    """Let the process open as many files as it may; return ``most``, or fewer if files are few."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return most
    return max(1, min(most, soft - _OTHER_FILES))


class LimitedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with the limits of this module."""

    settings = Settings()
    most_connections = settings.most_connections

    _head_bytes = 0
    """Bytes received of a head that is not complete, or behind the body, where trailers may be."""

    _timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # over TCP
        """Begin a connection, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            self._refuse(503)
            return
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._wait_no_longer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse bytes as they come, and refuse a head that is too large before it is complete."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > self.settings.largest_head:
            self._refuse(431)

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._wait()

    def on_headers_complete(self) -> None:
        """End a request's head, and refuse it if it is too large."""
        # What was received with it may be its body, or the end of the request before.
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self.settings.largest_head:
            self._refuse(431)
        if not self.transport.is_closing():
            self._head_bytes = 0
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a part of a body, unless its request was refused."""
        if not self.transport.is_closing():
            self._head_bytes = 0
            super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request, unless it was refused."""
        if not self.transport.is_closing():
            self._wait_no_longer()
            self._head_bytes = 0
            super().on_message_complete()

    def _wait(self) -> None:
        """Begin to wait for a whole request, for a limited time."""
        if self._timer is None:
            seconds = self.settings.request_seconds
            self._timer = self.loop.call_later(seconds, self._refuse, 408)

    def _wait_no_longer(self) -> None:
        """Stop waiting: the request is there, or the connection ends."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int) -> None:
        """Close the connection; say why if this request's answer comes next and is not begun."""
        self._wait_no_longer()
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is None:
            silent = False
        elif cycle.scope is self.scope:  # the head of this request is complete
            silent = cycle.response_started or bool(self.pipeline)
        else:
            silent = not cycle.response_complete
        if not silent:
            closing = b"content-length: 0\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[status] + closing)
        self.transport.close()
