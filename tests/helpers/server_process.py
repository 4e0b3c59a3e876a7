"""Servers as processes of their own that are up within milliseconds, so that many can be killed.

Each is forked from a *nursery*, a process that has everything in memory already: all that a server
imports, and the compiled rule of the experiment. It is this file, run as a script.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

from stores import PROBLEM

EXPERIMENT = {"problem": PROBLEM, "policy": "thompson-theta", "seed": 5}


class Nursery:
    """Where servers come from; leaving its block kills those that are left."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def start(self, store: str, port: int, log: Path, clock: Path | None) -> int:
        """Start a server, and return its process; it may take a moment until it answers."""
        return self._asked("start", store, port, str(log), None if clock is None else str(clock))

    def kill(self, pid: int) -> None:
        """Kill -9 a server."""
        assert self._asked("kill", pid) == signal.SIGKILL, "it had ended by itself"

    def _asked(self, *words: str | int | None) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._process.communicate()


class ServerProcess:
    """A server at one port, killed and started again as often as one likes.

    ``clock`` is a file with the seconds by which the clock of its SQLite store is ahead.
    """

    def __init__(self, nursery: Nursery, store: str, log: Path, clock: Path | None = None) -> None:
        self._nursery, self._store, self._log, self._clock = nursery, store, log, clock
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it."""
        self.pid = self._nursery.start(self._store, self._port, self._log, self._clock)

    def kill(self) -> None:
        """Kill -9."""
        self._nursery.kill(self.pid)


def _nurse() -> None:
    from fpbandits.service import http  # noqa: F401 – what a server needs is imported once
    from fpbandits.service.experiment import checked_experiment

    checked_experiment("warm", EXPERIMENT)
    alive: set[int] = set()
    for line in sys.stdin:
        word, *rest = json.loads(line)
        if word == "start":
            answer = os.fork()
            if answer == 0:
                _serve(*rest)
            alive.add(answer)
        else:
            (pid,) = rest
            alive.remove(pid)
            answer = _killed(pid)
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()
    for pid in alive:
        _killed(pid)


def _killed(pid: int) -> int:
    """Kill a process, and return the signal that ended it."""
    os.kill(pid, signal.SIGKILL)
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


def _serve(store: str, port: int, log: str, clock: str | None) -> NoReturn:
    from fpbandits.service.server import run_server

    # By a pipe, which a limit on the size of files does not concern.
    with Path(log).open("a") as file:
        copying = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=file)
    assert copying.stdin is not None
    os.dup2(copying.stdin.fileno(), 2)
    os.close(0)
    if clock is not None:
        _use_clock(Path(clock))
    run_server(store, "127.0.0.1", port, None, lambda address: None)
    os._exit(0)


def _use_clock(file: Path) -> None:
    """Let the clock of SQLite stores be ahead by the seconds in a file, whatever it says then."""
    from fpbandits.service import sqlite

    connect = sqlite._connect

    def connect_with_clock(path: Path, patience: float) -> sqlite.Connection:
        connection = connect(path, patience)
        connection.create_function("julianday", 1, julian_day)
        return connection

    def julian_day(when: str) -> float:
        return 2440587.5 + (time.time() + float(file.read_text())) / 86400

    sqlite._connect = connect_with_clock


if __name__ == "__main__":
    _nurse()
