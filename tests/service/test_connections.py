"""Limits of connections: heads that are too large, requests that never come, too many at once."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from serving import serving
from uvicorn.server import ServerState
from waiting import LONG

from fpbandits.service.connections import LimitedProtocol, most_connections
from fpbandits.service.settings import Settings

LARGEST_HEAD = Settings.largest_head


async def app(scope: dict[str, object], receive: object, send: object) -> None:
    """Answer whatever is asked, without reading it."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})  # type: ignore
        await send({"type": "http.response.body", "body": b"fine"})  # type: ignore


async def reading(scope: dict[str, object], receive: object, send: object) -> None:
    """Answer once the whole request is there."""
    message = {"more_body": scope["type"] == "http"}
    while message.get("more_body"):
        message = await receive()  # type: ignore
    await app(scope, receive, send)


@contextmanager
def connected(address: str) -> Iterator[socket.socket]:
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=LONG) as connection:
        yield connection


def answer(connection: socket.socket) -> bytes:
    """Whatever comes until the other end hangs up."""
    found = b""
    while part := connection.recv(2**16):
        found += part
    return found


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedProtocol, "settings", Settings(request_seconds=0.2))


def test_a_head_has_a_largest_size() -> None:
    with serving(app, http=LimitedProtocol) as address:
        with connected(address) as connection:
            head = b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ny: " + b"a" * 50_000
            connection.sendall(head + b"\r\n\r\n")
            assert b"fine" in answer(connection)
        with connected(address) as connection:
            endless = b"GET / HTTP/1.1\r\nhost: x\r\ny: " + b"a" * 1000 * LARGEST_HEAD
            with pytest.raises(ConnectionError):  # closed long before all of it was sent
                connection.sendall(endless)


@pytest.mark.parametrize("pieces", [1, 2], ids=["at once", "in two pieces"])
@pytest.mark.parametrize("body", [b"", b"body"], ids=["no body", "a body"])
def test_a_head_that_is_slightly_too_large_is_refused(pieces: int, body: bytes) -> None:
    head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\ny: " % len(body)
    request = head + b"a" * LARGEST_HEAD + b"\r\n\r\n" + body
    with serving(reading, http=LimitedProtocol) as address, connected(address) as connection:
        step = -(-len(request) // pieces)
        for start in range(0, len(request), step):
            connection.sendall(request[start : start + step])
        assert answer(connection).startswith(b"HTTP/1.1 431 ")


def test_trailers_behind_a_body_count_as_its_head() -> None:
    with serving(reading, http=LimitedProtocol) as address, connected(address) as connection:
        head = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
        connection.sendall(head + b"4\r\nbody\r\n0\r\ny: ")
        with pytest.raises(ConnectionError):
            connection.sendall(b"a" * 1000 * LARGEST_HEAD)


def test_a_body_is_no_head() -> None:
    with serving(reading, http=LimitedProtocol) as address, connected(address) as connection:
        size = 3 * LARGEST_HEAD
        head = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
        connection.sendall(head % size + b"a" * size)
        assert b"fine" in answer(connection)


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET / HTTP/1.1\r\nhost: ",
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf",
    ],
    ids=["nothing", "half a head", "half a body"],
)
def test_a_request_that_does_not_come_is_given_up(hasty: None, begun: bytes) -> None:
    with serving(reading, http=LimitedProtocol) as address, connected(address) as connection:
        connection.sendall(begun)
        assert answer(connection).startswith(b"HTTP/1.1 408 ")


def test_no_second_answer_stands_in_an_answer_that_has_begun(hasty: None) -> None:
    with serving(app, http=LimitedProtocol) as address, connected(address) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf")
        assert answer(connection).count(b"HTTP/1.1 ") == 1


def test_an_answer_may_take_longer_than_its_request(hasty: None) -> None:
    with serving(app, http=LimitedProtocol) as address, connected(address) as connection:
        for _ in range(3):
            connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert connection.recv(2**16)


