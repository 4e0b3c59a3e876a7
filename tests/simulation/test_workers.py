"""Batches: every run is played once, whatever the executor, and every worker has enough to do."""

from __future__ import annotations

import math
import os
import pickle
import random
import time
from collections import Counter, deque
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fpbandits import UCB1, Problem, load_problem, simulate
from fpbandits.errors import LostWorkersError
from fpbandits.simulation import packing, workers
from fpbandits.simulation.cell import Cell, make_cell
from fpbandits.simulation.kernel import END, RUNS, STOP, TIME, new_progress
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.versions import versions
from fpbandits.simulation.workers import (
    Played,
    RunRange,
    Tables,
    _Batch,
    _cut,
    _rest,
    _under_way,
    play_ranges,
)


class Whimsical(Executor):
    """Three workers who seem not to share our memory, and finish in any order."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.threads = ThreadPoolExecutor(3)

    def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        pause = self.random.choice([0, 0, 0.003])

        def work() -> Any:
            time.sleep(pause)
            return function(*arguments, **more)

        return self.threads.submit(work)

    def shutdown(self, *arguments: Any, **more: Any) -> None:
        self.threads.shutdown()


def cells_of(counts: list[int]) -> list[Cell]:
    problem = load_problem("paper:two")
    return [
        make_cell(problem, UCB1(), RunSpec(runs=runs, horizon=5 + number, times=[5], seed=number))
        for number, runs in enumerate(counts)
    ]


@settings(max_examples=60, deadline=None)
@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=8),
    kept=st.lists(st.tuples(st.integers(0, 7), st.integers(0, 29), st.integers(1, 10))),
    seconds=st.sampled_from([0.0, 0.001, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_every_missing_run_is_played_once(
    counts: list[int], kept: list[tuple[int, int, int]], seconds: float, seed: int
) -> None:
    cells = cells_of(counts)
    tables = Tables((cell.spec.runs, len(cell.times), 2) for cell in cells)
    for cell, start, length in kept:
        if cell < len(cells):
            runs = RunRange(cell, start, start + length)
            pulls = np.zeros((length, len(cells[cell].times), 2), int)
            tables.put(Played(runs, pulls, np.ones(length, int)))
    missing = {
        (number, run)
        for number, plans in enumerate(tables.plans)
        for run in range(len(plans))
        if plans[run] == 0
    }
    ranges = list(tables.missing())
    assert {(runs.cell, run) for runs in ranges for run in range(*runs[1:])} == missing
    took: Counter[tuple[int, int]] = Counter()

    def take(played: Played) -> None:
        took.update((played.runs.cell, run) for run in range(*played.runs[1:]))
        cell = cells[played.runs.cell]
        for place, run in enumerate(range(*played.runs[1:])):
            alone, _ = cell.play(range(run, run + 1), new_progress())
            assert np.array_equal(played.pulls[place], alone[0])

    with pytest.MonkeyPatch.context() as patch, Whimsical(seed) as pool:
        patch.setattr(workers, "SECONDS", seconds)
        play_ranges(cells, ranges, pool, 2, on_played=take, tick=lambda under_way: None)
    assert took == Counter(missing)


class Scripted(Executor):
    """A cluster of so many workers in a time of its own, where a run takes as long as we say."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, width: int, seconds_per_run: float) -> None:
        self.free, self.pace, self.now = [0.0] * width, seconds_per_run, 0.0
        self.batches: list[tuple[float, int]] = []
        self.waiting: list[tuple[float, Future[Any], Any]] = []
        monkeypatch.setattr(packing, "pack_batch", lambda cells, ranges, whole: (cells, ranges))
        monkeypatch.setattr(workers, "wait", self.wait)
        monkeypatch.setattr(workers, "time", self)

    def perf_counter(self) -> float:
        return self.now

    def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        _, ranges = arguments
        worker = self.free.index(min(self.free))
        left = math.ceil(workers.SECONDS / self.pace)
        played = []
        for wanted in ranges:
            runs = min(left, wanted.size)
            if runs:
                done = wanted._replace(stop=wanted.start + runs)
                played.append(Played(done, np.zeros((runs, 1, 1), int), np.ones(runs, int)))
                left -= runs
        seconds = self.pace * sum(each.runs.size for each in played)
        self.free[worker] = max(self.free[worker], self.now) + seconds
        self.batches.append((seconds, sum(each.runs.size for each in played)))
        future: Future[Any] = Future()
        reply = workers._Reply(played, seconds, versions())
        self.waiting.append((self.free[worker], future, reply))
        return future

    def wait(self, futures: Any, **more: Any) -> tuple[set[Future[Any]], None]:
        self.waiting.sort(key=lambda item: item[0])
        self.now, future, reply = self.waiting.pop(0)
        future.set_result(reply)
        return {future}, None


