"""Sends runs to an executor in batches, and takes in what comes back.

A *cell* is one policy on one problem with a spec. A *batch* is some ranges of runs for one worker.
How long a run takes is not known beforehand, and may differ a millionfold between cells. So a batch
gets a share of all runs that are left, and its worker begins no run after `SECONDS` and returns the
runs that it finished; the rest goes back into the queue. That keeps every worker busy to the end,
whatever the cells are. Twice as many batches are sent as there are workers, so that no worker is
idle. If workers are lost, `play_ranges` raises `LostWorkersError`, and what they did since their
last reply is lost with them.

Workers in other processes remember problems. A large one is sent only after some worker has
replied, with no runs, that it lacks it; the same runs are then sent again first.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from fpbandits.core.arrays import Bools, Counts
from fpbandits.errors import InputError, LostWorkersError, said
from fpbandits.simulation.cell import Cell
from fpbandits.simulation.cluster import dask_workers
from fpbandits.simulation.kernel import END, RUNS, STOP, TIME, new_progress
from fpbandits.simulation.versions import versions

SECONDS = 1.0
"""After this time a worker begins no other run of its batch."""

MOST_OUT = 2**28
"""About how many bytes of runs may be with workers at any time."""

_LEAST_SECONDS = 0.05
"""How long a batch should take at least: sending it takes time, too."""

_MOST_BYTES = 2**26
"""About how many bytes of runs a batch may have."""

_COUNT_EVERY = 5.0
"""Seconds after which workers are counted again: a cluster may grow."""


class RunRange(NamedTuple):
    """The runs of a cell, given by its index, from ``start`` up to ``stop``."""

    cell: int
    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many runs there are."""
        return self.stop - self.start


class Played(NamedTuple):
    """Finished runs: their pulls[run, time, arm], and plans[run], how often the policy planned."""

    runs: RunRange
    pulls: Counts
    plans: Counts


class Tables:
    """Counts of all runs of some cells: pulls[cell][run, time, arm] and plans[cell][run].

    They are made from the cells' numbers of runs, times and arms. With contexts "arm" stands for a
    pair of a context and an arm, and if the truth moves for a model and such a pair, here and in
    `Played`.
    """

    def __init__(self, shapes: Iterable[tuple[int, int, int]]) -> None:
        self.pulls = [np.zeros(shape, np.int64) for shape in shapes]
        self.plans = [np.zeros(len(pulls), np.int64) for pulls in self.pulls]
        self.total = sum(map(len, self.plans))

    def put(self, played: Played) -> None:
        """Put in runs; if a results folder has more than the table, the others are left out."""
        cell, start, stop = played.runs
        room = max(len(self.plans[cell]) - start, 0)
        self.pulls[cell][start:stop] = played.pulls[:room]
        self.plans[cell][start:stop] = played.plans[:room]

    def are_played(self, cell: int) -> Bools:
        """Tell of each run of a cell whether it has been put in: then it has at least one plan."""
        played: Bools = self.plans[cell] > 0
        return played

    def missing(self) -> Iterator[RunRange]:
        """Yield the ranges of runs that have not been put in."""
        for cell, plans in enumerate(self.plans):
            if plans.all():
                continue
            edges = np.flatnonzero(np.diff(~self.are_played(cell), prepend=False, append=False))
            for start, stop in edges.reshape(-1, 2).tolist():
                yield RunRange(cell, start, stop)


class _Reply(NamedTuple):
    """What a worker returns: runs, the seconds that they took, and its versions."""

    played: list[Played]
    seconds: float
    versions: dict[str, str]


@dataclass
class _Batch:
    """Runs that were sent to a worker, and how far it is."""

    ranges: list[RunRange]
    progress: Counts = field(default_factory=new_progress)


