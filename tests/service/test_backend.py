"""What a server remembers, repeats, limits and gives up. Over HTTP: test_http."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event as Signal
from types import SimpleNamespace
from typing import Any

import pytest
from stores import PROBLEM, one, put, served
from waiting import LONG

from fpbandits.errors import ConflictError, Error, UnavailableError
from fpbandits.service import backend as module
from fpbandits.service.backend import Backend
from fpbandits.service.experiment import CLOSED, OPEN, Experiment, checked_experiment
from fpbandits.service.messages import Ask
from fpbandits.service.metrics import Metrics
from fpbandits.service.report import report
from fpbandits.service.settings import Settings
from fpbandits.service.statuses import MissingError
from fpbandits.service.store import Store, open_store

BODY = {"problem": PROBLEM, "policy": "ucb1"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(open_store(str(path), make=True)) as store:
        yield store


def running(
    store: Store,
    act: Callable[[Backend], Coroutine[Any, Any, None]],
    after: Callable[[Backend], Coroutine[Any, Any, None]] | None = None,
    **settings: Any,
) -> Backend:
    """Do something with a server's backend, and perhaps after it has stopped; return it."""
    backend = Backend(store, Settings(**{"patience": LONG, **settings}), Metrics())

    async def all_of_it() -> None:
        async with backend.running():
            await act(backend)
        if after is not None:
            await after(backend)

    asyncio.run(all_of_it())
    return backend


async def turns() -> None:
    """Let whatever is ready happen."""
    for _ in range(20):
        await asyncio.sleep(0)


async def seen(signal: Signal) -> None:
    assert await asyncio.to_thread(signal.wait, LONG)


def at(monkeypatch: pytest.MonkeyPatch, clock: list[float]) -> None:
    """Let the event loop have the time of a list."""
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: clock[0])


