"""The lab as a process: where it listens, to whom it answers, how it ends."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from command import COMMAND
from waiting import LONG

from fpbandits.errors import InputError
from fpbandits.lab.server import HOST, Guard, listen_on


@contextmanager
def a_lab(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a lab; yield it, and where it says that it is."""
    lab = subprocess.Popen(
        [*COMMAND, "lab", "--no-browser", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert lab.stdout is not None
    try:
        line = lab.stdout.readline()
        assert line.startswith("lab at http://127.0.0.1:"), lab.communicate()
        yield lab, line.split()[-1]
    finally:
        if lab.poll() is None:
            lab.kill()
            lab.communicate()


def test_it_answers_to_its_own_name_and_ends_with_ctrl_c() -> None:
    with a_lab("paper:grid") as (lab, address):
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(address) as answer:
            page = answer.read().decode()
            assert "token" not in answer.url
        assert "fpbandits lab" in page
        assert "https://" not in page
        # Someone else's name that was made to point here.
        foreign = urllib.request.Request(address, headers={"Host": "example.org"})
        with pytest.raises(urllib.error.HTTPError) as caught:
            browser.open(foreign)
        assert caught.value.code == 400
        caught.value.close()
        lab.send_signal(signal.SIGINT)
        out, err = lab.communicate(timeout=LONG)
        assert (lab.returncode, out, err) == (130, "", "")


PAGE = "http://127.0.0.1:7"


def served_by(guard: Guard, kind: str, query: str = "", **headers: str) -> list[dict[str, Any]]:
    """What a guard sends for a request or a websocket; "passed" if it lets it through."""
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    given = {"host": "127.0.0.1:7", **headers}
    scope = {
        "type": kind,
        "method": "GET",
        "path": "/",
        "query_string": query.encode(),
        "server": ("127.0.0.1", 7),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    asyncio.run(guard(scope, receive, send))
    return sent


async def passed(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "passed"})


def test_only_who_has_the_token_is_let_in() -> None:
    guard = Guard(passed, "secret")
    first = served_by(guard, "http", "token=secret")[0]
    assert first["status"] == 303
    headers = {name.decode(): value.decode() for name, value in first["headers"]}
    assert headers["location"] == "/"
    cookie, *flags = headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=strict"} <= set(flags)
    for kind in ("http", "websocket"):
        assert served_by(guard, kind, cookie=cookie) == [{"type": "passed"}]
        assert served_by(guard, kind, cookie=cookie, origin=PAGE) == [{"type": "passed"}]
        for wrong in ({}, {"cookie": "fpbandits-lab-7=x"}, {"cookie": cookie.replace("7", "8")}):
            (refused, *_) = served_by(guard, kind, "token=x", **wrong)
            assert refused.get("status", refused["type"]) in (403, "websocket.close")
        for origin in ("http://evil.example", "null", "http://127.0.0.1:8"):
            (refused, *_) = served_by(guard, kind, "token=secret", cookie=cookie, origin=origin)
            assert refused.get("status", refused["type"]) in (403, "websocket.close")


def test_a_port_is_taken_by_one() -> None:
    with listen_on(0) as first:
        assert first.getsockname()[0] == HOST
        first.listen()
        port = first.getsockname()[1]
        with pytest.raises(InputError, match=rf"--port {port} cannot be used"), listen_on(port):
            pass
