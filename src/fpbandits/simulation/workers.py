"""Runs go out to an executor in batches, and come back.

A *piece* is some runs of one cell; a *batch* is some pieces that go out to a worker together. How
long a run takes is not known beforehand, and may differ a millionfold between cells. So a batch
takes a share of all that is left, and whoever plays it stops after about `SECONDS` and returns what
is done; the rest goes back into the queue. That keeps every worker busy to the end, whatever the
cells are, and a lost worker costs a second or two. Twice as many batches are out as there are
workers, so that no one waits for us.
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
from fpbandits.errors import InputError, LostWorkersError
from fpbandits.simulation.cell import Cell
from fpbandits.simulation.cluster import dask_workers
from fpbandits.simulation.kernel import END, RUNS, STOP, TIME, new_meter
from fpbandits.simulation.versions import versions

SECONDS = 1.0
"""After so long a worker begins no other run of its batch."""

MOST_OUT = 2**28
"""About so many bytes of runs are out with workers at the most."""

_LEAST_SECONDS = 0.05
_MOST_BYTES = 2**26
_COUNT_EVERY = 5.0


class Piece(NamedTuple):
    """The runs from ``start`` up to ``stop`` of a cell, by its number."""

    cell: int
    start: int
    stop: int

    @property
    def runs(self) -> int:
        """How many runs these are."""
        return self.stop - self.start


class Played(NamedTuple):
    """What came of a piece: pulls[run, time, arm] and plans[run]."""

    piece: Piece
    pulls: Counts
    plans: Counts


class Tables:
    """Counts of all runs of some cells: pulls[cell][run, time, arm] and plans[cell][run].

    They are made from the cells' numbers of runs, times and arms.
    """

    def __init__(self, shapes: Iterable[tuple[int, int, int]]) -> None:
        self.pulls = [np.zeros(shape, np.int64) for shape in shapes]
        self.plans = [np.zeros(len(pulls), np.int64) for pulls in self.pulls]
        self.total = sum(map(len, self.plans))

    def put(self, played: Played) -> None:
        """Put runs in their place; those beyond what is asked for are left out."""
        number, start, stop = played.piece
        room = max(len(self.plans[number]) - start, 0)
        self.pulls[number][start:stop] = played.pulls[:room]
        self.plans[number][start:stop] = played.plans[:room]

    def is_played(self, number: int) -> Bools:
        """Tell which runs of a cell have been put in: a run takes a plan at least."""
        played: Bools = self.plans[number] > 0
        return played

    def missing(self) -> Iterator[Piece]:
        """Yield the pieces that have not been put in."""
        for number, plans in enumerate(self.plans):
            if plans.all():
                continue
            edges = np.flatnonzero(np.diff(~self.is_played(number), prepend=False, append=False))
            for start, stop in edges.reshape(-1, 2).tolist():
                yield Piece(number, start, stop)


class _Reply(NamedTuple):
    played: list[Played]
    seconds: float
    versions: dict[str, str]


@dataclass
class _Batch:
    pieces: list[Piece]
    meter: Counts = field(default_factory=new_meter)


def play_pieces(
    cells: Sequence[Cell],
    pieces: Iterable[Piece],
    executor: Executor,
    workers: int | None = None,
    *,
    took: Callable[[Played], None],
    tick: Callable[[Mapping[int, float]], None],
) -> None:
    """Have all pieces played, on so many workers, or as many as the executor says that it has.

    ``took`` is called with what came back, and ``tick``, several times a second, with the runs of
    each cell that are under way, as far as they have come: where workers share our memory.
    """
    queue = deque(pieces)
    left = sum(piece.runs for piece in queue)
    shares_memory = isinstance(executor, ThreadPoolExecutor)
    window, counted, seconds_per_run, with_large_problems = 0, -math.inf, 0.0, False
    sent: dict[Future[_Reply], _Batch] = {}
    try:
        while queue or sent:
            if time.perf_counter() - counted > _COUNT_EVERY:  # a cluster may grow
                window, counted = 2 * (workers or _count_workers(executor)), time.perf_counter()
            while queue and len(sent) < window:
                # At least so long that it is worth the way, but no more than one's share.
                runs = max(
                    left / (2 * window), _LEAST_SECONDS / seconds_per_run if seconds_per_run else 1
                )
                runs = max(1, int(min(runs, left / window)))
                room = min(_MOST_BYTES, MOST_OUT // window)
                batch = _Batch(_cut(queue, cells, runs, room))
                left -= sum(piece.runs for piece in batch.pieces)
                sent[_send(batch, cells, executor, shares_memory, with_large_problems)] = batch
                with_large_problems = False
            finished, _ = wait(sent, timeout=0.1, return_when=FIRST_COMPLETED)
            failure: Exception | None = None
            for future in finished:
                batch = sent.pop(future)
                try:
                    reply = _reply(future)
                except Exception as error:  # after the others, whose work is done
                    failure = error
                    continue
                rest = _rest(batch.pieces, reply.played)
                queue.extendleft(reversed(rest))
                left += sum(piece.runs for piece in rest)
                if not reply.played:  # a large problem was absent there: send it with the next one
                    with_large_problems = True
                    continue
                seconds_per_run = reply.seconds / sum(each.piece.runs for each in reply.played)
                for each in reply.played:
                    took(each)
            if failure is not None:
                raise failure
            tick(_under_way(sent.values()) if shares_memory else {})
    except BaseException:
        for future, batch in sent.items():
            batch.meter[STOP] = 1
            future.cancel()
        raise


def _count_workers(executor: Executor) -> int:
    """Return how many workers a executor says that it has; else as many as there are cores here."""
    told: int | None = getattr(executor, "_max_workers", None)
    return told or dask_workers(executor) or os.cpu_count() or 1


def _cut(queue: deque[Piece], cells: Sequence[Cell], runs: int, room: int) -> list[Piece]:
    """Take so many runs from the queue, or fewer where they would take more bytes than ``room``."""
    pieces: list[Piece] = []
    while queue and runs > 0 and room > 0:
        cell, start, stop = queue.popleft()
        size = 8 * len(cells[cell].times) * cells[cell].problem.pairs
        taken = min(runs, stop - start, math.ceil(room / size))
        pieces.append(Piece(cell, start, start + taken))
        if start + taken < stop:
            queue.appendleft(Piece(cell, start + taken, stop))
        runs -= taken
        room -= taken * size
    return pieces


def _rest(pieces: Sequence[Piece], played: Sequence[Played]) -> list[Piece]:
    """Return what was not played of the pieces, which are played in order."""
    rest = list(pieces)
    for place, each in enumerate(played):
        rest[place] = pieces[place]._replace(start=each.piece.stop)
    return [piece for piece in rest if piece.runs > 0]


def _under_way(batches: Iterable[_Batch]) -> dict[int, float]:
    found: dict[int, float] = {}
    for batch in batches:
        done = batch.meter[RUNS] + batch.meter[TIME] / max(batch.meter[END], 1)
        for piece in batch.pieces:
            if done <= 0:
                break
            found[piece.cell] = found.get(piece.cell, 0.0) + min(done, piece.runs)
            done -= piece.runs
    return found


def _send(
    batch: _Batch,
    cells: Sequence[Cell],
    executor: Executor,
    shares_memory: bool,
    with_large_problems: bool,
) -> Future[_Reply]:
    wanted = {piece.cell: cells[piece.cell] for piece in batch.pieces}
    if shares_memory:
        return executor.submit(_play, wanted, batch.pieces, batch.meter)
    from fpbandits.simulation.packing import pack_batch

    packed = pack_batch(wanted, batch.pieces, with_large_problems)
    try:
        return executor.submit(_play_packed, *packed)
    except RuntimeError as error:  # broken, or shut down
        raise _lost(error) from error


def _play(cells: Mapping[int, Cell], pieces: Iterable[Piece], meter: Counts) -> _Reply:
    """Play pieces in order until the time is over; at least one run."""
    begun = time.perf_counter()
    deadline = begun + SECONDS
    played = []
    for piece in pieces:
        pulls, plans = cells[piece.cell].play(range(piece.start, piece.stop), meter, deadline)
        if len(plans):
            done = Piece(piece.cell, piece.start, piece.start + len(plans))
            played.append(Played(done, pulls, plans))
        if meter[STOP] or time.perf_counter() > deadline:
            break
    return _Reply(played, time.perf_counter() - begun, versions())


def _play_packed(packed: bytes, problems: Mapping[str, bytes]) -> _Reply:
    """Play a batch; nothing comes of it if a problem is absent."""
    from fpbandits.simulation.packing import AbsentError, unpack_batch

    try:
        cells, pieces = unpack_batch(packed, problems)
    except AbsentError:
        return _Reply([], 0.0, versions())
    return _play(cells, pieces, new_meter())


def _reply(future: Future[_Reply]) -> _Reply:
    """Return what a worker found, or say why there is nothing."""
    try:
        reply = future.result()
    except (BrokenExecutor, CancelledError, ImportError, ConnectionError, TimeoutError) as error:
        raise _lost(error) from error
    except Exception as error:
        if type(error).__module__.startswith("distributed"):
            raise _lost(error) from error
        raise
    for what, version in versions().items():
        if reply.versions.get(what) != version:
            raise InputError(
                f"a worker has {what} {reply.versions.get(what)}, and here it is {version}: "
                "results would depend on who computes them; install the same versions everywhere"
            )
    return reply


def _lost(error: BaseException) -> LostWorkersError:
    reason = " ".join(str(error).split()) or "their scheduler is gone, or someone stopped them"
    return LostWorkersError(f"the workers are lost ({type(error).__name__}: {reason[:200]})")
