"""The session of one browser tab: its sheet, the problem read from it, and the undo steps.

Parts of the page `listen` for changes, and read `Session.problem`, the last valid problem, and
`Session.marks`, the mistakes in the present sheet.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fpbandits.errors import InputError
from fpbandits.lab.reading import read
from fpbandits.lab.sheet import Sheet, sheet_of
from fpbandits.problem.files import SIZE_LIMITS, problem_from_bytes, problem_to_toml
from fpbandits.problem.problem import Problem

LARGEST = max(SIZE_LIMITS.values())
"""Bytes of the largest file that can be uploaded."""

TOO_LARGE = f"this file is larger than {LARGEST // 2**20} MiB, more than any problem file may be"
"""What is said of a larger one."""

LAST_VALID = "This is for the last table without mistakes."
"""What is said of a result if the sheet has mistakes."""

_MOST_UNDO_STEPS = 100
"""The number of changes that can be undone."""


class Session:
    """The sheet of a browser tab, its mistakes, and the last valid problem.

    Parameters
    ----------
    problem
        The last valid problem.
    sheet
        The sheet, by default that of the problem; it may have mistakes.
    """

    def __init__(self, problem: Problem, sheet: Sheet | None = None) -> None:
        self.sheet, self.problem = sheet or sheet_of(problem), problem
        self.marks = () if sheet is None else read(sheet).marks
        self._undo_steps: list[Sheet] = []
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after every change."""
        self._listeners.append(listener)

    @property
    def can_undo(self) -> bool:
        """Whether there is a change to undo."""
        return bool(self._undo_steps)

    def change(self, sheet: Sheet) -> None:
        """Replace the sheet; `undo` restores the old one."""
        if sheet == self.sheet:
            return
        self._undo_steps = [*self._undo_steps[1 - _MOST_UNDO_STEPS :], self.sheet]
        self._set(sheet)

    def undo(self) -> None:
        """Undo the last change, if there is one."""
        if self._undo_steps:
            self._set(self._undo_steps.pop())

    def _set(self, sheet: Sheet) -> None:
        """Read a sheet, and call the listeners."""
        self.sheet = sheet
        problem, self.marks = read(sheet)
        self.problem = problem or self.problem
        for listener in self._listeners:
            listener()

    def difference(self, problem: Problem) -> str:
        """Return how the problem of a result differs from the sheet; "" if it does not."""
        if problem != self.problem:
            return "The models have changed since this was computed."
        return LAST_VALID if self.marks else ""

    def to_file(self) -> tuple[str, bytes]:
        """Return the name and the content of a problem file, or raise an error on mistakes."""
        if self.marks:
            raise InputError(f"not saved, because something is wrong: {self.marks[0].message}")
        return f"{file_name(self.problem.name)}.toml", problem_to_toml(self.problem).encode()


def problem_from_upload(name: str, content: bytes) -> Problem:
    """Read a problem file that a browser has uploaded."""
    return problem_from_bytes(content, Path(Path(name).name or "problem"))


def file_name(name: str) -> str:
    """Return a problem's name as a valid file name."""
    letters = (letter if letter.isalnum() or letter in "-_." else "-" for letter in name)
    return "".join(letters).strip(".-")[:80] or "problem"
