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

    def start(self, store: str, port: int, log: Path) -> int:
        """Start a server, and return its process; it may take a moment until it answers."""
        return self._asked("start", store, port, str(log))

    def kill(self, pid: int) -> None:
        """Kill -9 a server."""
        assert self._asked("kill", pid) == signal.SIGKILL, "it had ended by itself"

    def _asked(self, *words: str | int) -> int:
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
    """A server at one port, killed and started again as often as one likes."""

    def __init__(self, nursery: Nursery, store: str, log: Path) -> None:
        self._nursery, self._store, self._log = nursery, store, log
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it."""
        self._pid = self._nursery.start(self._store, self._port, self._log)

    def kill(self) -> None:
        """Kill -9."""
        self._nursery.kill(self._pid)


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


def _serve(store: str, port: int, log: str) -> NoReturn:
    from fpbandits.service.server import run_server

    os.close(0)
    with Path(log).open("a") as file:
        os.dup2(file.fileno(), 2)
    run_server(store, "127.0.0.1", port, None, lambda address: None)
    os._exit(0)


if __name__ == "__main__":
    _nurse()