@pytest.mark.parametrize("width", [1, 8, 200])
@pytest.mark.parametrize("seconds_per_run", [1e-3, 0.02, 0.9, 30.0])
def test_a_cluster_of_any_size_is_kept_busy(
    monkeypatch: pytest.MonkeyPatch, seconds_per_run: float, width: int
) -> None:
    """No one says how long a run takes. A minute's work for each worker, or ten runs."""
    runs = math.ceil(width * max(60, 10 * seconds_per_run) / seconds_per_run)
    problem = load_problem("paper:two")
    cells = [make_cell(problem, UCB1(), RunSpec(runs=runs, horizon=1))]
    pool = Scripted(monkeypatch, width, seconds_per_run)
    took: list[int] = []
    play_ranges(
        cells,
        [RunRange(0, 0, runs)],
        pool,
        width,
        on_played=lambda played: took.append(played.runs.size),
        tick=lambda under_way: None,
    )
    assert sum(took) == runs
    ideal = runs * seconds_per_run / width
    assert pool.now < 1.02 * ideal + seconds_per_run + 1
    assert max(seconds for seconds, _ in pool.batches) < 2 + seconds_per_run
    if seconds_per_run < 0.1:
        # Batches are about a second, but for the last ones.
        assert len(pool.batches) < 1.5 * runs * seconds_per_run + 60 * width


