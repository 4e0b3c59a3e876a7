"""What a server does by itself: decisions expire, old keys are forgotten."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from serving import serving
from stores import PROBLEM
from waiting import LONG, wait_until

import fpbandits as fpb
from fpbandits.errors import Error, UnavailableError
from fpbandits.service import backend, sweep
from fpbandits.service.batches import handle_together
from fpbandits.service.experiment import Experiment, checked_experiment
from fpbandits.service.http import make_app
from fpbandits.service.messages import Ask
from fpbandits.service.metrics import Metrics
from fpbandits.service.settings import Settings
from fpbandits.service.store import open_store

EXPERIMENT = {"problem": PROBLEM, "policy": "ucb1"}


def test_decisions_expire_whatever_else_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Units with spoiled states, and an experiment of an unknown policy, come first in a sweep."""
    monkeypatch.setattr(sweep, "PAGE", 3)
    monkeypatch.setattr(sweep, "_EVERY", 0.01)
    path, body = tmp_path / "a.db", {**EXPERIMENT, "reward_wait": 0.1}
    with closing(open_store(str(path), make=True)) as store:
        spoiled = [(name, f"u{n}") for name in "ab" for n in range(9)]
        for name, unit in [*spoiled, ("c", "u")]:
            wanted = checked_experiment(name, body)
            kept, _ = store.add_experiment(name, wanted.definition, 1)
            handle_together(store, [(Experiment.from_kept(kept), Ask(unit))])
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("UPDATE units SET state = '{}' WHERE name <> 'u'")
            connection.execute(
                "UPDATE experiments SET definition = replace(definition, 'ucb1', 'gone') "
                "WHERE name = 'b'"
            )
    store = open_store(str(path))
    with serving(make_app(store)):
        kept_c = store.experiment("c")
        assert kept_c is not None
        wait_until(lambda: len(store.log(kept_c.id, 0, 9)) == 2)


@pytest.mark.parametrize("concerns", ["all", "a unit"])
@pytest.mark.parametrize(
    ("error", "seconds"), [(UnavailableError("read-only"), 5), (Error("spoiled"), 60)]
)
def test_decisions_expire_soon_after_the_store_was_unavailable(
    error: Error, seconds: float, concerns: str
) -> None:
    """An experiment or a unit that fails by itself is left out for longer."""
    left_out: list[Any] = []

    class Failing:
        store: Any = SimpleNamespace(due=None)

        async def call_store(self, call: Any, most: int, *without: Any) -> Any:
            left_out.append(without)
            return [] if any(without) else [("e", "u")]

        async def experiment(self, name: str) -> Any:
            return name

        async def submit(self, experiment: Any, requests: Any) -> Any:
            if concerns == "all":
                raise error
            return [error]

    failing: Any = Failing()
    skipped: dict[tuple[str, str | None], float] = {}
    for now in (0.0, seconds - 0.1, seconds + 0.1):
        asyncio.run(sweep._expire_some(failing, skipped, now))
    failed = (["e"], []) if concerns == "all" else ([], [("e", "u")])
    assert left_out == [([], []), failed, ([], [])]


