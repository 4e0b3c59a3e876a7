"""Troubles of all kinds, one after the other, while clients call two servers.

While the store cannot be written to, /ready says so within 2 s. When a trouble is over, every
server is ready and decides again within 10 s, by itself. At the end the log holds all that clients
were told, once (`calling.check`).

The order of troubles follows from a seed, which is printed. CHAOS_SEED repeats it, though not the
moments at which requests meet a trouble; CHAOS_SECONDS makes a run shorter, but no
trouble is left out.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, suppress
from pathlib import Path

import httpx
import psycopg
import pytest
from calling import Calls, called, log_of
from databases import OwnPostgres, own_postgres
from server_process import EXPERIMENT, ServerProcess
from waiting import LONG

import fpbandits as fpb
from fpbandits.errors import UnavailableError

pytestmark = pytest.mark.nightly

SECONDS = float(os.environ.get("CHAOS_SECONDS", "300"))
TRUTH, RECOVERY = 2.0, 10.0
"""Seconds after which /ready must tell of a trouble, and in which servers must recover from it."""

JUMP = 3 * 3600
"""Seconds by which a clock jumps, at the most."""

WAITING = {**EXPERIMENT, "reward_wait": 3}
"""An experiment for which the clock matters: decisions expire."""

Cause = Callable[[random.Random], AbstractContextManager[Sequence[ServerProcess]]]
"""Makes trouble as long as a block takes, and gives the servers that cannot write meanwhile."""


class Monitor(threading.Thread):
    """Asks a server all the time whether it is ready, and keeps the answers."""

    def __init__(self, server: ServerProcess) -> None:
        super().__init__()
        self._address, self._ending = f"{server.address}/ready", threading.Event()
        self.answers: list[tuple[float, float, bool]] = []
        """When a question was sent, when its answer was there, and whether that was 200."""

    def run(self) -> None:
        while not self._ending.wait(0.05):
            asked = time.monotonic()
            try:
                ready = httpx.get(self._address, timeout=TRUTH).status_code == 200
            except httpx.TransportError:
                ready = False
            self.answers.append((asked, time.monotonic(), ready))

    def end(self) -> None:
        self._ending.set()
        self.join()

    def last_lie(self, began: float, ended: float) -> float:
        """Return how long after the beginning of a trouble the last wrong 200 was asked for.

        The time of the question counts, so that a late answer of a busy machine is no lie; the next
        question follows at once. An answer that came after the trouble says nothing about it.
        """
        times = [asked for asked, at, ready in list(self.answers) if ready and at < ended]
        return max([asked - began for asked in times if asked > began], default=0.0)


def recovered(calls: Calls, server: ServerProcess, unit: str, earlier: str | None) -> float:
    """Wait until a server is ready and decides; return how many seconds that took.

    By then the decision for an ``earlier`` unit, which nobody asks for again, has expired.
    """
    began, http = time.monotonic(), httpx.Client(base_url=server.address, timeout=TRUTH)
    with http, fpb.Client(server.address, experiment="e", patience=0, timeout=RECOVERY) as client:
        while True:
            with suppress(httpx.TransportError, UnavailableError):
                if http.get("/ready").status_code == 200 and not (
                    earlier and client.unit(earlier)["pending"]
                ):
                    calls.found.decided("k", client.ask(unit, key="k"))
                    return time.monotonic() - began
            assert time.monotonic() < began + 6 * RECOVERY, f"{unit}: it does not recover at all"
            time.sleep(0.05)


def disturb(calls: Calls, causes: dict[str, Cause]) -> None:
    """Make one trouble after the other, all of them before any comes again."""
    seed = int(os.environ.get("CHAOS_SEED", random.randrange(10**6)))
    print(f"\nCHAOS_SEED={seed}")  # noqa: T201 – for who runs it with -s
    order, until = random.Random(seed), time.monotonic() + SECONDS
    lies, recoveries = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
    with ExitStack() as stack:
        monitors = {server: Monitor(server) for server in calls.servers}
        for monitor in monitors.values():
            monitor.start()
            stack.callback(monitor.end)
        names: list[str] = []
        asked: dict[ServerProcess, str] = {}
        while time.monotonic() < until or len(recoveries) < len(causes):
            names = names or order.sample(list(causes), len(causes))
            name = names.pop()
            time.sleep(order.uniform(0.5, 2))
            with causes[name](order) as silent:
                began = time.monotonic()
                time.sleep(order.uniform(1, 7))
                ended = time.monotonic()
            where = f"{name}, number {len(recoveries[name])}, seed {seed}"
            units = {server: f"{where}: {server.address}" for server in calls.servers}
            took = [recovered(calls, each, units[each], asked.get(each)) for each in units]
            asked = units
            lies[name].append(
                max([monitors[each].last_lie(began, ended) for each in silent] or [0])
            )
            recoveries[name].append(sum(took))  # one after the other
            assert lies[name][-1] <= TRUTH, f"{where}: /ready was 200 for too long"
            assert recoveries[name][-1] <= RECOVERY, f"{where}: servers recovered too late"
    for name, times in recoveries.items():
        print(  # noqa: T201
            f"{name}: {len(times)} times, wrong 200 for at most {max(lies[name]):.1f} s, "
            f"recovered after at most {max(times):.1f} s"
        )


def check_jumps(store: str) -> None:
    """Check that the clock jumped both ways while decisions were pending."""
    kinds = Counter(line.event.kind for line in log_of(store))
    print(dict(kinds))  # noqa: T201
    assert {"expired", "clock"} <= set(kinds)


def killed(servers: Sequence[ServerProcess]) -> Cause:
    @contextmanager
    def cause(order: random.Random) -> Iterator[Sequence[ServerProcess]]:
        server = order.choice(servers)
        server.kill()
        try:
            yield [server]
        finally:
            server.start()

    return cause


def stopped(servers: Sequence[ServerProcess]) -> Cause:
    """SIGSTOP; its database sees a client that is slow, perhaps in a transaction."""

    @contextmanager
    def cause(order: random.Random) -> Iterator[Sequence[ServerProcess]]:
        server = order.choice(servers)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            yield [server]
        finally:
            os.kill(server.pid, signal.SIGCONT)

    return cause


def jumping(set_clock: Callable[[float], None]) -> Cause:
    """The clock of the store jumps, and back."""

    @contextmanager
    def cause(order: random.Random) -> Iterator[Sequence[ServerProcess]]:
        set_clock(order.uniform(-JUMP, JUMP))
        try:
            yield []
        finally:
            set_clock(0)

    return cause


def test_sqlite(tmp_path: Path) -> None:
    """Two servers on one file."""
    file, clock = tmp_path / "store.db", tmp_path / "clock"
    clock.write_text("0")

    with called(f"sqlite:///{file}", 2, tmp_path, experiment=WAITING, clock=clock) as calls:
        servers = calls.servers

        @contextmanager
        def locked(order: random.Random) -> Iterator[Sequence[ServerProcess]]:
            """Another process writes, and does not come to an end."""
            with closing(sqlite3.connect(file, timeout=LONG, isolation_level=None)) as other:
                other.execute("BEGIN EXCLUSIVE")
                yield servers

        def limited(most: int) -> Iterator[Sequence[ServerProcess]]:
            """Limit the size of the files that servers may write. Python ignores SIGXFSZ."""
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            for server in servers:
                resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (most, hard))
            try:
                yield servers if most == 0 else []
            finally:
                for server in servers:
                    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (soft, hard))

        @contextmanager
        def read_only(order: random.Random) -> Iterator[Sequence[ServerProcess]]:
            """No byte of any file can be written, as on a file system that became read-only.

            (To change the mode of an open file, or whose it is, would stop nobody.)
            """
            yield from limited(0)

        @contextmanager
        def full_disk(order: random.Random) -> Iterator[Sequence[ServerProcess]]:
            """There is room for a small WAL, and it is soon full.

            Then small transactions may still fit, and it is open what /ready should say.
            """
            with closing(sqlite3.connect(file, timeout=LONG)) as other:
                other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            yield from limited(2**18)

        def set_clock(seconds: float) -> None:
            new = tmp_path / "clock.new"
            new.write_text(str(seconds))
            new.replace(clock)

        @contextmanager
        def restored(order: random.Random) -> Iterator[Sequence[ServerProcess]]:
            """The file is replaced by its back-up under the servers, while nobody calls."""
            copy = tmp_path / "copy.db"
            with calls.gate.closed():
                with closing(sqlite3.connect(file)) as now, closing(sqlite3.connect(copy)) as then:
                    now.backup(then)
                for each in ("-wal", "-shm"):  # these belong to the old file
                    Path(f"{file}{each}").unlink(missing_ok=True)
                copy.replace(file)
            yield []

        causes: dict[str, Cause] = {
            "a server killed": killed(servers),
            "a server stopped": stopped(servers),
            "locked": locked,
            "read-only": read_only,
            "full disk": full_disk,
            "clock": jumping(set_clock),
            "restored": restored,
        }
        disturb(calls, causes)
    check_jumps(f"sqlite:///{file}")


@pytest.fixture
def postgres() -> Iterator[OwnPostgres]:
    """A PostgreSQL whose clock can be set: `clock_timestamp` is found in another schema first."""
    with own_postgres() as server:
        with closing(psycopg.connect(server.address, autocommit=True)) as connection:
            for statement in (
                b"CREATE SCHEMA chaos",
                b"CREATE TABLE chaos.jump AS SELECT 0::float8 AS seconds",
                b"CREATE FUNCTION chaos.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS "
                b"'SELECT pg_catalog.clock_timestamp() + seconds * interval ''1 s'' "
                b"FROM chaos.jump'",
                b"ALTER DATABASE postgres SET search_path = chaos, pg_catalog, public",
            ):
                connection.execute(statement)
        yield server


def test_postgresql(tmp_path: Path, postgres: OwnPostgres) -> None:
    """Two servers on one database."""
    with called(postgres.address, 2, tmp_path, experiment=WAITING) as calls:
        servers = calls.servers

        @contextmanager
        def database_killed(order: random.Random) -> Iterator[Sequence[ServerProcess]]:
            postgres.kill()
            try:
                yield servers
            finally:
                postgres.start()

        def during(spell: Callable[[], AbstractContextManager[None]]) -> Cause:
            """Nobody can write during a spell of the database's."""

            @contextmanager
            def cause(order: random.Random) -> Iterator[Sequence[ServerProcess]]:
                with spell():
                    yield servers

            return cause

        def set_clock(seconds: float) -> None:
            with closing(psycopg.connect(postgres.address, autocommit=True)) as connection:
                connection.execute("UPDATE chaos.jump SET seconds = %s", (seconds,))

        @contextmanager
        def restored(order: random.Random) -> Iterator[Sequence[ServerProcess]]:
            """All tables are replaced by their back-up under the servers, while nobody calls."""
            copy = str(tmp_path / "copy")
            with calls.gate.closed():
                postgres.run("pg_dump", "--format=custom", "--schema=fpbandits", f"--file={copy}")
                postgres.run("pg_restore", "--clean", "--single-transaction", copy)
            yield []

        causes: dict[str, Cause] = {
            "a server killed": killed(servers),
            "a server stopped": stopped(servers),
            "database killed": database_killed,
            "database stopped": during(postgres.stopped),
            "read-only": during(postgres.read_only),
            "full disk": during(postgres.full_disk),
            "clock": jumping(set_clock),
            "restored": restored,
        }
        disturb(calls, causes)
    check_jumps(postgres.address)