def test_a_cluster_that_grows_is_kept_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers for 20 seconds, then 40: they are counted again every few seconds."""
    runs, pace = 20_000, 0.1
    pool = Scripted(monkeypatch, 2, pace)

    counted: list[float] = []

    def counting(_: Executor) -> int:
        counted.append(pool.now)
        if pool.now >= 20 and len(pool.free) == 2:
            pool.free += [pool.now] * 38
        return len(pool.free)

    monkeypatch.setattr(workers, "dask_workers", counting)
    play_ranges(
        [make_cell(load_problem("paper:two"), UCB1(), RunSpec(runs=runs, horizon=1))],
        [RunRange(0, 0, runs)],
        pool,
        on_played=lambda played: None,
        tick=lambda under_way: None,
    )
    ideal = 20 + (runs * pace - 2 * 20) / 40
    assert pool.now < ideal + 10
    assert all(after - before > 5 for before, after in pairwise(counted)), "it takes time"


def test_an_executor_says_how_many_workers_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2) as processes:
        assert workers._count_workers(threads) == 3
        assert workers._count_workers(processes) == 2
    with Whimsical(0) as other:
        assert workers._count_workers(other) == os.cpu_count()
        monkeypatch.setattr(os, "cpu_count", lambda: None)  # where that is not known
        assert workers._count_workers(other) == 1


def test_large_problems_are_sent_to_those_who_lack_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """And to no one else: batches that name them are small."""
    problem = Problem.bernoulli(np.linspace(0.1, 0.9, 20_000).reshape(10_000, 2), truth="theta1")
    expected = simulate(problem, UCB1(), horizon=10, runs=60)
    sizes: list[int] = []

    class Measuring(Whimsical):
        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            sizes.append(len(pickle.dumps(arguments)))
            return super().submit(function, *arguments, **more)

    monkeypatch.setattr(workers, "SECONDS", 0.0)
    packing._problems_here.clear()
    with Measuring(0) as pool:
        found = simulate(problem, UCB1(), horizon=10, runs=60, executor=pool)
    assert np.array_equal(found.pulls["ucb1"], expected.pulls["ucb1"])
    large = [size for size in sizes if size > 100_000]
    assert 1 <= len(large) <= 20
    assert len(sizes) >= 60
    assert max(size for size in sizes if size not in large) < 5_000


def test_long_runs_after_short_ones_are_shared_out() -> None:
    """However fast the last batch was, no one gets more than their share of what is left."""
    problem = load_problem("paper:two")
    cells = [make_cell(problem, UCB1(), RunSpec(runs=runs, horizon=1)) for runs in (10**6, 8)]
    given: list[int] = []

    class Watching(Executor):
        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            _, ranges = arguments
            given.append(sum(runs.size for runs in ranges if runs.cell == 1))
            played = [
                Played(runs, np.zeros((runs.size, 1, 2), int), np.ones(runs.size, int))
                for runs in ranges
            ]
            future: Future[Any] = Future()
            future.set_result(workers._Reply(played, 1e-6, versions()))
            return future

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packing, "pack_batch", lambda cells, ranges, whole: (cells, ranges))
        play_ranges(
            cells,
            [RunRange(0, 0, 10**6), RunRange(1, 0, 8)],
            Watching(),
            4,
            on_played=lambda played: None,
            tick=lambda under_way: None,
        )
    assert sum(given) == 8
    assert max(given) <= 2


def test_good_replies_beside_a_failure_are_taken() -> None:
    took: list[Played] = []
    problem = load_problem("paper:two")

    class Failing(Executor):
        sent = 0

        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            self.sent += 1
            future: Future[Any] = Future()
            if self.sent == 2:
                future.set_exception(BrokenExecutor("gone"))
            else:
                future.set_result(function(*arguments, **more))
            return future

    pool = Failing()
    with pytest.raises(LostWorkersError, match="the workers are lost"):
        play_ranges(
            [make_cell(problem, UCB1(), RunSpec(runs=40, horizon=1))],
            [RunRange(0, 0, 40)],
            pool,
            2,
            on_played=took.append,
            tick=lambda under_way: None,
        )
    assert pool.sent == 4
    assert len(took) == 3


def test_a_policys_own_error_comes_through() -> None:
    """What goes wrong in a worker is not taken for a lost worker."""

    class Broken(UCB1):
        def new_state(self, problem: Problem) -> Any:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        simulate(load_problem("paper:two"), Broken(), runs=3, horizon=5)


def test_workers_without_the_package_are_told_apart() -> None:
    class Bare(Executor):
        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(ModuleNotFoundError("No module named 'fpbandits'"))
            return future

    with pytest.raises(
        LostWorkersError, match=r"the workers are lost \(ModuleNotFoundError: No module"
    ):
        simulate(load_problem("paper:two"), runs=3, horizon=5, executor=Bare())


def test_runs_under_way_by_cell() -> None:
    """Two and a quarter runs of a batch that begins with one of a cell; nothing of another."""
    first = _Batch([RunRange(0, 7, 8), RunRange(2, 0, 5)])
    first.progress[RUNS], first.progress[TIME], first.progress[END] = 2, 250, 1000
    second = _Batch([RunRange(2, 5, 9)])
    assert _under_way([first, second]) == {0: 1.0, 2: 1.25}
    second.progress[TIME], second.progress[END] = 1, 2
    assert _under_way([first, second]) == {0: 1.0, 2: 1.75}
    third = _Batch([RunRange(1, 0, 4)])
    third.progress[TIME] = third.progress[END] = 1
    assert _under_way([third]) == {1: 1.0}


def test_batches_are_cut_by_runs_and_by_bytes() -> None:
    cells = cells_of([10, 10])  # of two arms; the second of two times: 32 bytes a run
    queue = deque([RunRange(0, 2, 5), RunRange(1, 0, 10)])
    assert _cut(queue, cells, 4, 10**6) == [RunRange(0, 2, 5), RunRange(1, 0, 1)]
    assert list(queue) == [RunRange(1, 1, 10)]
    assert _cut(queue, cells, 99, 33) == [RunRange(1, 1, 3)], "two runs begin within 33 bytes"
    assert _cut(queue, cells, 99, 10**6) == [RunRange(1, 3, 10)]
    assert list(queue) == []
    queue = deque([RunRange(0, 2, 5), RunRange(1, 0, 10)])
    assert _cut(queue, cells, 1, 1) == [RunRange(0, 2, 3)], "one run, however little room there is"
    assert _cut(queue, cells, 99, 16 + 33) == [RunRange(0, 3, 5), RunRange(1, 0, 1)]
    queue = deque([RunRange(0, 2, 5), RunRange(1, 0, 10)])
    assert _cut(queue, cells, 99, 3 * 16) == [RunRange(0, 2, 5)], "nothing is left for another"


def test_what_a_worker_did_not_play_is_left() -> None:
    ranges = [RunRange(0, 2, 5), RunRange(1, 0, 10), RunRange(2, 0, 3)]
    nothing = np.zeros((0, 1, 2), np.int64), np.zeros(0, np.int64)
    played = [Played(RunRange(0, 2, 5), *nothing), Played(RunRange(1, 0, 4), *nothing)]
    assert _rest(ranges, played) == [RunRange(1, 4, 10), RunRange(2, 0, 3)]
    assert _rest(ranges, []) == ranges
    played[1] = Played(RunRange(1, 0, 9), *nothing)
    assert _rest(ranges, played) == [RunRange(1, 9, 10), RunRange(2, 0, 3)]


class SentError(Exception):
    """All that is sent at first has been sent."""


def first_batches(
    monkeypatch: pytest.MonkeyPatch, cells: list[Cell], workers_there: int
) -> tuple[list[int], float]:
    """Return how many runs each of the first batches has, and how long a wait may take."""
    sizes: list[int] = []
    waits: list[float] = []

    class Silent(Executor):
        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            sizes.append(sum(runs.size for runs in arguments[1]))
            return Future()

    def wait(futures: Any, timeout: float, **more: Any) -> Any:
        waits.append(timeout)
        raise SentError

    monkeypatch.setattr(packing, "pack_batch", lambda cells, ranges, whole: (cells, ranges))
    monkeypatch.setattr(workers, "wait", wait)
    ranges = [RunRange(number, 0, cell.spec.runs) for number, cell in enumerate(cells)]
    with pytest.raises(SentError):
        play_ranges(
            cells,
            ranges,
            Silent(),
            workers_there,
            on_played=lambda played: None,
            tick=lambda under_way: None,
        )
    return sizes, waits[0]


def test_the_first_batches_have_half_of_an_equal_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two for each of 4 workers: an eighth of what is left, halved, and one run at least."""
    sizes, seconds = first_batches(monkeypatch, cells_of([160]), 4)
    left, expected = 160, list[int]()
    for _ in range(8):
        expected.append(int(left / 16))
        left -= expected[-1]
    assert sizes == expected == [10, 9, 8, 8, 7, 7, 6, 6]
    assert seconds < 0.5, "progress is heard of several times a second"
    assert first_batches(monkeypatch, cells_of([16]), 4)[0] == [1] * 8
    assert first_batches(monkeypatch, cells_of([5]), 4)[0] == [1] * 5
    assert first_batches(monkeypatch, cells_of([2, 2]), 1)[0] == [1, 1]


