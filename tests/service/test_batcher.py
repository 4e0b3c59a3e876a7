"""Group commit: requests that arrive together are one transaction, and nobody waits for ever.

What becomes of single requests is tested with every store: tests/helpers/stores.py.
"""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import time
import weakref
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from threading import Event as Signal
from types import SimpleNamespace
from typing import Any

import pytest
from stores import events, put
from waiting import LONG

from fpbandits.agent.agent import Agent
from fpbandits.errors import Error, StorageError, UnavailableError
from fpbandits.service import batcher
from fpbandits.service.batcher import Batcher
from fpbandits.service.batches import Recent, handle_together
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import Ask, Request, Tell
from fpbandits.service.step import Answer, Unit
from fpbandits.service.store import Store, Transaction, UnitRow, Wanted, open_store
from fpbandits.service.verify import verify


class Gate:
    """A store whose transactions begin when they may."""

    def __init__(self, store: Store) -> None:
        self.store, self.may = store, Signal()
        self.sizes: list[int] = []
        self.failure: Exception | None = None

    @contextmanager
    def transaction(self, wanted: Wanted) -> Iterator[Transaction]:
        assert self.may.wait(LONG)
        if self.failure is not None:
            raise self.failure
        self.sizes.append(len(wanted.asked))
        with self.store.transaction(wanted) as transaction:
            yield transaction


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        yield Gate(store)


def with_batcher(
    gate: Gate,
    act: Callable[[Batcher, Experiment], Coroutine[Any, Any, None]],
    **options: Any,
) -> None:
    experiment = put(gate.store)

    async def all_of_it() -> None:
        store: Any = gate
        batcher = Batcher(store, **options)
        try:
            await act(batcher, experiment)
        finally:
            gate.may.set()
            await batcher.close()

    asyncio.run(all_of_it())


async def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < limit
        await asyncio.sleep(0.005)


def test_what_gathers_while_one_is_under_way_is_the_next_transaction(gate: Gate) -> None:
    commits: list[int] = []

    async def act(batcher: Batcher, experiment: Experiment) -> None:
        first = asyncio.create_task(batcher.submit([(experiment, Ask("first"))]))
        await until(lambda: batcher.waiting == 1 and batcher._queue.empty())
        others = [
            asyncio.create_task(batcher.submit([(experiment, Ask(f"u{place}"))]))
            for place in range(20)
        ]
        await until(lambda: batcher.waiting == 21)
        gate.may.set()
        answers = await asyncio.gather(first, *others)
        assert [answer[0]["unit"] for answer in answers if isinstance(answer[0], dict)] == [
            "first",
            *(f"u{place}" for place in range(20)),
        ]
        await until(lambda: batcher.waiting == 0)

    with_batcher(gate, act, committed=lambda requests, *_: commits.append(requests))
    assert gate.sizes == commits == [1, 20]


def test_a_full_queue_sends_away(gate: Gate) -> None:
    async def act(batcher: Batcher, experiment: Experiment) -> None:
        asks = [(experiment, Ask(f"u{place}")) for place in range(3)]
        waiting = asyncio.create_task(batcher.submit(asks))
        await asyncio.sleep(0)
        with pytest.raises(UnavailableError, match="3 requests wait already"):
            await batcher.submit(asks[:2])
        one_more = asyncio.create_task(batcher.submit([(experiment, Ask("v"))]))
        gate.may.set()
        assert len(await waiting) == 3
        assert len(await one_more) == 1
        assert len(await batcher.submit(asks)) == 3

    with_batcher(gate, act, most_waiting=4)


def test_who_gave_up_waiting_is_found_by_the_key(gate: Gate) -> None:
    async def act(batcher: Batcher, experiment: Experiment) -> None:
        with pytest.raises(UnavailableError, match="takes too long"):
            await batcher.submit([(experiment, Ask("u", "k"))])
        # Not begun yet when its caller gave up: it is dropped.
        with pytest.raises(UnavailableError, match="takes too long"):
            await batcher.submit([(experiment, Ask("dropped", "k"))])
        gate.may.set()
        (answer,) = await batcher.submit([(experiment, Ask("u", "k"))])
        assert isinstance(answer, dict)
        assert answer["decision"] == "0@u"
        assert [(unit, event.key) for unit, event in events(gate.store, experiment)] == [("u", "k")]

    with_batcher(gate, act, patience=0.1)


