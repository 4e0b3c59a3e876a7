"""`play_cells`: many cells together, on any executor, kept in a folder if there is one.

How the data flows::

    cells ─ missing runs ─→ workers ─ finished runs ─→ tables ─→ results, one per cell
                 ↑                          └→ store ─┘ (the next time)

`simulate`, the leaderboard, the paper's experiments and sweeps are all lists of cells.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Protocol

from fpbandits.core.checks import checked_path, whole_number
from fpbandits.core.storage import shown
from fpbandits.errors import InputError, LostWorkersError, StorageError, quote
from fpbandits.simulation.cell import Cell
from fpbandits.simulation.result import Result
from fpbandits.simulation.store import MOST_FRESH, Store
from fpbandits.simulation.workers import MOST_OUT, Played, Tables, play_ranges

ON_THE_WAY = MOST_OUT + 2 * MOST_FRESH
"""Bytes, at the most, of copies of runs that are with workers or about to be written."""


class Progress(Protocol):
    """A function that is told how far the work is, at most several times a second."""

    def __call__(self, name: str, share: float, share_of_all: float, /) -> None:
        """Take a cell's name, the share of its runs that is done, and that of all runs.

        A cell's own share is 1 just once, at its end; the share of all never falls.
        """


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
        How many threads, by default one per core; or any executor of your own, and how many workers
        it has, by default what it says itself (pools and Dask do), else one per core here.
    progress
        Is told how far the work is.
    """
    if workers is not None:
        most = 4096 if executor is None else None
        workers = whole_number("workers", workers, least=1, most=most)
    if executor is not None and not isinstance(executor, Executor):
        raise InputError(f"expected an Executor of concurrent.futures, not {quote(executor)}")
    if isinstance(out, str) and not out:
        raise InputError("out is an empty text: name a folder")
    shapes = [(cell.spec.runs, len(cell.spec.times), cell.columns) for cell in cells.values()]
    check_memory(shapes)
    tables = Tables(shapes)
    with ExitStack() as stack:
        store = None
        if out is not None:
            store = stack.enter_context(Store(checked_path(out), cells))
            store.fill(tables)
        if executor is None:
            executor = stack.enter_context(ThreadPoolExecutor(workers or os.cpu_count() or 1))
        _play_missing(cells, tables, store, executor, workers, progress)
    return {
        name: cell.result(pulls, plans)
        for (name, cell), pulls, plans in zip(
            cells.items(), tables.pulls, tables.plans, strict=True
        )
    }


def _play_missing(
    cells: Mapping[str, Cell],
    tables: Tables,
    store: Store | None,
    executor: Executor,
    workers: int | None,
    progress: Progress | None,
) -> None:
    """Play the runs that tables lack, and put them there and into the store."""
    missing = list(tables.missing())
    if missing and store is not None and store.has_other_versions:
        warnings.warn(
            f"{shown(store.folder)}: runs of another version are left alone, and played again",
            stacklevel=4,
        )
    watch = _Watch(
        cells, [int(tables.are_played(number).sum()) for number in range(len(cells))], progress
    )

    def took(played: Played) -> None:
        tables.put(played)
        if store is not None:
            store.add(played)
        watch.took(played)

    def tick(under_way: Mapping[int, float]) -> None:
        if store is not None:
            store.write_if_due()
        watch.tick(under_way)

    try:
        play_ranges(list(cells.values()), missing, executor, workers, on_played=took, tick=tick)
    except BaseException as error:
        if store is not None:
            with suppress(StorageError):  # the disk may be what failed
                store.write()
            if isinstance(error, LostWorkersError):
                raise LostWorkersError(
                    f"{error.reason}; finished runs are kept in {shown(store.folder)}, and the "
                    "same command goes on from there"
                ) from error
        raise
    if store is not None:
        store.write()


class _Watch:
    """Counts finished runs, and reports progress."""

    def __init__(
        self, cells: Mapping[str, Cell], done: list[int], progress: Progress | None
    ) -> None:
        self._names, self._runs = list(cells), [cell.spec.runs for cell in cells.values()]
        self._done, self._progress = done, progress
        self._changed = {number for number, runs in enumerate(done) if runs}
        self._sum, self._total = sum(done), sum(self._runs)
        self.tick({})

    def took(self, played: Played) -> None:
        """Count runs that came back."""
        self._done[played.runs.cell] += played.runs.size
        self._sum += played.runs.size
        self._changed.add(played.runs.cell)

    def tick(self, under_way: Mapping[int, float]) -> None:
        """Report all cells that have changed; ``under_way`` are runs in progress, by cell."""
        if self._progress:
            share_of_all = (self._sum + sum(under_way.values())) / self._total
            for number in sorted(self._changed | under_way.keys()):
                done, runs = self._done[number], self._runs[number]
                share = (done + float(under_way.get(number, 0.0))) / runs
                share = share if done == runs else min(share, 1 - 1e-9)  # 1 is for the end
                self._progress(self._names[number], share, min(float(share_of_all), 1.0))
        self._changed.clear()


_AT_WORK = 2**26
"""Bytes for drawing, for compressing, and that the heap does not give back."""


def memory_needed(shapes: Sequence[tuple[int, int, int]]) -> int:
    """Return how many bytes it takes to play and show cells, given their runs, times and arms.

    Besides the tables there are runs on their way into them; once the tables are full, the regret
    of one policy at a time, thrice, for its spread and its quantiles; the plans of each run, and
    its final regret in JSON, 100 bytes; and something for the work itself.
    """
    tables = 8 * sum(map(math.prod, shapes))
    regret = 8 * max((runs * times for runs, times, _ in shapes), default=0)
    by_run = 100 * sum(runs for runs, *_ in shapes)
    return tables + min(tables, ON_THE_WAY) + 3 * regret + by_run + _AT_WORK


def check_memory(shapes: Sequence[tuple[int, int, int]]) -> None:
    """Refuse cells, given their runs, times and pairs, that memory does not hold."""
    needed = memory_needed(shapes)
    try:
        available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # unknown here, as on Windows
        return
    if needed > 0.8 * available:
        raise InputError(
            f"{sum(runs for runs, *_ in shapes):,} runs take {needed / 2**30:,.0f} GiB and this "
            f"machine has {available / 2**30:,.0f}: ask for fewer runs or times"
        )
