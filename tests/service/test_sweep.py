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
        stopping = False

        async def call_store(self, call: Any, most: int, *without: Any) -> Any:
            left_out.append(without)
            return [] if any(without) else [("e", "u")]

        async def experiment(self, name: str) -> Any:
            return name

        async def submit(self, experiment: Any, requests: Any) -> Any:
            if concerns == "all":
                raise error
            return [error]

    sweeper = sweep._Sweeper(Failing())
    for now in (0.0, seconds - 0.1, seconds + 0.1):
        asyncio.run(sweeper.expire_some(now))
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
    assert asyncio.run(sweep._Sweeper(serving).expire_some(0.0)) == more


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
