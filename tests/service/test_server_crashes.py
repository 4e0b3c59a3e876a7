"""Servers and databases are killed or stopped at any moment: what was answered is there, once.

Eight clients ask for 200 units, and send again what was not answered, to another server if there is
one. Two of them at a time send the same requests under the same keys. Someone else follows the log
meanwhile. At the end the log must hold whatever any of them was told, once, and play again as it
is; and who followed it must have seen all of it.
"""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from databases import OwnPostgres, own_postgres
from server_process import EXPERIMENT, Nursery, ServerProcess
from serving import serving
from waiting import LONG, wait_until

import fpbandits as fpb
from fpbandits.errors import UnavailableError
from fpbandits.service.client import Served
from fpbandits.service.http import make_app
from fpbandits.service.store import open_store
from fpbandits.service.verify import verify

CLIENTS, UNITS = 8, 200


@dataclass
class Acknowledged:
    """What clients were told, and how often they had to send again."""

    decisions: dict[tuple[str, str], Served] = field(default_factory=dict)
    rewards: dict[str, float] = field(default_factory=dict)
    sent_again: int = 0
    failures: list[BaseException] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def decided(self, key: str, decision: Served) -> None:
        with self.lock:
            first = self.decisions.setdefault((decision.unit, key), decision)
        assert first == decision, f"the key {key} has two decisions"


class Caller(threading.Thread):
    """A client; callers of the same seed send the same requests."""

    def __init__(
        self, addresses: list[str], seed: int, found: Acknowledged, ending: threading.Event
    ) -> None:
        super().__init__()
        self._clients = [
            fpb.Client(address, experiment="e", patience=0, timeout=LONG) for address in addresses
        ]
        self._seed, self._found, self._ending = seed, found, ending

    def run(self) -> None:
        requests = random.Random(self._seed)
        try:
            for count in range(10**9):
                if self._ending.is_set():
                    return
                unit, key = f"u{requests.randrange(UNITS)}", f"{self._seed}-{count}"
                reward, telling = float(requests.randrange(2)), requests.random() < 0.9
                decision = self._answered("ask", unit, key=key)
                self._found.decided(key, decision)
                if telling:
                    self._answered("tell", decision, reward)
                    with self._found.lock:
                        self._found.rewards[decision.id] = reward
        except BaseException as error:
            self._found.failures.append(error)
        finally:
            for client in self._clients:
                client.close()

    def _answered(self, call: str, *values: Any, **options: Any) -> Any:
        """Send until there is an answer, each time to any of the servers."""
        until = time.monotonic() + LONG
        while True:
            try:
                return getattr(random.choice(self._clients), call)(*values, **options)
            except UnavailableError:
                assert time.monotonic() < until, "no answer"
                with self._found.lock:
                    self._found.sent_again += 1
                time.sleep(0.02)


class Follower(threading.Thread):
    """Reads the log as it grows, each time from where it was, from any of the servers."""

    def __init__(self, addresses: list[str], ending: threading.Event) -> None:
        super().__init__()
        self._addresses, self._ending = addresses, ending
        self.seen: list[tuple[int, str, int]] = []

    def run(self) -> None:
        clients = [fpb.Client(address, experiment="e", timeout=LONG) for address in self._addresses]
        whole = False
        while not whole:
            last = self._ending.is_set()
            try:
                for line in random.choice(clients).log(self.seen[-1][0] if self.seen else 0):
                    self.seen.append((line["seq"], line["unit"], line["step"]))
                whole = last
            except UnavailableError:
                pass
            time.sleep(0.05)
        for client in clients:
            client.close()


def wait_until_ready(server: ServerProcess) -> None:
    until = time.monotonic() + LONG
    while True:
        try:
            if httpx.get(f"{server.address}/ready", timeout=LONG).status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < until, "no server"
        time.sleep(0.05)


