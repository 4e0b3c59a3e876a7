"""What one browser tab has open: a sheet, what the library read from it, and the ones before.

Parts of the page `listen` and are told of every change. They may look at `Workbook.problem`, the
last that could be read, and at `Workbook.marks`, which are at what is wrong with the sheet now.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fpbandits.errors import InputError
from fpbandits.lab.reading import Mark, read
from fpbandits.lab.sheet import Sheet, sheet_of
from fpbandits.problem.files import SIZE_LIMITS, problem_from_bytes, problem_to_toml
from fpbandits.problem.problem import Problem

LARGEST = max(SIZE_LIMITS.values())
TOO_LARGE = f"this file is larger than {LARGEST // 2**20} MiB, more than any problem file may be"

_MOST_KEPT = 100
"""How many steps back there are."""


class Workbook:
    """A sheet that is being edited; `problem` is the last good one."""

    def __init__(self, problem: Problem) -> None:
        self.sheet, self.problem = sheet_of(problem), problem
        self.marks: tuple[Mark, ...] = ()
        self._before: list[Sheet] = []
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after every change."""
        self._listeners.append(listener)

    @property
    def is_good(self) -> bool:
        """Whether the sheet as it stands is `problem`."""
        return not self.marks

    @property
    def can_undo(self) -> bool:
        """Whether there is a sheet before this one."""
        return bool(self._before)

    def change(self, sheet: Sheet) -> None:
        """Put another sheet in place of this one, which `undo` brings back."""
        if sheet == self.sheet:
            return
        self._before = [*self._before[1 - _MOST_KEPT :], self.sheet]
        self._show(sheet)

    def undo(self) -> None:
        """Bring the sheet back that was there before the last change."""
        if self._before:
            self._show(self._before.pop())

    def open(self, problem: Problem) -> None:
        """Edit another problem."""
        self.change(sheet_of(problem))

    def _show(self, sheet: Sheet) -> None:
        self.sheet = sheet
        reading = read(sheet)
        self.marks = reading.marks
        if reading.problem is not None:
            self.problem = reading.problem
        for listener in self._listeners:
            listener()

    def to_file(self) -> tuple[str, bytes]:
        """Return the name and the content of a problem file; what is marked cannot be saved."""
        if self.marks:
            raise InputError(f"not saved, because something is wrong: {self.marks[0].message}")
        return f"{file_name(self.problem.name)}.toml", problem_to_toml(self.problem).encode()


def problem_from_upload(name: str, content: bytes) -> Problem:
    """Read a problem file that came by way of the browser, or say what is wrong with it."""
    return problem_from_bytes(content, Path(Path(name).name or "problem"))


def file_name(name: str) -> str:
    """Return a problem's name as one that every file system takes."""
    kept = "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return kept.strip(".-")[:80] or "problem"
