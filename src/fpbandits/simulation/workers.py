"""Runs go out to an executor in chunks, and come back.

A *piece* is some runs of a cell, and a *chunk* some pieces that go out together. How long a run
takes is not known beforehand, and may differ a millionfold between cells. So a chunk takes a share
of all that is left, and whoever plays it stops after about `SECONDS` and returns what is done; the
rest goes back into the queue. That keeps every worker busy to the end, whatever the cells are, and
a lost worker costs a second or two.

How many workers an executor has may not be known either, and on a cluster it changes. So it is
found out: a chunk that went out as the n-th and came back at once was on one of n workers or more;
one that took k times as long to come back as to play was on one of n/k or so (Little's law). Twice
as many chunks are out, so that no one waits for us.
"""

from __future__ import annotations

import io
import math
import pickle
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

from fpbandits.arrays import Counts
from fpbandits.errors import InputError
from fpbandits.problem import Problem
from fpbandits.simulation.cell import Cell
from fpbandits.simulation.kernel import END, RUNS, STOP, TIME, new_meter
from fpbandits.simulation.pieces import Piece, Played
from fpbandits.simulation.result import versions

SECONDS = 1.0
"""After so long a worker begins no other run of its chunk."""

_LEAST_SECONDS = 0.05
_MOST_BYTES = 2**26
_LARGE = 2**17
_MOST_KNOWN = 64


class LostError(InputError):
    """Whoever was to play is gone; what came back before is not."""


class _Reply(NamedTuple):
    played: list[Played]
    seconds: float
    versions: dict[str, str]


@dataclass
class _Chunk:
    pieces: list[Piece]
    sent: float
    rank: int
    meter: Counts = field(default_factory=new_meter)


def play_pieces(
    cells: Sequence[Cell],
    pieces: Iterable[Piece],
    pool: Executor,
    width: int,
    *,
    took: Callable[[Played], None],
    tick: Callable[[Mapping[int, float]], None],
) -> None:
    """Have all pieces played, on some ``width`` workers to begin with.

    ``took`` is called with what came back, and ``tick``, several times a second, with the runs of
    each cell that are under way, as far as they have come: where workers share our memory.
    """
    queue = deque(pieces)
    left = sum(piece.runs for piece in queue)
    ours = isinstance(pool, ThreadPoolExecutor)
    window, pace, whole = 2.0 * width, 0.0, False
    out: dict[Future[_Reply], _Chunk] = {}
    try:
        while queue or out:
            while queue and len(out) < window:
                # At least so long that it is worth the way, but no more than one's share.
                runs = max(left / (2 * window), _LEAST_SECONDS / pace if pace else 1)
                runs = max(1, int(min(runs, left / window)))
                chunk = _Chunk(_cut(queue, cells, runs), time.perf_counter(), len(out) + 1)
                left -= sum(piece.runs for piece in chunk.pieces)
                out[_send(chunk, cells, pool, ours, whole)] = chunk
                whole = False
            finished, _ = wait(out, timeout=0.1, return_when=FIRST_COMPLETED)
            failure: Exception | None = None
            for future in finished:
                chunk = out.pop(future)
                try:
                    reply = _reply(future)
                except Exception as error:  # after the others, whose work is done
                    failure = error
                    continue
                rest = _rest(chunk.pieces, reply.played)
                queue.extendleft(reversed(rest))
                left += sum(piece.runs for piece in rest)
                if not reply.played:
                    whole = True
                    continue
                pace = reply.seconds / sum(each.piece.runs for each in reply.played)
                absent = max(time.perf_counter() - chunk.sent, reply.seconds)
                found = chunk.rank * reply.seconds / absent
                wanted = 3 * found if absent < 1.5 * reply.seconds else 2 * found
                window = max(2.0 * width, wanted, 0.99 * window)
                for each in reply.played:
                    took(each)
            if failure is not None:
                raise failure
            tick(_under_way(out.values()) if ours else {})
    except BaseException:
        for future, chunk in out.items():
            chunk.meter[STOP] = 1
            future.cancel()
        raise