async def ask_beside_others(gate: Gate, batcher: Batcher, experiment: Experiment) -> Error:
    """Ask for three units in one transaction, of which "bad" must fail alone; return its error."""
    submitted = [
        asyncio.create_task(batcher.submit([(experiment, Ask(name))]))
        for name in ("good", "bad", "fine")
    ]
    await until(lambda: batcher.waiting == 3)
    gate.may.set()
    (good,), (bad,), (fine,) = await asyncio.gather(*submitted)
    assert isinstance(good, dict)
    assert isinstance(fine, dict)
    assert type(bad) is Error
    return bad


def test_one_that_fails_inside_does_not_take_the_others_with_it(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Unit.step

    def failing(self: Unit, request: Request, now: float) -> Any:
        answer = step(self, request, now)
        if request.unit == "bad":
            raise ZeroDivisionError
        return answer

    monkeypatch.setattr(Unit, "step", failing)

    async def act(batcher: Batcher, experiment: Experiment) -> None:
        bad = await ask_beside_others(gate, batcher, experiment)
        assert "ZeroDivision" not in str(bad)
        units = [unit for unit, _ in events(gate.store, experiment)]
        assert sorted(map(str, units)) == ["fine", "good"]

    with_batcher(gate, act)


@pytest.mark.parametrize("kind", [UnavailableError, StorageError])
def test_a_store_that_fails_is_unavailable_and_then_not(gate: Gate, kind: type[Error]) -> None:
    gate.may.set()

    async def act(batcher: Batcher, experiment: Experiment) -> None:
        gate.failure = kind("postgres://me:secret@host")
        with pytest.raises(UnavailableError) as failure:
            await batcher.submit([(experiment, Ask("u", "k"))])
        assert "secret" not in str(failure.value)
        gate.failure = None
        assert isinstance((await batcher.submit([(experiment, Ask("u", "k"))]))[0], dict)

    with_batcher(gate, act)


def test_a_unit_that_cannot_be_read_does_not_take_the_others_with_it(
    gate: Gate, tmp_path: Path
) -> None:
    async def act(batcher: Batcher, experiment: Experiment) -> None:
        gate.may.set()
        await batcher.submit([(experiment, Ask("bad"))])
        with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
            other.execute("UPDATE units SET state = '{}'")
        gate.may.clear()
        bad = await ask_beside_others(gate, batcher, experiment)
        assert "server's log" in str(bad)

    with_batcher(gate, act)


@pytest.mark.parametrize("late", [False, True])
def test_a_long_list_of_slow_decisions_lets_others_in_between(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """A transaction ends after so many seconds of deciding, and experiments take turns in it.

    ``late``: others come when the transaction of the long list has begun.
    """
    slow, quick = put(gate.store, "slow"), put(gate.store, "quick")
    seconds, step, stepped = 0.0, Unit.step, list[str]()

    def stepping(unit: Unit, request: Request, now: float) -> Any:
        nonlocal seconds
        seconds += 1 / 64 if unit.experiment is slow else 0.0
        stepped.append(unit.experiment.name)
        return step(unit, request, now)

    clock = SimpleNamespace(sleep=lambda pause: None, thread_time=lambda: seconds)
    monkeypatch.setattr(batcher, "time", clock)
    monkeypatch.setattr(Unit, "step", stepping)
    answered: list[str] = []

    async def act(batcher: Batcher, experiment: Experiment) -> None:
        async def ask(wanted: Experiment, count: int) -> None:
            asks = [(wanted, Ask(f"u{n}")) for n in range(count)]
            found = await batcher.submit(asks)
            assert [each["unit"] for each in found if isinstance(each, dict)] == [
                f"u{n}" for n in range(count)
            ]
            answered.append(wanted.name)

        # What is asked while the first transaction waits comes together into the next.
        first = asyncio.create_task(ask(slow if late else experiment, 100 if late else 1))
        await until(lambda: batcher.waiting in (1, 100) and batcher._queue.empty())
        others = [] if late else [asyncio.create_task(ask(slow, 100))]
        others += [asyncio.create_task(ask(quick, 1)) for _ in range(3)]
        await until(lambda: batcher.waiting == (103 if late else 104))
        gate.may.set()
        await asyncio.gather(first, *others)

    sizes: list[int] = []
    with_batcher(gate, act, committed=lambda requests, *_: sizes.append(requests), longest=5 / 64)
    assert answered == [*["e"] * (not late), *["quick"] * 3, "slow"]
    assert stepped.count("slow") == 100
    if late:
        # The first step begins the time; one more than five steps of 1/64 s is too many. Twice as
        # many requests are in the next transaction, three of them for the same quick unit.
        assert stepped[:13] == ["slow"] * 7 + ["slow", "quick"] * 3
        assert gate.sizes == [100, 12, 20, 40, 26]
        assert sizes == [7, 10, 20, 40, 26]
    else:
        # One of each in turn.
        assert stepped[1:11] == ["slow", "quick"] * 3 + ["slow"] * 4
        assert gate.sizes == [1, 101, 20, 40, 33]
        assert sizes == [1, 10, 20, 40, 33]


def test_experiments_take_turns_if_one_request_is_all_that_a_transaction_has_time_for(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = put(gate.store, "first"), put(gate.store, "second")
    seconds, step, stepped = 0.0, Unit.step, list[str]()

    def stepping(unit: Unit, request: Request, now: float) -> Any:
        stepped.append(unit.experiment.name)
        return step(unit, request, now)

    def thread_time() -> float:  # each look is a second later
        nonlocal seconds
        seconds += 1
        return seconds

    monkeypatch.setattr(batcher, "time", SimpleNamespace(thread_time=thread_time, sleep=time.sleep))
    monkeypatch.setattr(Unit, "step", stepping)

    async def act(batcher: Batcher, experiment: Experiment) -> None:
        begun = asyncio.create_task(batcher.submit([(experiment, Ask("u"))]))
        await until(lambda: batcher.waiting == 1 and batcher._queue.empty())
        asks = [[(each, Ask(f"u{n}")) for n in range(4)] for each in (first, second)]
        lists = [asyncio.create_task(batcher.submit(each)) for each in asks]
        await until(lambda: batcher.waiting == 9)
        gate.may.set()
        await asyncio.gather(begun, *lists)

    with_batcher(gate, act, longest=0.5)
    assert stepped == ["e", *["first", "second"] * 4]


def test_closing_serves_who_waits(gate: Gate) -> None:
    served: list[Any] = []

    async def act(batcher: Batcher, experiment: Experiment) -> None:
        async def wait(name: str) -> None:
            served.extend(await batcher.submit([(experiment, Ask(name))]))

        tasks = [asyncio.create_task(wait(name)) for name in "abc"]
        await until(lambda: batcher.waiting == 3)
        gate.may.set()
        await batcher.close()
        await asyncio.gather(*tasks)

    with_batcher(gate, act)
    assert [answer["unit"] for answer in served] == ["a", "b", "c"]


def test_closing_serves_what_takes_several_transactions(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batcher, "MOST_TOGETHER", 2)
    served: list[Any] = []

    async def act(batcher: Batcher, experiment: Experiment) -> None:
        asks = [(experiment, Ask(name)) for name in "abcde"]
        task = asyncio.create_task(batcher.submit(asks))
        await until(lambda: batcher.waiting == 5)
        gate.may.set()
        await batcher.close()
        served.extend(await task)

    with_batcher(gate, act)
    assert [answer["unit"] for answer in served] == list("abcde")
    assert gate.sizes == [2, 2, 1]


class Failing(Gate):
    """A store that refuses transactions in which a unit is named "bad"."""

    error: Exception = ZeroDivisionError()

    @contextmanager
    def transaction(self, wanted: Wanted) -> Iterator[Transaction]:
        assert self.may.wait(LONG)
        self.sizes.append(len(wanted.asked))
        if any(unit == "bad" for _, unit in wanted.asked):
            raise self.error
        with self.store.transaction(wanted) as transaction:
            yield transaction


@pytest.mark.parametrize("others", [1, 2])
@pytest.mark.parametrize("unavailable", [False, True])
def test_a_transaction_that_fails_is_tried_one_by_one_unless_the_store_is_unavailable(
    gate: Gate, others: int, unavailable: bool, caplog: pytest.LogCaptureFixture
) -> None:
    failing = Failing(gate.store)
    failing.error = UnavailableError("down") if unavailable else ZeroDivisionError()

    async def act(batcher: Batcher, experiment: Experiment) -> None:
        first = asyncio.create_task(batcher.submit([(experiment, Ask("first"))]))
        await until(lambda: batcher.waiting == 1 and batcher._queue.empty())
        names = ["bad", "good", "fine"][: 1 + others]
        tasks = [asyncio.create_task(batcher.submit([(experiment, Ask(name))])) for name in names]
        await until(lambda: batcher.waiting == 2 + others)
        failing.may.set()
        await first
        bad, *rest = await asyncio.gather(*tasks, return_exceptions=True)
        if unavailable:
            assert [type(each) for each in (bad, *rest)] == [UnavailableError] * (1 + others)
            assert failing.sizes == [1, 1 + others]
        else:
            assert type(bad) is Error
            assert [each[0]["unit"] for each in rest if isinstance(each, list)] == names[1:]  # type: ignore[index]
            assert failing.sizes == [1, 1 + others, *[1] * (1 + others)]

    with_batcher(failing, act)
    assert len([each for each in caplog.records if each.exc_info]) == (not unavailable)


def test_a_transaction_has_taken_the_time_since_it_began(gate: Gate) -> None:
    taken: list[tuple[int, float, Counter[tuple[str, str]]]] = []
    gate.may.set()

    async def act(batcher: Batcher, experiment: Experiment) -> None:
        clock = iter([100.0, 100.25])
        batcher._loop = Loop(batcher._loop, lambda: next(clock))  # type: ignore[assignment]
        await batcher.submit([(experiment, Ask("u")), (experiment, Ask("v"))])

    with_batcher(gate, act, committed=lambda *numbers: taken.append(numbers))
    assert taken == [(2, 0.25, Counter({("e", "decision"): 2}))]


class Loop:
    """An event loop with another clock."""

    def __init__(self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float]) -> None:
        self._loop, self.time = loop, clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)


@pytest.mark.parametrize("fields", [{}, {"reward_wait": 1000}])
def test_units_kept_in_memory_decide_as_one_agent_whoever_else_writes(
    gate: Gate, fields: dict[str, Any]
) -> None:
    """Three servers take turns, two of which remember; the third, and the store, have the truth."""
    experiment, random = put(gate.store, policy="thompson-theta", **fields), Random(3)
    servers = [Recent(), Recent(2), None]
    agents = {
        unit: Agent(experiment.problem, experiment.policy, seed=experiment.seed_of(unit))
        for unit in "abc"
    }
    out: list[tuple[str, int]] = []
    for _ in range(300):
        server = servers[random.choice([0, 0, 0, 1, 1, 2])]
        if out and random.random() < 0.5:
            unit, number = out.pop(random.randrange(len(out)))
            reward = float(random.random() < 0.6)
            handle_together(gate.store, [(experiment, Tell((unit, number), reward))], server)
            agents[unit].tell(number, reward)
        else:
            unit = random.choice("abc")
            (answer,) = handle_together(gate.store, [(experiment, Ask(unit))], server)
            decision = agents[unit].ask()
            assert isinstance(answer, dict)
            assert (answer["decision"], answer["arm"]) == (f"{decision.id}@{unit}", decision.arm)
            out.append((unit, decision.id))
    assert verify(gate.store).shown == []


def test_what_was_not_committed_is_not_remembered(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment, recent = put(gate.store), Recent()

    def ask() -> Any:
        return handle_together(gate.store, [(experiment, Ask("u"))], recent)[0]

    assert ask()["decision"] == "0@u"
    with monkeypatch.context() as patch:
        patch.setattr(Unit, "pack", fail)
        assert type(ask()) is Error
    assert ask()["decision"] == "1@u"
    assert [event.number for _, event in events(gate.store, experiment)] == [0, 1]


def test_nothing_that_a_unit_answered_before_it_failed_holds(
    gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = put(gate.store)
    monkeypatch.setattr(Unit, "pack", fail)
    requests: list[Request] = [
        Ask("u"),
        Tell(("u", 0), 1.0),
        Tell(("u", 0), 0.0),
        Ask("u", context="mobile"),
    ]
    *failed, wrong = handle_together(gate.store, [(experiment, each) for each in requests])
    # The second reward conflicted with the first one, of which nothing is written.
    assert ["server's log" in str(each) for each in failed] == [True] * 3
    assert "mobile" in str(wrong)  # was refused before any step
    assert events(gate.store, experiment) == []


def test_a_unit_that_is_remembered_does_not_keep_its_transaction(gate: Gate) -> None:
    begun = list[weakref.ref[Transaction]]()
    transaction = gate.store.transaction

    @contextmanager
    def watched(wanted: Wanted) -> Iterator[Transaction]:
        with transaction(wanted) as opened:
            begun.append(weakref.ref(opened))
            yield opened

    gate.store.transaction = watched  # type: ignore[method-assign]
    experiment, recent = put(gate.store), Recent()
    for name in ("u", "v"):
        handle_together(gate.store, [(experiment, Ask(name, "key"))], recent)
    gc.collect()
    assert len(begun) == 2
    assert not any(each() for each in begun)


def fail(unit: Unit) -> str:
    raise ZeroDivisionError


def test_only_so_many_units_are_remembered(gate: Gate) -> None:
    experiment, recent = put(gate.store), Recent(3)
    handle_together(gate.store, [(experiment, Ask(f"u{n}")) for n in range(10)], recent)
    units = [f"u{n}" for n in range(10)]
    rows = {unit: gate.store.unit((experiment.id, unit)) for unit in units}
    kept = [unit for unit, row in rows.items() if row and recent.take(experiment, unit, row)]
    assert kept == units[-3:]
    assert not any(row and recent.take(experiment, unit, row) for unit, row in rows.items())


def test_five_thousand_units_are_remembered_unless_another_number_is_given() -> None:
    experiment: Any = SimpleNamespace(id=1, stamp="stamp")
    recent, row = Recent(), UnitRow(1, 3, "state")
    for n in range(5002):
        unit: Any = SimpleNamespace(experiment=experiment, steps=3, begin=lambda *_: None)
        recent.keep((1, f"u{n}"), "state", unit)
    kept = [n for n in range(5002) if recent.take(experiment, f"u{n}", row)]
    assert kept == list(range(2, 5002))


@pytest.mark.parametrize(("count", "transactions"), [(8, [2]), (7, [1, 1])])
def test_where_several_came_together_the_next_are_waited_for(
    gate: Gate, monkeypatch: pytest.MonkeyPatch, count: int, transactions: list[int]
) -> None:
    lingering, enough = Signal(), Signal()

    def linger(seconds: float) -> None:
        assert seconds == 0.002
        lingering.set()
        assert enough.wait(LONG)

    monkeypatch.setattr(
        batcher, "time", SimpleNamespace(sleep=linger, thread_time=time.thread_time)
    )

    async def act(batcher: Batcher, experiment: Experiment) -> None:
        def ask(unit: str) -> asyncio.Task[list[Answer | Error]]:
            return asyncio.create_task(batcher.submit([(experiment, Ask(unit))]))

        first = ask("a")
        await until(lambda: batcher.waiting == 1 and batcher._queue.empty())
        together = [ask(f"b{n}") for n in range(count)]
        await until(lambda: batcher.waiting == 1 + count)
        gate.may.set()
        await asyncio.gather(first, *together)
        one = ask("e")
        if len(transactions) == 1:
            await until(lingering.is_set)
            other = ask("f")
            await until(lambda: batcher.waiting == 2)
            enough.set()
            await asyncio.gather(one, other)
        else:
            await one
            await ask("f")
            assert not lingering.is_set()
        assert gate.sizes == [1, count, *transactions]

    with_batcher(gate, act)
