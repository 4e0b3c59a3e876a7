"""The lab as a process: where it listens, to whom it answers, how it ends."""

from __future__ import annotations

import asyncio
import base64
import logging
import signal
import socket
import subprocess
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from command import COMMAND
from waiting import LONG

from fpbandits.errors import InputError
from fpbandits.lab import server
from fpbandits.lab.analysis import analyze_as_html
from fpbandits.lab.server import HOST, Guard, listen_on
from fpbandits.lab.tasks import stop_all
from fpbandits.problem.builtin import built_in
from fpbandits.problem.problem import Problem


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


@pytest.mark.parametrize(("code", "kind"), [(403, "http"), (None, "websocket")])
def test_without_a_token_one_is_told_where_to_find_it(code: int | None, kind: str) -> None:
    sent = served_by(Guard(passed, "secret"), kind)
    if code is None:
        assert [each["type"] for each in sent] == ["websocket.close"]
        return
    assert sent[0]["status"] == code
    words = b"Open the address that `fpbandits lab` printed: it holds a token.\n"
    assert sent[1]["body"] == words


def test_what_is_no_request_is_passed_on() -> None:
    assert served_by(Guard(passed, "secret"), "lifespan") == [{"type": "passed"}]


def test_the_page_is_set_up_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {}
    ended: list[Any] = []
    fake = SimpleNamespace(
        page=lambda place: lambda build: build,
        run_with=lambda lab, **given: settings.update(given),
    )
    monkeypatch.setattr(server, "ui", fake)
    monkeypatch.setattr(server, "pages", SimpleNamespace(on_shutdown=ended.append))
    logger = logging.getLogger("uvicorn.error")
    before = list(logger.filters)
    try:
        lab = server.application(built_in("paper:two"), token="secret")
        told = [
            bool(logger.filter(logger.makeRecord("", 40, "", 0, words, (), None)))
            for words in ("a timeout of a browser", "something else")
        ]
    finally:
        logger.filters = before
    assert told == [False, True]
    icon = settings.pop("favicon")
    assert icon.startswith("<svg ")
    assert settings == {
        "title": "fpbandits lab",
        "dark": None,
        "language": "en-US",
        "tailwind": False,
        "show_welcome_message": False,
        "reconnect_timeout": 300.0,
        "message_history_length": 300,
    }
    assert ended == [stop_all]
    assert [each.kwargs for each in lab.user_middleware] == [
        {"allowed_hosts": ["127.0.0.1", "localhost"]},
        {"token": "secret"},
    ]
    assert (lab.docs_url, lab.redoc_url, lab.openapi_url) == (None, None, None)


@pytest.mark.parametrize("in_browser", [True, False])
def test_it_is_served_until_it_is_interrupted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], in_browser: bool
) -> None:
    problem = built_in("paper:two")
    configured: list[Any] = []
    begun: list[tuple[Any, Any]] = []
    left: list[tuple[float, int]] = []

    def application(given: Problem, store: object, *, token: str) -> str:
        assert (given, store) == (problem, None)
        return token

    def thread(*, target: Any, args: list[Any], daemon: bool) -> Any:
        assert daemon
        begun.append((target, args))
        return SimpleNamespace(start=lambda: None)

    def interrupted(sockets: list[socket.socket]) -> None:
        (listener,) = sockets
        configured.append(listener.getsockname()[1])
        raise KeyboardInterrupt

    def configure(app: str, **settings: Any) -> None:
        configured.append((app, settings))

    monkeypatch.setattr(server, "application", application)
    monkeypatch.setattr(server, "threading", SimpleNamespace(Thread=thread))
    monkeypatch.setattr(server, "leave", lambda *given: left.append(given))
    fake = SimpleNamespace(Config=configure, Server=lambda config: SimpleNamespace(run=interrupted))
    monkeypatch.setattr(server, "uvicorn", fake)
    with pytest.raises(KeyboardInterrupt):
        server.serve(problem, 0, store=None, open_browser=in_browser)
    (token, settings), port = configured
    assert settings == {"log_level": "warning", "timeout_graceful_shutdown": 1}
    assert len(base64.urlsafe_b64decode(token + "=")) == 32, "256 bits"
    address = f"http://127.0.0.1:{port}/?token={token}"
    assert capsys.readouterr().out == f"lab at {address}\n"
    browsed = [args for target, args in begun if target is webbrowser.open]
    assert browsed == ([[address]] if in_browser else [])
    assert [args for target, args in begun if target is analyze_as_html] == [[problem, "theta1"]]
    assert left == [(3.0, 130)]


def test_a_problem_that_is_too_large_is_refused_before_it_listens() -> None:
    with pytest.raises(InputError, match="too many for a table on a page"):
        server.serve(Problem.bernoulli(np.full((5001, 2), 0.5)), -1, store=None, open_browser=False)
