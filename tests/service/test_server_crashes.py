"""Servers and databases are killed or stopped at any moment: what was answered is there, once."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from calling import Calls, called, wait_until_ready
from databases import OwnPostgres, own_postgres
from server_process import EXPERIMENT
from serving import serving
from waiting import LONG, wait_until

from fpbandits.service.http import make_app
from fpbandits.service.store import open_store
from fpbandits.service.verify import verify


def wait_until_served(calls: Calls) -> None:
    """Wait until every server is ready again, and callers have had enough answers."""
    for server in calls.servers:
        wait_until_ready(server)
    wait_until(lambda: len(calls.found.decisions) > 20)


def kill_servers(calls: Calls, seconds: float, pause: tuple[float, float]) -> int:
    """Kill one server after the other for a while; each is started again at once."""
    until, kills = time.monotonic() + seconds, 0
    while time.monotonic() < until or kills < 4:
        time.sleep(random.uniform(*pause))
        server = random.choice(calls.servers)
        server.kill()
        server.start()
        kills += 1
    wait_until_served(calls)
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
    with called(f"sqlite:///{tmp_path}/store.db", 1, tmp_path) as calls:
        assert kill_servers(calls, seconds, pause) > 3


@pytest.mark.parametrize(("seconds", "pause"), [SHORT, MINUTE])
def test_two_servers_on_one_postgresql_are_killed(
    tmp_path: Path, postgres: OwnPostgres, seconds: float, pause: tuple[float, float]
) -> None:
    with called(postgres.address, 2, tmp_path) as calls:
        assert kill_servers(calls, seconds, pause) > 3


@pytest.mark.parametrize(
    "kills", [1, pytest.param(12, marks=pytest.mark.nightly)], ids=["once", "often"]
)
def test_the_database_is_killed(tmp_path: Path, postgres: OwnPostgres, kills: int) -> None:
    with called(postgres.address, 2, tmp_path) as calls:
        for _ in range(kills):
            time.sleep(random.uniform(1, 3))
            postgres.kill()
            time.sleep(random.uniform(0, 1))
            postgres.start()
        wait_until_served(calls)


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
        answers: list[httpx.Response] = []

        def all_answered() -> bool:
            """Send all of it again: on a busy machine some wait longer than the patience."""
            answers[:] = asyncio.run(send_all(address))
            return {answer.status_code for answer in answers} == {200}

        wait_until(all_answered)
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