@contextmanager
def called(store: str, servers: int, folder: Path) -> Iterator[list[ServerProcess]]:
    """Serve and call as long as the block takes; then check what is left."""
    log = folder / "servers.log"
    found, ending = Acknowledged(), threading.Event()
    with Nursery() as nursery:
        running = [ServerProcess(nursery, store, log) for _ in range(servers)]
        addresses = [server.address for server in running]
        callers = [Caller(addresses, place // 2, found, ending) for place in range(CLIENTS)]
        for server in running:
            server.start()
            wait_until_ready(server)
        made = httpx.put(f"{addresses[0]}/v1/experiments/e", json=EXPERIMENT, timeout=LONG)
        assert made.status_code == 201
        all_told = threading.Event()
        follower = Follower(addresses, all_told)
        for thread in (*callers, follower):
            thread.start()
        try:
            yield running
        finally:
            ending.set()
            for caller in callers:
                caller.join()
            all_told.set()
            follower.join(60)
    assert found.failures == []
    assert found.sent_again > 0, "no request met a server that was down: nothing was tested"
    check_no_traceback(log)
    check(store, found, follower.seen)


def check_no_traceback(log: Path) -> None:
    """Refuse a log with a traceback, and show it with the lines around it."""
    lines = log.read_text().splitlines()
    for number, line in enumerate(lines):
        if "traceback" in line.lower():
            pytest.fail("\n".join(lines[max(0, number - 5) : number + 30]), pytrace=False)


def check(address: str, found: Acknowledged, followed: list[tuple[int, str, int]]) -> None:
    """Look for all that was acknowledged in the log, and play the log again."""
    with closing(open_store(address)) as store:
        kept = store.experiment("e")
        assert kept is not None
        lines = store.log(kept.id, 0, 10**6)
        verified = verify(store)
    assert followed == [(line.seq, line.unit, line.event.step) for line in lines]
    logged = [(line.unit, line.event) for line in lines]
    decisions = Counter((unit, event.key) for unit, event in logged if event.kind == "decision")
    assert max(decisions.values()) == 1
    made = {
        (unit, event.key): (f"{event.number}@{unit}", event.arm)
        for unit, event in logged
        if event.kind == "decision"
    }
    for key, decision in found.decisions.items():
        assert made[key] == (decision.id, decision.arm)
    rewards = Counter(f"{event.number}@{unit}" for unit, event in logged if event.kind == "reward")
    assert max(rewards.values()) == 1
    told = {
        f"{event.number}@{unit}": event.reward for unit, event in logged if event.kind == "reward"
    }
    for name, reward in found.rewards.items():
        assert told[name] == reward
    assert verified.shown == []
    assert verified.decisions == len(made)
    assert len(found.decisions) > 20
    print(  # noqa: T201 – for who runs it with -s
        f"{len(found.decisions)} decisions and {len(found.rewards)} rewards acknowledged, "
        f"{len(made)} and {len(told)} logged; sent again {found.sent_again} times; "
        f"{verified.decisions} decisions, all as logged"
    )


def kill_servers(servers: list[ServerProcess], seconds: float, pause: tuple[float, float]) -> int:
    """Kill one after the other for a while; each is started again at once."""
    until, kills = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        time.sleep(random.uniform(*pause))
        server = random.choice(servers)
        server.kill()
        server.start()
        kills += 1
    for server in servers:
        wait_until_ready(server)
    print(f"{kills} servers killed")  # noqa: T201
    return kills


@pytest.fixture(scope="module")
def database() -> Iterator[OwnPostgres]:
    with own_postgres() as server:
        yield server


@pytest.fixture
def postgres(database: OwnPostgres) -> OwnPostgres:
    """A PostgreSQL without a store."""
    with closing(psycopg.connect(database.address, autocommit=True)) as connection:
        connection.execute("DROP SCHEMA IF EXISTS fpbandits CASCADE")
    return database


MINUTE = pytest.param(60, (1, 2), marks=pytest.mark.nightly, id="minute")
SHORT = pytest.param(4, (0.3, 0.8), id="short")


@pytest.mark.parametrize(("seconds", "pause"), [SHORT, MINUTE])
def test_a_server_on_sqlite_is_killed(
    tmp_path: Path, seconds: float, pause: tuple[float, float]
) -> None:
    with called(f"sqlite:///{tmp_path}/store.db", 1, tmp_path) as servers:
        assert kill_servers(servers, seconds, pause) > 3


@pytest.mark.parametrize(("seconds", "pause"), [SHORT, MINUTE])
def test_two_servers_on_one_postgresql_are_killed(
    tmp_path: Path, postgres: OwnPostgres, seconds: float, pause: tuple[float, float]
) -> None:
    with called(postgres.address, 2, tmp_path) as servers:
        assert kill_servers(servers, seconds, pause) > 3


@pytest.mark.parametrize(
    "kills", [1, pytest.param(12, marks=pytest.mark.nightly)], ids=["once", "often"]
)
def test_the_database_is_killed(tmp_path: Path, postgres: OwnPostgres, kills: int) -> None:
    with called(postgres.address, 2, tmp_path) as servers:
        for _ in range(kills):
            time.sleep(random.uniform(1, 3))
            postgres.kill()
            time.sleep(random.uniform(0, 1))
            postgres.start()
        for server in servers:
            wait_until_ready(server)
        time.sleep(1)


EXPERIMENT_E = "/v1/experiments/e"


def test_a_database_that_stops_is_503_in_time_and_nothing_is_lost(postgres: OwnPostgres) -> None:
    """Its connections stay open, so that nothing but the clock tells."""
    store = open_store(postgres.address, make=True, patience=0.5)
    asks = [{"unit": f"u{place}", "key": "k"} for place in range(40)]
    requests: list[tuple[str, str, Any]] = [
        ("GET", "/ready", None),
        ("GET", "/v1/experiments", None),
        ("GET", EXPERIMENT_E, None),
        ("GET", f"{EXPERIMENT_E}/units/first", None),
        ("GET", f"{EXPERIMENT_E}/log", None),
        ("PUT", EXPERIMENT_E, EXPERIMENT),
        ("POST", f"{EXPERIMENT_E}/rewards", {"decision": "0@first", "reward": 1}),
        ("POST", f"{EXPERIMENT_E}/decisions", asks[:3]),
        *(("POST", f"{EXPERIMENT_E}/decisions", ask) for ask in asks),
    ]

    async def send_all(address: str) -> list[httpx.Response]:
        async with httpx.AsyncClient(base_url=address, timeout=LONG) as client:
            return await asyncio.gather(
                *(client.request(method, path, json=body) for method, path, body in requests)
            )

    with serving(make_app(store, patience=2)) as address:
        assert httpx.put(address + EXPERIMENT_E, json=EXPERIMENT, timeout=LONG).status_code == 201
        first = httpx.post(
            f"{address}{EXPERIMENT_E}/decisions", json={"unit": "first"}, timeout=LONG
        ).json()
        with postgres.stopped():
            for _ in range(2):  # while a connection is there, and while none can be had
                for answer in asyncio.run(send_all(address)):
                    assert answer.status_code == 503
                    assert int(answer.headers["retry-after"]) > 0
            assert httpx.get(f"{address}/health", timeout=LONG).status_code == 200
            # Nobody waits for what nobody is waiting for: the store has given up, too.
            metrics = f"{address}/metrics"
            nobody = "fpbandits_waiting_requests 0.0"
            wait_until(lambda: nobody in httpx.get(metrics, timeout=LONG).text)
        ready = f"{address}/ready"
        wait_until(lambda: httpx.get(ready, timeout=LONG).status_code == 200)
        answers = asyncio.run(send_all(address))
        assert {answer.status_code for answer in answers} == {200}
        decisions = [answer.json()["decision"] for answer in answers[-len(asks) :]]
        assert decisions == [f"0@{ask['unit']}" for ask in asks]
        assert first["decision"] == "0@first"
    with closing(open_store(postgres.address)) as store:
        found = verify(store)
    assert (found.decisions, found.shown) == (len(asks) + 1, [])


def test_a_server_can_be_stopped_while_its_database_is(postgres: OwnPostgres) -> None:
    store = open_store(postgres.address, make=True, patience=0.5)
    with ExitStack() as stack:
        address = stack.enter_context(serving(make_app(store, patience=2)))
        assert httpx.put(address + EXPERIMENT_E, json=EXPERIMENT, timeout=LONG).status_code == 201
        ask = {"unit": "u"}
        assert (
            httpx.post(f"{address}{EXPERIMENT_E}/decisions", json=ask, timeout=LONG).status_code
            == 200
        )
        with postgres.stopped():
            answer = httpx.post(f"{address}{EXPERIMENT_E}/decisions", json=ask, timeout=LONG)
            assert answer.status_code == 503
            stopping = threading.Thread(target=stack.close)
            stopping.start()
            stopping.join(LONG)
            stopped = not stopping.is_alive()
        stopping.join()
        assert stopped, "it waits for its database"