@pytest.mark.parametrize(
    ("due", "fails", "more"), [(2, False, True), (1, False, False), (2, True, False)]
)
def test_a_sweep_goes_on_at_once_while_there_may_be_more(
    due: int, fails: bool, more: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full page may not be the last one; if all of it fails, going on would not help."""
    monkeypatch.setattr(sweep, "PAGE", 2)

    class Serving:
        store: Any = SimpleNamespace(due=None)

        async def call_store(self, call: Any, most: int, *without: Any) -> Any:
            return [("e", f"u{number}") for number in range(due)]

        async def experiment(self, name: str) -> Any:
            return name

        async def submit(self, experiment: Any, requests: Any) -> Any:
            return [Error("spoiled") if fails else None for _ in requests]

    serving: Any = Serving()
    assert asyncio.run(sweep._expire_some(serving, {}, 0.0)) == more


def test_old_keys_are_forgotten_while_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "_EVERY", 0.01)
    store = open_store(str(tmp_path / "a.db"), make=True)
    with (
        serving(make_app(store, keep_keys_days=1e-8)) as address,
        fpb.Client(address, experiment="e", timeout=LONG) as client,
    ):
        client.create(fpb.Problem.bernoulli([[0.9, 0.5]]), policy="ucb1")
        client.ask("u", key="k")
        monkeypatch.setattr(sweep, "_KEYS_EVERY", 0.0)
        wait_until(lambda: [each["key"] for each in client.log()] == [None])
        assert client.ask("u", key="k").id == "1@u"


class Scripted:
    """A server whose store has so many units due, and so many keys to forget, time after time."""

    def __init__(self, clock: list[float], script: list[tuple[int, int | None]]) -> None:
        self.clock, self.script = clock, script
        self.stopping = False
        self.calls: list[tuple[float, Any]] = []
        self.store: Any = SimpleNamespace(due="due", forget_keys="forget")

    async def call_store(self, call: Any, *given: Any) -> Any:
        if call == "due":
            count, _ = self.script[0]
            return [("e", f"u{n}") for n in range(count)]
        self.calls.append((self.clock[0], given))
        return self.script[0][1]

    async def experiment(self, name: str) -> Any:
        return name

    async def submit(self, experiment: Any, requests: Any) -> Any:
        return [{}] * len(requests)


@pytest.mark.parametrize("keep", [0.0, 50.0])
def test_it_looks_every_second_and_for_keys_every_hour_unless_there_is_more(
    keep: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, slept = [100.0], list[float]()
    # A full page, twice; keys that are forgotten in three parts; an hour later two more.
    script = [(1000, 7), (1000, 9), (999, None), *[(0, None)] * 3601, (0, 12), (0, None), (0, None)]
    serving: Any = Scripted(clock, list(script))

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock[0] += seconds
        if len(slept) > 1:
            serving.script.pop(0)
        serving.stopping = len(serving.script) == 1

    loop = SimpleNamespace(time=lambda: clock[0])
    other = SimpleNamespace(sleep=sleep, get_running_loop=lambda: loop)
    monkeypatch.setattr(sweep, "asyncio", other)
    asyncio.run(sweep.sweep(serving, keep))
    assert slept[:4] == [1.0, 0, 0, 1.0]
    if keep:
        assert serving.calls == [
            (101.0, (0, keep)),
            (101.0, (7, keep)),
            (101.0, (9, keep)),
            (3701.0, (9, keep)),
        ]
    else:
        assert serving.calls == []
    assert slept[4:3600] == [1.0] * 3596


def test_keys_are_forgotten_without_a_pause_while_there_are_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, slept = [5000.0], list[float]()
    serving: Any = Scripted(clock, [(0, 3), (0, 5), (0, None), (0, None)])

    async def sleep(seconds: float) -> None:
        if slept:
            serving.script.pop(0)
        slept.append(seconds)
        clock[0] += seconds
        serving.stopping = len(serving.script) == 1

    loop = SimpleNamespace(time=lambda: clock[0])
    other = SimpleNamespace(sleep=sleep, get_running_loop=lambda: loop)
    monkeypatch.setattr(sweep, "asyncio", other)
    asyncio.run(sweep.sweep(serving, 50.0))
    assert slept == [1.0, 0, 0, 1.0]
    assert [given for _, given in serving.calls] == [(0, 50.0), (3, 50.0), (5, 50.0)]


def test_after_a_failure_it_waits_for_a_second(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures: list[Exception] = [Error("wrong"), UnavailableError("down"), ZeroDivisionError()]
    slept: list[float] = []

    class Failing(Scripted):
        async def call_store(self, call: Any, *given: Any) -> Any:
            self.stopping = len(failures) == 1
            raise failures.pop(0)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    loop = SimpleNamespace(time=lambda: 100.0)
    other = SimpleNamespace(sleep=sleep, get_running_loop=lambda: loop)
    monkeypatch.setattr(sweep, "asyncio", other)
    failing: Any = Failing([100.0], [])
    asyncio.run(sweep.sweep(failing, 50.0))
    assert slept == [1.0] * 3
    (logged,) = caplog.records  # only what is no error of ours
    assert logged.message == "a sweep failed"


def test_of_an_experiment_with_many_failing_units_all_is_left_out() -> None:
    due, left_out = list[tuple[str, str]](), list[Any]()

    class Failing:
        store: Any = SimpleNamespace(due=None)

        async def call_store(self, call: Any, most: int, *without: Any) -> Any:
            left_out.append(without)
            return due

        async def experiment(self, name: str) -> Any:
            return name

        async def submit(self, experiment: Any, requests: Any) -> Any:
            error = Error("spoiled") if experiment == "e" else UnavailableError("read-only")
            return [error] * len(requests)

    failing: Any = Failing()
    skipped: dict[tuple[str, str | None], float] = {}

    def expire_some(now: float) -> Any:
        """Return what was left out."""
        asyncio.run(sweep._expire_some(failing, skipped, now))
        return left_out[-1]

    due = [(name, f"u{n}") for n in range(100) for name in "ef"]
    assert expire_some(7.0) == ([], [])
    due = [("e", "one more")]
    experiments, units = expire_some(7.0)
    assert (experiments, len(units)) == ([], 200)
    due = []
    assert expire_some(66.9)[0] == ["e"]
    assert expire_some(67.1) == ([], [])


def test_a_sweep_ends_with_its_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "_EVERY", 0.0)
    sweeps = 0

    class Stopping(backend.Backend):
        async def call_store(self, call: Any, *values: Any) -> Any:
            nonlocal sweeps
            sweeps += 1
            self.stopping = True
            if sweeps > 1:
                raise KeyboardInterrupt
            return []

    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        asyncio.run(sweep.sweep(Stopping(store, Settings(), Metrics()), 0))
    assert sweeps == 1
