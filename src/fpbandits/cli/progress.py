"""Progress bars, notes and interruption by Ctrl-C, all on standard error."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypedDict

from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn, track

from fpbandits.cli.output import new_console
from fpbandits.engine.compilations import compilations
from fpbandits.errors import InputError
from fpbandits.report.figures import check_drawing
from fpbandits.simulation.cluster import dask_executor


class How(TypedDict):
    """Keyword arguments of the library's long-running functions."""

    workers: int | None
    executor: Executor | None
    progress: Callable[[str, float, float], None]


@contextmanager
def playing(
    out: Path | None = None,
    workers: int | None = None,
    dask: str | None = None,
    *,
    titles: Mapping[str, str] | None = None,
    notes: Iterable[str] = (),
) -> Iterator[How]:
    """Provide a progress bar and workers for a long-running function, as its keyword arguments.

    Notes are printed when the work begins, so that an error in arguments is the only line. Warnings
    are printed as notes, too. On Ctrl-C, a line says that finished runs are kept in ``out``.
    """
    if workers is not None and dask is not None:
        raise InputError("--workers counts threads here, and --dask has workers of its own")
    if out is not None:  # figures will be written there
        check_drawing()
    with ExitStack() as stack:
        bar = stack.enter_context(Bar(titles or {}))
        if not bar.disable:
            stack.enter_context(compilations(bar.compiling))
        how: How = {"workers": workers, "executor": None, "progress": bar.show}
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *others: bar.say(f"note: {message}")
        if dask is not None:
            how["executor"] = stack.enter_context(dask_executor(dask))
        bar.notes = [f"note: {note}" for note in notes]
        try:
            yield how
            bar.say_notes()
        except KeyboardInterrupt:
            if out is not None:
                bar.say(
                    f"interrupted at {bar.share:.0%}: finished runs are kept in {out}, and the "
                    "same command goes on from there"
                )
            raise


class Bar(Progress):
    """A progress bar on a terminal; elsewhere, a line for each finished task in ``titles``."""

    def __init__(self, titles: Mapping[str, str]) -> None:
        columns = BarColumn(20), TextColumn("{task.description}"), TimeRemainingColumn()
        console = new_console(stderr=True)
        super().__init__(*columns, console=console, transient=True, disable=not console.is_terminal)
        # Without a total the bar pulses.
        self._task, self._titles = self.add_task("starting …", total=None), titles
        self.share, self._finished, self._compiling = 0.0, 0, 0
        self.notes: list[str] = []

    def show(self, name: str, share: float, share_of_all: float) -> None:
        """Show the progress of a task; ``share`` is 1 once, when the task is finished."""
        self.say_notes()
        title = self._titles.get(name, name)
        self.share = share_of_all
        if share_of_all > 0:
            self.update(self._task, total=1.0, completed=share_of_all)
        if not self._compiling:
            self.update(self._task, description=escape(title))
        if share == 1 and self._titles and self.disable:
            self._finished += 1
            self.say(f"{self._finished} of {len(self._titles)}  {title}")

    def compiling(self, more: int) -> None:
        """Show that a policy is being compiled, until every compilation has ended."""
        self._compiling += more
        words = "compiling … (for the first time only)" if self._compiling else "playing …"
        self.update(self._task, description=words)

    def say_notes(self) -> None:
        """Print the notes, once."""
        while self.notes:
            self.say(self.notes.pop(0))

    def say(self, remark: str) -> None:
        """Print a line above the bar."""
        self.console.print(remark, markup=False, emoji=False, highlight=False, soft_wrap=True)


def track_cases(cases: Iterable[int]) -> Iterable[int]:
    """Show a progress bar while iterating over the cases of an analysis."""
    console = new_console(stderr=True)
    hidden = not console.is_terminal
    return track(cases, "analyzing", console=console, transient=True, disable=hidden)
