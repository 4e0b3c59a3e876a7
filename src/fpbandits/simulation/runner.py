"""`play_cells`: many cells together, on any executor, kept in a folder if there is one.

The way of the data::

    cells ─ missing pieces ─→ workers ─ what was played ─→ tables ─→ results, one a cell
                 ↑                            └→ checkpoint ─┘ (the next time)

`simulate`, the leaderboard, the paper's experiments and sweeps are all lists of cells.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from fpbandits.checks import whole_number
from fpbandits.errors import InputError, StorageError, counted, quote
from fpbandits.simulation.cell import Cell
from fpbandits.simulation.kernel import new_meter
from fpbandits.simulation.pieces import Played, Tables
from fpbandits.simulation.result import Result
from fpbandits.simulation.store import Checkpoint, load_cells
from fpbandits.simulation.workers import LostError, play_pieces
from fpbandits.storage import shown

Progress = Callable[[str, float, float], None]
"""Called now and then with a cell's name, the share of it that is done (1 just once, at its end),
and the share of all runs that is."""


def play_cells(
    cells: Mapping[str, Cell],
    *,
    out: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> dict[str, Result]:
    """Play all runs of all cells, and return a result for each.

    Parameters
    ----------
    cells
        What to play, by name.
    out
        A folder that keeps finished runs. If it holds some of these very cells, they are not played
        again; if it holds others, it is refused.
    workers, executor
        How many threads, by default one a core; or any executor of your own, and how many workers
        it has, which is found out if it is not said.
    progress
        Called with a cell's name, the share of it that is done, and the share of all.
    """
    if workers is not None:
        most = 4096 if executor is None else None
        workers = whole_number("workers", workers, least=1, most=most)
    if executor is not None and not isinstance(executor, Executor):
        raise InputError(f"expected an Executor of concurrent.futures, not {quote(executor)}")
    width = workers or os.cpu_count() or 1
    _check_memory(cells)
    tables = Tables(cells.values())
    with ExitStack() as stack:
        kept = None
        if out is not None:
            kept = stack.enter_context(Checkpoint(Path(out), cells))
            for played in kept.kept():
                tables.put(played)
        _play_missing(cells, tables, kept, executor, width, progress)
    return {
        name: cell.result(pulls, plans)
        for (name, cell), pulls, plans in zip(
            cells.items(), tables.pulls, tables.plans, strict=True
        )
    }


def load_results(folder: str | os.PathLike[str], *, partial: bool = False) -> dict[str, Result]:
    """Return what is kept in a folder as a result a cell, by name; nothing is computed.

    Of `simulate`, a cell is a policy. With ``partial=True``, an unfinished folder gives the runs
    that each cell has up to the first that is missing; without, it is refused.
    """
    return {
        name: cell.result(pulls, plans, made_with)
        for name, cell, pulls, plans, made_with in load_cells(Path(folder), partial)
        if len(plans)
    }


def _play_missing(
    cells: Mapping[str, Cell],
    tables: Tables,
    kept: Checkpoint | None,
    executor: Executor | None,
    width: int,
    progress: Progress | None,
) -> None:
    missing = list(tables.missing())
    if missing and kept is not None and kept.others:
        warnings.warn(
            f"{shown(kept.folder)}: what another version played is left, and played again",
            stacklevel=4,
        )
    watch = _Watch(cells, [int((plans > 0).sum()) for plans in tables.plans], progress)
    _warn_if_long([(watch.cells[piece.cell], piece.runs) for piece in missing], width)

    def took(played: Played) -> None:
        tables.put(played)
        if kept is not None:
            kept.add(played)
        watch.took(played)

    def tick(under_way: Mapping[int, float]) -> None:
        if kept is not None:
            kept.write_if_due()
        watch.tick(under_way)

    with _pool(executor, width) as pool:
        try:
            play_pieces(watch.cells, missing, pool, width, took=took, tick=tick)
        except BaseException as error:
            if kept is not None:
                with suppress(StorageError):  # the disk may be what failed
                    kept.write()
                if isinstance(error, LostError):
                    raise InputError(
                        f"{error}; finished runs are kept in {shown(kept.folder)}, and the same "
                        "question goes on from there"
                    ) from error
            raise
    if kept is not None:
        kept.write()


class _Watch:
    """Counts finished runs, tells whoever wants to know, and warns of what will take long."""

    def __init__(
        self, cells: Mapping[str, Cell], done: list[int], progress: Progress | None
    ) -> None:
        self.names, self.cells = list(cells), list(cells.values())
        self._done, self._progress = done, progress
        self._changed: dict[int, None] = {}
        self._total, self._sum = sum(cell.runs for cell in self.cells), sum(done)
        self._begun, self._first, self._said = math.inf, float(self._sum), False
        if progress:
            for number, cell in enumerate(self.cells):
                if done[number]:
                    share = done[number] / cell.runs
                    progress(self.names[number], share, self._sum / self._total)

    def took(self, played: Played) -> None:
        number, runs = played.piece.cell, played.piece.runs
        self._done[number] += runs
        self._sum += runs
        self._changed[number] = None

    def tick(self, under_way: Mapping[int, float]) -> None:
        done = float(self._sum + sum(under_way.values()))
        if self._progress:
            for number in self._changed | dict.fromkeys(under_way):
                runs = self.cells[number].runs
                share = (self._done[number] + under_way.get(number, 0.0)) / runs
                if self._done[number] < runs:
                    share = min(float(share), 1 - 1e-9)  # 1 is for the end
                self._progress(self.names[number], share, min(done / self._total, 1.0))
        self._changed.clear()
        # Some problems leave little to leap over, which shows only once they are under way; before
        # that, a policy may have to be compiled.
        if self._begun == math.inf and done > self._first:
            self._begun, self._first = time.perf_counter(), done
        spent = time.perf_counter() - self._begun
        if spent > 30 and done > self._first and not self._said:
            self._said = True
            left = spent * (self._total - done) / (done - self._first)
            _say_if_long(f"{counted(self._total, 'run')} at the pace so far", left)


@contextmanager
def _pool(executor: Executor | None, width: int) -> Iterator[Executor]:
    if executor is not None:
        yield executor
        return
    with ThreadPoolExecutor(width) as pool:
        yield pool


def _warn_if_long(missing: Iterable[tuple[Cell, int]], width: int) -> None:
    """Measure a short run of each policy, and say so if all, step by step, take an hour or more."""
    slow: dict[str, list[tuple[Cell, int]]] = {}
    for cell, runs in missing:
        if not cell.leaps:
            slow.setdefault(str(cell.policy), []).append((cell, runs))
    for name, parts in slow.items():
        steps = sum(cell.horizon * runs for cell, runs in parts)
        if steps < 10**9:
            continue
        cell = parts[0][0]
        # The first run may have to load or compile the policy.
        replace(cell, times=np.array([1])).play(range(1), new_meter())
        sample, seconds = 500, 0.0
        while seconds < 0.02 and sample < min(cell.horizon, 10**5):
            sample *= 2
            trial = replace(cell, times=np.array([sample]))
            start = time.perf_counter()
            trial.play(range(1), new_meter())
            seconds = time.perf_counter() - start
        _say_if_long(
            f"{name} goes step by step here, {steps:.3g} steps in all",
            seconds / sample * steps / width,
        )


def _say_if_long(what: str, seconds: float) -> None:
    if seconds > 3600:
        warnings.warn(f"{what}: about {_duration(seconds)}", stacklevel=4)


def _duration(seconds: float) -> str:
    for unit, size in (("years", 365.25 * 86400), ("days", 86400), ("hours", 3600)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds / 3600:.1f} hours"


def _check_memory(cells: Mapping[str, Cell]) -> None:
    runs = sum(cell.runs for cell in cells.values())
    needed = 8 * sum(
        cell.runs * len(cell.times) * len(cell.problem.arms) for cell in cells.values()
    )
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > 0.7 * available:
        raise InputError(
            f"{runs:,} runs take {needed / 2**30:,.0f} GiB and this machine has "
            f"{available / 2**30:,.0f}: ask for fewer runs or times"
        )