def test_the_first_batches_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 2^15 times has 2^19 bytes: 2^26 of them may be sent at once, 2^28 in all."""
    spec = RunSpec(horizon=2**15, times=range(1, 2**15 + 1), runs=10_000)
    cells = [make_cell(load_problem("paper:two"), UCB1(), spec)]
    assert first_batches(monkeypatch, cells, 1)[0] == [2**26 // 2**19] * 2
    assert first_batches(monkeypatch, cells, 4)[0] == [2**28 // 8 // 2**19] * 8


def test_if_something_fails_workers_are_told_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[_Batch, Future[Any]]] = []

    def send(batch: _Batch, *others: Any) -> Future[Any]:
        sent.append((batch, Future()))
        return sent[-1][1]

    def fail(futures: Any, **more: Any) -> Any:
        raise SentError

    monkeypatch.setattr(workers, "_send", send)
    monkeypatch.setattr(workers, "wait", fail)
    with ThreadPoolExecutor(1) as threads, pytest.raises(SentError):
        play_ranges(
            cells_of([9]),
            [RunRange(0, 0, 9)],
            threads,
            on_played=lambda played: None,
            tick=lambda under_way: None,
        )
    assert len(sent) == 2
    assert all(batch.progress[STOP] and future.cancelled() for batch, future in sent)


def test_a_worker_plays_until_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = dict(enumerate(cells_of([50, 50])))
    ranges = [RunRange(0, 10, 50), RunRange(1, 0, 3)]
    begun = time.perf_counter()
    monkeypatch.setattr(workers, "SECONDS", 1e9)
    reply = workers._play(cells, ranges, new_progress())
    assert [played.runs for played in reply.played] == ranges
    assert [played.pulls.shape for played in reply.played] == [(40, 1, 2), (3, 2, 2)]
    assert 0 <= reply.seconds <= time.perf_counter() - begun
    assert reply.versions == versions()
    monkeypatch.setattr(workers, "SECONDS", -1.0)
    reply = workers._play(cells, ranges, new_progress())
    assert [played.runs for played in reply.played] == [RunRange(0, 10, 11)]
    monkeypatch.setattr(workers, "SECONDS", 1e9)
    stopped = new_progress()
    stopped[STOP] = 1
    assert workers._play(cells, ranges, stopped).played == []


def test_a_table_takes_no_more_runs_than_it_has() -> None:
    tables = Tables([(3, 1, 2), (2, 1, 2)])
    pulls = np.arange(8).reshape(4, 1, 2)
    tables.put(Played(RunRange(0, 2, 6), pulls, np.arange(1, 5)))
    tables.put(Played(RunRange(1, 2, 6), pulls, np.arange(1, 5)))
    assert tables.plans[0].tolist() == [0, 0, 1]
    assert tables.pulls[0].tolist() == [[[0, 0]], [[0, 0]], [[0, 1]]]
    assert tables.plans[1].tolist() == [0, 0]
    assert tables.total == 5
    assert tables.are_played(0).tolist() == [False, False, True]
    assert list(tables.missing()) == [RunRange(0, 0, 2), RunRange(1, 0, 2)]