def test_nobody_waits_for_an_edition_that_has_changed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An experiment is closed while it is being prepared, and a report while it is being made."""
    put(store)
    prepare, is_made, goes_on = module._prepare, Signal(), Signal()

    def slow_at_first(kept: Any) -> Experiment:
        assert kept.status == CLOSED or goes_on.wait(LONG)
        return prepare(kept)

    def slow_while_open(*what: Any, **more: Any) -> Any:
        made = report(*what, **more)
        is_made.set()
        assert made["status"] == CLOSED or goes_on.wait(LONG)
        return made

    monkeypatch.setattr(module, "_prepare", slow_at_first)
    monkeypatch.setattr(module, "report", slow_while_open)

    async def act(backend: Backend) -> None:
        backend._pools["report"] = ThreadPoolExecutor(2)
        loading = asyncio.create_task(backend.experiment("e"))
        reporting = asyncio.create_task(backend.report("e"))
        while len(backend._under_way) < 2:
            await asyncio.sleep(0)
        await seen(is_made)
        await backend.set_open("e", False)
        assert (await backend.current("e")).status == CLOSED
        assert (await backend.report("e"))["status"] == CLOSED
        goes_on.set()
        assert ((await loading).status, (await reporting)["status"]) == (OPEN, OPEN)

    running(store, act)


def test_an_experiment_is_read_and_prepared_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store)
    prepared, prepare = list[str](), module._prepare

    def counting(kept: Any) -> Experiment:
        prepared.append(kept.name)
        return prepare(kept)

    monkeypatch.setattr(module, "_prepare", counting)

    async def act(backend: Backend) -> None:
        first, again = await asyncio.gather(backend.experiment("e"), backend.experiment("e"))
        assert first is again is await backend.experiment("e") is await backend.current("e")
        assert first.most_pending == 7
        for n in range(2):
            (answer,) = await backend.submit(first, [Ask("u")])
            assert answer == {"decision": f"{n}@u", "unit": "u", "arm": "ab"[n]}

    running(store, act, most_pending=7)
    assert prepared == ["e"]


def test_names_that_no_store_can_hold_are_not_looked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Backend(store, Settings(), Metrics())
    monkeypatch.setattr(store, "experiment", pytest.fail)
    for name in ("", "\0", "x" * 201, "\ud800"):
        with pytest.raises(MissingError, match="unknown experiment"):
            backend.read_kept(name)


def test_who_asks_whether_it_is_ready_is_told_by_one_test_per_second(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, tests = [100.0], list[float]()

    async def act(backend: Backend) -> None:
        at(monkeypatch, clock)

        async def submit(work: list[Any]) -> list[Any]:
            assert work == []
            tests.append(clock[0])
            return []

        whole, backend.batcher = backend.batcher, SimpleNamespace(submit=submit)  # type: ignore
        for clock[0] in (100.0, 100.5, 101.0, 101.5, 102.25, 102.75):
            await backend.ready()
        assert tests == [100.0, 101.5, 102.75]
        for name in ("draining", "stopping"):
            setattr(backend, name, True)
            with pytest.raises(UnavailableError, match="the server is stopping"):
                await backend.ready()
            setattr(backend, name, False)
        backend.batcher = whole

    running(store, act)


def test_a_store_that_hangs_is_tested_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float | None] = []

    async def act(backend: Backend) -> None:
        may, tests = asyncio.Event(), list[None]()

        async def submit(work: list[Any]) -> list[Any]:
            tests.append(None)
            await may.wait()
            return []

        async def wait(work: Any, patience: float | None) -> None:
            waited.append(patience)
            await turns()
            raise TimeoutError

        whole, backend.batcher = backend.batcher, SimpleNamespace(submit=submit)  # type: ignore
        monkeypatch.setattr(module, "_TEST_SECONDS", -1.0)  # it is time for another one
        with monkeypatch.context() as patch:
            patch.setattr(asyncio, "wait_for", wait)
            for _ in range(3):
                with pytest.raises(UnavailableError, match="cannot be written to: try again"):
                    await backend.ready()
        assert len(tests) == 1
        may.set()
        await backend.ready()
        await backend.ready()
        assert len(tests) == 2  # the second call found the first test done
        backend.batcher = whole

    running(store, act)
    assert waited == [1.5] * 3


def test_making_an_experiment_may_take_longer_than_other_requests(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "fpbandits.service")
    waited: list[float | None] = []
    wait_for = asyncio.wait_for

    async def wait(work: Any, patience: float | None) -> Any:
        waited.append(patience)
        return await wait_for(work, LONG)

    async def act(backend: Backend) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(asyncio, "wait_for", wait)
            for new in (True, False):
                assert (await backend.put("e", BODY))[1] is new

    running(store, act, patience=7.0)
    assert waited == [100.0, 7.0] * 2
    assert [each.message for each in caplog.records] == ["new experiment"]


def test_what_fails_when_nobody_waits_any_more_is_nobodys_business(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(backend: Backend) -> None:
        may = asyncio.Event()

        async def fail() -> None:
            await may.wait()
            raise Error("too late")

        async def cancelled() -> None:
            await may.wait()
            raise asyncio.CancelledError

        for work in (fail, cancelled):
            with pytest.raises(UnavailableError, match="it takes too long: try again"):
                await backend._in_time(asyncio.create_task(work()), "it takes too long", 1e-9)
        may.set()
        await turns()
        gc.collect()
        await turns()

    running(store, act)
    assert caplog.records == []


def test_a_defect_is_logged_though_nobody_waits_any_more(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    async def act(backend: Backend) -> None:
        may = asyncio.Event()

        async def fail() -> None:
            await may.wait()
            raise ZeroDivisionError("a defect")

        with pytest.raises(UnavailableError):
            await backend._in_time(asyncio.create_task(fail()), "it takes too long", 1e-9)
        may.set()
        await turns()

    running(store, act)
    (record,) = caplog.records
    assert record.getMessage() == "a request failed"
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ZeroDivisionError)


def test_a_new_experiment_is_not_deleted_in_place_of_the_one_of_its_name(store: Store) -> None:
    put(store)

    async def act(backend: Backend) -> None:
        may, begun = Signal(), Signal()

        def occupy() -> None:
            begun.set()
            assert may.wait(LONG)

        occupied = asyncio.create_task(backend._work("delete", occupy))
        await seen(begun)
        deleting = asyncio.create_task(backend.delete("e"))
        while ("deleted", "e") not in backend._under_way:
            await asyncio.sleep(0)
        await turns()
        old = store.experiment("e")
        assert old is not None
        # Another server deletes it, and somebody makes another one.
        old = store.change_experiment(old, "deleting")
        while store.delete_some(old.id):
            pass
        new = put(store)
        one(store, new, Ask("u"))
        may.set()
        await occupied
        assert await deleting == {"name": "e", "status": "deleted"}
        assert store.experiment("e") is not None

    running(store, act)


def test_keys_are_kept_for_days(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[float] = []

    async def sweep(serving: object, keep: float) -> None:
        kept.append(keep)

    async def act(backend: Backend) -> None:
        await turns()

    monkeypatch.setattr(module, "sweep", sweep)
    running(store, act, keep_keys_days=2.5)
    assert kept == [216_000.0]


def test_long_work_is_done_one_by_one_and_dropped_when_the_server_stops(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    may, begun, ended = Signal(), list[str](), Signal()
    first = Signal()

    def slow(store: object, name: str, progress: Callable[[int], None]) -> None:
        begun.append(name)
        first.set()
        assert may.wait(LONG)
        try:
            progress(1)
        finally:
            ended.set()

    monkeypatch.setattr(module, "adopt", slow)
    waiting: list[asyncio.Task[Any]] = []

    async def act(backend: Backend) -> None:
        backend._stop_if_stopping(1)
        for name in "abc":
            await backend.put(name, BODY)
            waiting.append(asyncio.create_task(backend.adopt(name)))
        await seen(first)
        while len(backend._under_way) < 3:
            await asyncio.sleep(0)
        await turns()

    async def after(backend: Backend) -> None:
        # It has stopped, though the first adoption is still at work; the others do not begin.
        assert not ended.is_set()
        may.set()
        await asyncio.to_thread(backend._pools["change"].shutdown)
        assert ended.is_set()
        assert begun == ["a"]
        await asyncio.wait(waiting)

    backend = running(store, act, after, patience=LONG)
    assert backend.stopping
    with pytest.raises(UnavailableError, match="the server is stopping"):
        backend._stop_if_stopping()
    assert isinstance(waiting[0].exception(), UnavailableError)
    assert all(task.cancelled() for task in waiting[1:])
    pools = [backend._pools[kind] for kind in ("load", "create", "change", "delete", "report")]
    assert [pool._max_workers for pool in pools] == [2, 1, 1, 1, 1]


def test_a_report_is_shown_for_a_minute_and_looks_at_so_many_units(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, clock, asked = put(store), [100.0], list[tuple[float, Any]]()

    def counting(store: object, name: str, **options: Any) -> Any:
        asked.append((clock[0], options))
        return {"number": len(asked)}

    monkeypatch.setattr(module, "report", counting)

    async def act(backend: Backend) -> None:
        at(monkeypatch, clock)
        found = []
        for clock[0] in (100.0, 159.9, 160.0, 219.0, 221.0):
            found.append(await backend.report(experiment.name))
        assert [each["number"] for each in found] == [1, 1, 2, 2, 3]

    running(store, act)
    most = {"most_units": 2000}
    assert asked == [(100.0, most), (160.0, most), (221.0, most)]


def test_a_deletion_pauses_for_as_long_as_its_parts_take(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = put(store)
    served(store, experiment, [Ask("u"), Ask("v")])
    clock, pauses = [0.0], list[float]()

    def part(experiment: int) -> bool:
        clock[0] += 0.25
        return len(pauses) < 3

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(store, "delete_some", part)
    monkeypatch.setattr(module, "sleep", pause)
    monkeypatch.setattr(module, "monotonic", lambda: clock[0])

    async def act(backend: Backend) -> None:
        assert await backend.delete("e") == {"name": "e", "status": "deleted"}
        kept = store.experiment("e")
        assert kept is not None
        assert (kept.status, kept.edition) == ("deleting", 1)
        await backend.delete("e")  # as after an interruption
        assert store.experiment("e") == kept
        for refused in (backend.set_open("e", True), backend.put("e", BODY)):
            with pytest.raises(ConflictError, match=r"'e' is (being deleted|deleting)"):
                await refused

    running(store, act)
    assert pauses == [0.25] * 3


def test_an_experiment_that_is_migrated_is_served_when_that_is_done(store: Store) -> None:
    definition = checked_experiment("e", BODY).definition
    kept, _ = store.add_experiment("e", definition, 1, status="migrating")

    async def act(backend: Backend) -> None:
        experiment = await backend.experiment("e")
        for _ in range(2):
            with pytest.raises(UnavailableError, match="'e' is migrating"):
                await backend.submit(experiment, [Ask("u")])
        with pytest.raises(ConflictError, match="'e' is migrating: finish that first"):
            await backend.set_open("e", False)
        store.change_experiment(kept, "open")
        (answer,) = await backend.submit(experiment, [Ask("u")])
        assert answer == {"decision": "0@u", "unit": "u", "arm": "a"}
        assert (await backend.put("e", BODY))[1] is False

    running(store, act)