def play_ranges(
    cells: Sequence[Cell],
    ranges: Iterable[RunRange],
    executor: Executor,
    workers: int | None = None,
    *,
    on_played: Callable[[Played], None],
    tick: Callable[[Mapping[int, float]], None],
) -> None:
    """Have these runs played by an executor.

    Parameters
    ----------
    workers
        How many workers the executor has; by default as many as it says.
    on_played
        Called with runs that came back.
    tick
        Called several times a second with how many runs workers have made that are not back yet, by
        cell, fractions included. With workers in other processes that is not known, and empty.
    """
    queue = deque(ranges)
    left = sum(runs.size for runs in queue)
    shares_memory = isinstance(executor, ThreadPoolExecutor)
    window, counted, seconds_per_run, with_large_problems = 0, -math.inf, 0.0, False
    sent: dict[Future[_Reply], _Batch] = {}
    try:
        while queue or sent:
            if time.perf_counter() - counted > _COUNT_EVERY:
                window, counted = 2 * (workers or _count_workers(executor)), time.perf_counter()
            while queue and len(sent) < window:
                # A batch gets half of an equal share of what is left, so that batches shrink to the
                # end. If that is not worth sending it gets more, but at most the whole share.
                share = left / window
                worth_sending = _LEAST_SECONDS / seconds_per_run if seconds_per_run else 1
                runs = max(1, int(min(max(share / 2, worth_sending), share)))
                room = min(_MOST_BYTES, MOST_OUT // window)
                batch = _Batch(_cut(queue, cells, runs, room))
                left -= sum(cut.size for cut in batch.ranges)
                sent[_send(batch, cells, executor, shares_memory, with_large_problems)] = batch
                with_large_problems = False  # any worker that still lacks them will say so
            finished, _ = wait(sent, timeout=0.1, return_when=FIRST_COMPLETED)
            failure: Exception | None = None
            for future in finished:
                batch = sent.pop(future)
                try:
                    reply = _reply(future)
                except Exception as error:  # raised once the other replies are taken in
                    failure = error
                    continue
                rest = _rest(batch.ranges, reply.played)
                queue.extendleft(reversed(rest))
                left += sum(unplayed.size for unplayed in rest)
                if not reply.played:  # a large problem is absent there
                    with_large_problems = True
                    continue
                seconds_per_run = reply.seconds / sum(played.runs.size for played in reply.played)
                for played in reply.played:
                    on_played(played)
            if failure is not None:
                raise failure
            tick(_under_way(sent.values()) if shares_memory else {})
    except BaseException:
        for future, batch in sent.items():
            batch.progress[STOP] = 1  # threads see it; other processes end after `SECONDS`
            future.cancel()
        raise


def _count_workers(executor: Executor) -> int:
    """Return how many workers an executor says that it has; else how many cores there are here."""
    of_pool: int | None = getattr(executor, "_max_workers", None)
    return of_pool or dask_workers(executor) or os.cpu_count() or 1


def _cut(queue: deque[RunRange], cells: Sequence[Cell], runs: int, room: int) -> list[RunRange]:
    """Take this many runs from the queue, or fewer, up to the run that fills ``room`` bytes."""
    ranges: list[RunRange] = []
    while queue and runs > 0 and room > 0:
        cell, start, stop = queue.popleft()
        # What a run's pulls take: a column is what `Tables` calls an arm.
        size = 8 * len(cells[cell].spec.times) * cells[cell].columns
        taken = min(runs, stop - start, math.ceil(room / size))
        ranges.append(RunRange(cell, start, start + taken))
        if start + taken < stop:
            queue.appendleft(RunRange(cell, start + taken, stop))
        runs -= taken
        room -= taken * size
    return ranges


def _rest(ranges: Sequence[RunRange], played: Sequence[Played]) -> list[RunRange]:
    """Return what was not played of these ranges; a worker plays them in order."""
    after = [
        runs._replace(start=done.runs.stop) for runs, done in zip(ranges, played, strict=False)
    ]
    return [runs for runs in (*after, *ranges[len(after) :]) if runs.size > 0]


def _under_way(batches: Iterable[_Batch]) -> dict[int, float]:
    """Return how many runs of each cell, by index, workers have made of these batches."""
    under_way: dict[int, float] = {}
    for batch in batches:
        done = batch.progress[RUNS] + batch.progress[TIME] / max(batch.progress[END], 1)
        for runs in batch.ranges:
            if done <= 0:
                break
            under_way[runs.cell] = under_way.get(runs.cell, 0.0) + min(done, runs.size)
            done -= runs.size
    return under_way


def _send(
    batch: _Batch,
    cells: Sequence[Cell],
    executor: Executor,
    shares_memory: bool,
    with_large_problems: bool,
) -> Future[_Reply]:
    """Send a batch to a worker: as it is to a thread, packed to another process."""
    of_batch = {runs.cell: cells[runs.cell] for runs in batch.ranges}
    if shares_memory:
        return executor.submit(_play, of_batch, batch.ranges, batch.progress)
    from fpbandits.simulation.packing import pack_batch  # needs an extra, which threads do not

    packed = pack_batch(of_batch, batch.ranges, with_large_problems)
    try:
        return executor.submit(_play_packed, *packed)
    except RuntimeError as error:  # broken, or shut down
        raise _lost(error) from error


def _play(cells: Mapping[int, Cell], ranges: Iterable[RunRange], progress: Counts) -> _Reply:
    """Play runs in order until `SECONDS` have passed: at least one, unless stopped."""
    begun = time.perf_counter()
    deadline = begun + SECONDS
    played = []
    for cell, start, stop in ranges:
        pulls, plans = cells[cell].play(range(start, stop), progress, deadline)
        if len(plans):  # else it was stopped in its first run
            played.append(Played(RunRange(cell, start, start + len(plans)), pulls, plans))
        if progress[STOP] or time.perf_counter() > deadline:
            break
    return _Reply(played, time.perf_counter() - begun, versions())


def _play_packed(packed: bytes, problems: Mapping[str, bytes]) -> _Reply:
    """Play a batch; reply with no runs if a problem is absent."""
    from fpbandits.simulation.packing import AbsentError, unpack_batch

    try:
        cells, ranges = unpack_batch(packed, problems)
    except AbsentError:
        return _Reply([], 0.0, versions())
    return _play(cells, ranges, new_progress())


def _reply(future: Future[_Reply]) -> _Reply:
    """Return a worker's reply; raise an error if there is none, or if its versions are others."""
    try:
        reply = future.result()
    except (BrokenExecutor, CancelledError, ImportError, ConnectionError, TimeoutError) as error:
        # A worker that is shutting down, or that lacks this package, fails to import
        # `_play_packed`.
        raise _lost(error) from error
    except Exception as error:
        if type(error).__module__.startswith("distributed"):
            raise _lost(error) from error
        raise
    for name, version in versions().items():
        if reply.versions.get(name) != version:
            raise InputError(
                f"a worker has {name} {reply.versions.get(name)}, and here it is {version}: "
                "results would depend on who computes them; install the same versions everywhere"
            )
    return reply


def _lost(error: BaseException) -> LostWorkersError:
    """Return an error that says that the workers are lost, and how that showed."""
    kind = type(error).__name__
    reason = said(error, otherwise="their scheduler is gone, or someone stopped them")
    return LostWorkersError(f"the workers are lost ({kind}: {reason})")