def _cut(queue: deque[Piece], cells: Sequence[Cell], runs: int) -> list[Piece]:
    """Take so many runs from the queue, or fewer where they would not fit into a chunk."""
    pieces: list[Piece] = []
    room = float(_MOST_BYTES)
    while queue and runs > 0 and room > 0:
        cell, start, stop = queue.popleft()
        size = 8 * len(cells[cell].times) * len(cells[cell].problem.arms)
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


def _under_way(chunks: Iterable[_Chunk]) -> dict[int, float]:
    found: dict[int, float] = {}
    for chunk in chunks:
        done = chunk.meter[RUNS] + chunk.meter[TIME] / max(chunk.meter[END], 1)
        for piece in chunk.pieces:
            if done <= 0:
                break
            found[piece.cell] = found.get(piece.cell, 0.0) + min(done, piece.runs)
            done -= piece.runs
    return found


def _send(
    chunk: _Chunk, cells: Sequence[Cell], pool: Executor, ours: bool, whole: bool
) -> Future[_Reply]:
    wanted = {piece.cell: cells[piece.cell] for piece in chunk.pieces}
    if ours:
        return pool.submit(_play, wanted, chunk.pieces, chunk.meter)
    packed = _pack(wanted, chunk.pieces, whole)
    try:
        return pool.submit(_play_packed, *packed)
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


def _lost(error: BaseException) -> LostError:
    reason = " ".join(str(error).split()) or "their scheduler is gone, or someone stopped them"
    return LostError(f"the workers are lost ({type(error).__name__}: {reason[:200]})")


# Workers that do not share our memory get a chunk as bytes. A problem may be large, and chunks are
# many: it is packed once here and unpacked once there, and a large one is sent only to workers who
# have answered that they lack it.


class _AbsentError(Exception):
    """A problem was neither sent nor known from before."""


class _Pickler(pickle.Pickler):
    problems: dict[str, Problem]

    def persistent_id(self, value: object) -> str | None:
        if not isinstance(value, Problem):
            return None
        self.problems[value.fingerprint] = value
        return value.fingerprint


class _Unpickler(pickle.Unpickler):
    problems: Mapping[str, bytes]

    def persistent_load(self, fingerprint: str) -> Problem:
        with _one_at_a_time:
            if fingerprint not in _known:
                if fingerprint not in self.problems:
                    raise _AbsentError
                while len(_known) >= _MOST_KNOWN:
                    del _known[next(iter(_known))]
                _known[fingerprint] = pickle.loads(self.problems[fingerprint])
            return _known[fingerprint]


_known: dict[str, Problem] = {}
_one_at_a_time = Lock()


@lru_cache(maxsize=_MOST_KNOWN)
def _packed(problem: Problem) -> bytes:
    return pickle.dumps(problem)


def _pack(
    cells: Mapping[int, Cell], pieces: Sequence[Piece], whole: bool
) -> tuple[bytes, Mapping[str, bytes]]:
    """Pack a chunk and its problems, the large ones only if it is to be ``whole``."""
    stream = io.BytesIO()
    pickler = _Pickler(stream)
    pickler.problems = {}
    pickler.dump((cells, pieces))
    problems = {name: _packed(problem) for name, problem in pickler.problems.items()}
    sent = {name: packed for name, packed in problems.items() if whole or len(packed) <= _LARGE}
    return stream.getvalue(), sent


def _play_packed(packed: bytes, problems: Mapping[str, bytes]) -> _Reply:
    """Play a chunk; nothing comes of it if a problem is absent."""
    unpickler = _Unpickler(io.BytesIO(packed))
    unpickler.problems = problems
    try:
        cells, pieces = unpickler.load()
    except _AbsentError:
        return _Reply([], 0.0, versions())
    except (AttributeError, ImportError) as error:
        raise InputError(
            f"a worker cannot load the policy ({error}): it must be importable there, from a module"
        ) from None
    return _play(cells, pieces, new_meter())
