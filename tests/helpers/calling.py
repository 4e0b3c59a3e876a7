"""Clients that call servers without a pause while things go wrong, and a check of what is left.

Eight clients ask for 200 units, and send again what was not answered, to another server if there is
one. Two of them at a time send the same requests under the same keys. A follower reads the log
meanwhile. At the end the log must hold whatever any of them was told, once, and play again as it
is; and the follower must have seen all of it.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from server_process import EXPERIMENT, Nursery, ServerProcess
from waiting import LONG

import fpbandits as fpb
from fpbandits.errors import UnavailableError
from fpbandits.service.client import Served
from fpbandits.service.store import Logged, open_store
from fpbandits.service.verify import verify

CLIENTS, UNITS = 8, 200


@dataclass
class Acknowledged:
    """What clients were told, and how often they had to send again."""

    decisions: dict[tuple[str, str], Served] = field(default_factory=dict)
    rewards: dict[str, tuple[str, float]] = field(default_factory=dict)
    """By decision: "told" or "late", and the reward."""
    sent_again: int = 0
    failures: list[BaseException] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def decided(self, key: str, decision: Served) -> None:
        with self.lock:
            first = self.decisions.setdefault((decision.unit, key), decision)
        assert first == decision, f"the key {key} has two decisions"


class Gate:
    """Where all who call can be held while no call of theirs is under way."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._passing, self._is_closed = 0, False

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Do something while the gate is open: wait until it is."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_closed)
            self._passing += 1
        try:
            yield
        finally:
            with self._changed:
                self._passing -= 1
                self._changed.notify_all()

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Hold everyone as long as the block takes."""
        with self._changed:
            self._is_closed = True
            assert self._changed.wait_for(lambda: self._passing == 0, LONG)
        try:
            yield
        finally:
            with self._changed:
                self._is_closed = False
                self._changed.notify_all()


class Caller(threading.Thread):
    """A client; callers of the same seed send the same requests."""

    def __init__(
        self,
        addresses: list[str],
        seed: int,
        found: Acknowledged,
        ending: threading.Event,
        gate: Gate,
    ) -> None:
        super().__init__()
        self._clients = [
            fpb.Client(address, experiment="e", patience=0, timeout=LONG) for address in addresses
        ]
        self._seed, self._found, self._ending, self._gate = seed, found, ending, gate

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
                    status = self._answered("tell", decision, reward)
                    with self._found.lock:
                        first = self._found.rewards.setdefault(decision.id, (status, reward))
                    assert first == (status, reward), f"{decision.id} has two rewards"
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
                with self._gate.passing():
                    return getattr(random.choice(self._clients), call)(*values, **options)
            except UnavailableError:
                assert time.monotonic() < until, "no answer"
                with self._found.lock:
                    self._found.sent_again += 1
                time.sleep(0.02)


class Follower(threading.Thread):
    """Reads the log as it grows, each time from where it was, from any of the servers."""

    def __init__(self, addresses: list[str], ending: threading.Event, gate: Gate) -> None:
        super().__init__()
        self._addresses, self._ending, self._gate = addresses, ending, gate
        self.seen: list[tuple[int, str, int]] = []

    def run(self) -> None:
        clients = [fpb.Client(address, experiment="e", timeout=LONG) for address in self._addresses]
        whole = False
        while not whole:
            last = self._ending.is_set()
            try:
                with self._gate.passing():
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


@dataclass
class Calls:
    """Servers that are called, what callers were told, and where they can be held."""

    servers: list[ServerProcess]
    found: Acknowledged
    gate: Gate


@contextmanager
def called(
    store: str,
    servers: int,
    folder: Path,
    *,
    experiment: dict[str, Any] = EXPERIMENT,
    clock: Path | None = None,
) -> Iterator[Calls]:
    """Serve and call as long as the block takes; then check what is left.

    ``clock`` is a file for `ServerProcess`.
    """
    log = folder / "servers.log"
    found, ending, gate = Acknowledged(), threading.Event(), Gate()
    with Nursery() as nursery:
        running = [ServerProcess(nursery, store, log, clock) for _ in range(servers)]
        addresses = [server.address for server in running]
        callers = [Caller(addresses, place // 2, found, ending, gate) for place in range(CLIENTS)]
        for server in running:
            server.start()
            wait_until_ready(server)
        made = httpx.put(f"{addresses[0]}/v1/experiments/e", json=experiment, timeout=LONG)
        assert made.status_code == 201
        all_told = threading.Event()
        follower = Follower(addresses, all_told, gate)
        for thread in (*callers, follower):
            thread.start()
        try:
            yield Calls(running, found, gate)
        finally:
            ending.set()
            for caller in callers:
                caller.join()
            all_told.set()
            follower.join(60)
    assert found.failures == []
    assert found.sent_again > 0, "no request met a server that was down: nothing was tested"
    check(store, found, follower.seen)
    check_no_traceback(log)


def check_no_traceback(log: Path) -> None:
    """Refuse a log with a traceback, and show it with the lines around it."""
    lines = log.read_text().splitlines()
    for number, line in enumerate(lines):
        if "traceback" in line.lower():
            pytest.fail("\n".join(lines[max(0, number - 5) : number + 30]), pytrace=False)


def log_of(address: str) -> list[Logged]:
    """Return the whole log of the experiment."""
    with closing(open_store(address)) as store:
        kept = store.experiment("e")
        assert kept is not None
        return store.log(kept.id, 0, 10**6)


def check(address: str, found: Acknowledged, followed: list[tuple[int, str, int]]) -> None:
    """Look for all that was acknowledged in the log, and play the log again."""
    lines = log_of(address)
    with closing(open_store(address)) as store:
        verified = verify(store)
    written = [(line.seq, line.unit, line.event.step) for line in lines]
    differences = [pair for pair in zip(followed, written, strict=False) if pair[0] != pair[1]]
    assert not differences, f"read and logged: {differences[:5]}"
    assert len(followed) <= len(written)
    # A server lets decisions expire by itself, also after the follower's last look.
    assert {line.event.kind for line in lines[len(followed) :]} <= {"expired", "clock"}
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
    statuses = {"reward": "told", "late": "late"}
    rewards = [(unit, event) for unit, event in logged if event.kind in statuses]
    told = {
        f"{event.number}@{unit}": (statuses[event.kind], event.reward) for unit, event in rewards
    }
    assert len(told) == len(rewards), "a decision has two rewards"
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
