"""A server: what must be right before it listens, how it serves and stops. As a process: cli."""

from __future__ import annotations

import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
import uvicorn

from fpbandits.errors import InputError
from fpbandits.service import logs
from fpbandits.service import server as server_module
from fpbandits.service.server import run_server
from fpbandits.service.settings import Settings
from fpbandits.service.store import Store, open_store
from fpbandits.service.tokens import Access, add_token


def start(folder: Path, host: str = "127.0.0.1", port: int = 0) -> None:
    run_server(f"sqlite:///{folder}/a.db", host, port, None, lambda address: None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_without_tokens_nobody_else_may_reach_it(tmp_path: Path, host: str) -> None:
    with pytest.raises(InputError, match=r"can be reached by others: name a --token-file"):
        start(tmp_path, host)
    assert list(tmp_path.iterdir()) == []


def test_an_address_in_use_or_out_of_range_is_said(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=rf"cannot serve on '127\.0\.0\.1', port {port}"):
            start(tmp_path, port=port)
    with pytest.raises(InputError, match="--port is 65536"):
        start(tmp_path, port=65536)
    assert list(tmp_path.iterdir()) == []


def test_without_the_extra_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(InputError, match=r"needs uvicorn: pip install 'fpbandits\[serve\]'"):
        start(tmp_path)


class Started:
    """What `run_server` hands to Uvicorn, which does not run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server: Any = None
        self.sockets: list[socket.socket] = []
        self.during: Callable[[], object] = lambda: None
        """What happens while it serves."""
        self.stops: list[int] = []
        """The signals for which Uvicorn stopped."""

        def run(server: uvicorn.Server, sockets: list[socket.socket]) -> None:
            self.server, self.sockets = server, sockets
            self.during()

        def stop(server: uvicorn.Server, number: int, frame: object) -> None:
            self.stops.append(number)

        monkeypatch.setattr(uvicorn.Server, "run", run)
        monkeypatch.setattr(uvicorn.Server, "handle_exit", stop)
        monkeypatch.setattr(server_module, "open_store", self._opened)
        monkeypatch.setattr(logs, "log_to_stderr", lambda: None)
        self.opened: list[tuple[object, ...]] = []
        self._stores: list[Store] = []

    def _opened(self, url: str, *, make: bool, patience: float) -> Store:
        self.opened.append((url, make, patience))
        self._stores.append(open_store(url, make=make, patience=patience))
        return self._stores[-1]

    def close(self) -> None:
        for store in self._stores:
            store.close()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """No server runs, and the garbage collector is as it was afterwards."""
    threshold, found = gc.get_threshold(), Started(monkeypatch)
    with closing(found):
        yield found
    gc.unfreeze()
    gc.set_threshold(*threshold)


def test_a_server_has_its_settings_and_nothing_beside(
    started: Started, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "fpbandits.service")
    settings = Settings(store_patience=0.5, stop_seconds=2.5, most_connections=3, most_pending=7)
    shown: list[str] = []
    collected: list[tuple[int, int]] = []
    started.during = lambda: collected.append((gc.get_threshold()[0], gc.get_freeze_count()))
    url = f"sqlite:///{tmp_path}/a.db"
    run_server(url, "127.0.0.1", 0, None, shown.append, settings)
    assert started.opened == [(url, True, 0.5)]
    (listener,) = started.sockets
    assert listener.fileno() == -1  # closed in the end
    port = int(shown[0].removeprefix("http://127.0.0.1:"))
    assert 0 < port < 2**16
    config = started.server.config
    assert (config.ws, config.lifespan, config.log_config) == ("none", "on", None)
    flags = config.proxy_headers, config.access_log, config.server_header
    assert flags == (False, False, False)
    assert config.timeout_graceful_shutdown == 3  # whole seconds, no fewer
    assert config.http.most_connections == 3
    assert config.http.settings == settings
    assert config.app.backend._settings == settings
    ((threshold, frozen),) = collected
    assert threshold == 50_000
    assert frozen > 0
    (said,) = [each for each in caplog.records if each.name == "fpbandits.service"]
    assert (said.message, said.address) == ("stopped", shown[0])  # type: ignore[attr-defined]


def test_without_settings_it_has_the_defaults(started: Started, tmp_path: Path) -> None:
    start(tmp_path)
    assert started.server.config.app.backend._settings == Settings()


def test_with_tokens_it_may_be_reached_by_others(started: Started, tmp_path: Path) -> None:
    token = add_token(tmp_path / "tokens", "admin")
    shown: list[str] = []
    for host in ("0.0.0.0", "127.0.0.1"):
        run_server(f"{tmp_path}/a.db", host, 0, tmp_path / "tokens", shown.append)
        routes: Any = started.server.config.app.routes
        assert routes[0]._tokens.access(token) == Access("admin")
    assert shown[0].startswith("http://0.0.0.0:")


@pytest.mark.parametrize("host", ["::1", "[::1]"])
def test_an_address_of_ip_6_stands_in_brackets(
    host: str, started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether or not this machine has one."""
    asked: list[tuple[object, ...]] = []

    def create(address: tuple[str, int], *, family: int, backlog: int) -> Any:
        asked.append((address, family, backlog))
        listener = MagicMock()
        listener.__enter__.return_value.getsockname.return_value = ("::1", 8000, 1, 2)
        return listener

    monkeypatch.setattr(socket, "create_server", create)
    shown: list[str] = []
    run_server(f"{tmp_path}/a.db", host, 8000, None, shown.append)
    assert asked == [(("::1", 8000), socket.AF_INET6, 1024)]
    assert shown == ["http://[::1]:8000"]


def test_the_largest_port_is_a_port(started: Started, tmp_path: Path) -> None:
    with suppress(InputError):  # it may be taken
        start(tmp_path, port=65535)
    with pytest.raises(InputError, match="--port is -1"):
        start(tmp_path, port=-1)


class Timers(list[tuple[float, Callable[..., None], tuple[object, ...], bool]]):
    """In place of threads that wait: what each would do, after how many seconds."""

    def __call__(self, seconds: float, call: Callable[..., None], words: Any) -> Any:
        timer = SimpleNamespace(daemon=False)
        timer.start = lambda: self.append((seconds, call, words, timer.daemon))
        return timer


@pytest.mark.parametrize(
    ("drain", "signals", "at_once"),
    [
        (7.0, [signal.SIGTERM], []),
        (7.0, [signal.SIGTERM, signal.SIGTERM], [signal.SIGTERM]),
        (7.0, [signal.SIGTERM, signal.SIGINT], [signal.SIGINT]),
        (7.0, [signal.SIGINT], [signal.SIGINT]),
        (0.0, [signal.SIGTERM], [signal.SIGTERM]),
    ],
)
def test_after_sigterm_it_serves_for_a_while_and_is_not_ready(
    drain: float,
    signals: list[int],
    at_once: list[int],
    started: Started,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timers, draining = Timers(), list[bool]()
    monkeypatch.setattr(server_module, "Timer", timers)

    def send() -> None:
        draining.append(started.server.config.app.backend.draining)
        for number in signals:
            started.server.handle_exit(number, None)
        draining.append(started.server.config.app.backend.draining)

    started.during = send
    settings = Settings(drain_seconds=drain)
    run_server(f"{tmp_path}/a.db", "127.0.0.1", 0, None, lambda address: None, settings)
    assert draining == [False, True]
    assert started.stops == at_once
    waits = drain > 0 and signals[0] == signal.SIGTERM
    assert [(seconds, daemon) for seconds, _, _, daemon in timers] == [(7.0, True)] * waits
    for _, call, words, _ in timers:
        call(*words)
    assert started.stops == at_once + [signal.SIGTERM] * waits
