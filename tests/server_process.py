"""Servers as processes of their own that are up within milliseconds, so that many can be killed.

Each is forked from a process that has everything in memory already: all that a server imports, and
the compiled rule of the experiment.
"""

from __future__ import annotations

import logging
import os
import socket
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path

from stores import PROBLEM

from fpbandits.service import http  # noqa: F401 – what a server needs is imported here
from fpbandits.service.experiment import checked_experiment
from fpbandits.service.server import run_server

EXPERIMENT = {"problem": PROBLEM, "policy": "thompson-theta", "seed": 5}

if __name__ == "server_process":
    checked_experiment("warm", EXPERIMENT)


class ServerProcess:
    """A server at one port, killed and started again as often as one likes."""

    def __init__(self, store: str, log: Path) -> None:
        self._store, self._log = store, log
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self._port}"
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload(["server_process"])
        self._process: BaseProcess | None = None

    def start(self) -> None:
        """Start it; it may take a moment until it answers."""
        process = self._context.Process(target=_serve, args=(self._store, self._port, self._log))
        process.start()
        self._process = process

    def kill(self) -> None:
        """Kill -9."""
        assert self._process is not None
        assert self._process.exitcode is None, self._log.read_text()
        self._process.kill()
        self._process.join()
        self._process.close()
        self._process = None

    def end(self) -> None:
        """Kill it if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.join()


def _serve(store: str, port: int, log: Path) -> None:
    with log.open("a") as file:
        os.dup2(file.fileno(), 2)
    logging.getLogger("fpbandits.service").setLevel(logging.INFO)
    run_server(store, "127.0.0.1", port, None, lambda address: None)