def test_too_many_connections_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedProtocol, "most_connections", 2)
    with serving(app, http=LimitedProtocol) as address:
        with connected(address) as first, connected(address) as second:
            for each in (first, second):
                each.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
                assert each.recv(2**16).startswith(b"HTTP/1.1 200 ")
            with connected(address) as third:
                assert answer(third).startswith(b"HTTP/1.1 503 ")
        with connected(address) as later:
            later.sendall(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            assert answer(later).startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 503 "))


def test_there_are_files_for_all_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"now": (256, 1000)}
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda which, wanted: limits.update(now=wanted))
    assert most_connections(5000) == 800
    assert limits["now"] == (1000, 1000)
    for hard, most in ((100, 1), (200, 1), (201, 1), (202, 2), (5200, 5000), (9000, 5000)):
        limits["now"] = (256, hard)
        assert most_connections(5000) == most
    limits["now"] = (256, resource.RLIM_INFINITY)
    assert most_connections(5000) == 5000


class Wire:
    """A transport to nobody, which keeps what is written."""

    def __init__(self) -> None:
        self.written, self.closing = b"", False

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.closing = True

    def is_closing(self) -> bool:
        return self.closing

    def get_extra_info(self, name: str) -> Any:
        return None

    def pause_reading(self) -> None:
        pass

    resume_reading = pause_reading


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Wire, Callable[[bytes], None]]]:
    """A connection whose heads may have 100 bytes, and what receives bytes over it."""
    monkeypatch.setattr(LimitedProtocol, "settings", Settings(largest_head=100))
    config = uvicorn.Config(reading, log_config=None)
    config.load()
    loop = asyncio.new_event_loop()
    protocol = LimitedProtocol(config, ServerState(), {}, loop)
    transport: Any = Wire()
    protocol.connection_made(transport)
    yield transport, protocol.data_received
    protocol.connection_lost(None)
    loop.run_until_complete(asyncio.sleep(0))  # whoever waits for a body is told
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()


HEAD = b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n"
BEGUN: list[list[bytes]] = [
    [],
    [HEAD + b"\r\n"],
    [HEAD + b"\r\n", b"2\r\nok"],
    [b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n"],
]
"""Nothing; a head; a part of a body; a whole request."""


@pytest.mark.parametrize("begun", BEGUN, ids=["nothing", "head", "body", "request"])
@pytest.mark.parametrize("size", [100, 101])
def test_bytes_of_a_head_are_counted_exactly(
    wire: tuple[Wire, Callable[[bytes], None]], begun: list[bytes], size: int
) -> None:
    transport, receive = wire
    for part in begun:
        receive(part)
    assert not transport.closing
    inside = len(begun) in (1, 2) and begun[0].startswith(HEAD)
    start = (b"" if len(begun) < 2 else b"\r\n") + b"3;" if inside else b"GET /"
    receive(start + b"x" * (size - len(start)))
    assert transport.closing == (size > 100)
    # While an answer is under way nothing is put into it.
    answering = len(begun) == 1 and not inside
    assert (b"431" in transport.written) == (size > 100 and not answering)


@pytest.mark.parametrize("where", ["url", "name", "value"])
@pytest.mark.parametrize("more", [0, 1])
def test_a_heads_size_is_that_of_its_url_and_headers(
    wire: tuple[Wire, Callable[[bytes], None]], where: str, more: int
) -> None:
    """Of 100 bytes the address has 10, a name 20 and a value 70, and one more is too many."""
    transport, receive = wire
    sizes = {"url": 10, "name": 20, "value": 70}
    sizes[where] += more
    url = b"/" + b"u" * (sizes["url"] - 1)
    receive(b"GET %b HTTP/1.1\r\n" % url)
    LimitedProtocol.settings, small = Settings(largest_head=1000), LimitedProtocol.settings
    receive(b"n" * sizes["name"])
    receive(b": " + b"v" * sizes["value"])
    LimitedProtocol.settings = small
    receive(b"\r\n\r\n")
    assert transport.closing == bool(more)
    assert (b"431" in transport.written) == bool(more)
