"""What the parts of the page share: how they say what went wrong, and how they look."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nicegui import ui

from fpbandits.errors import Error

STYLE = Path(__file__).parent / "lab.css"


class Notice:
    """A line that says how things stand; it has its place also when there is nothing to say."""

    def __init__(self) -> None:
        self._line = ui.label().classes("notice").props('role="status" aria-live="polite"')

    def say(self, words: str) -> None:
        """Say how things stand."""
        self._line.classes(remove="wrong").set_text(words)

    def warn(self, words: str) -> None:
        """Say what is wrong."""
        self._line.classes(add="wrong").set_text(words)

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Say here what the library refuses in between."""
        try:
            yield
        except Error as error:
            self.warn(str(error))


def button(words: str, action: Callable[[], object], *, main: bool = False) -> ui.button:
    """Return a plain button; a ``main`` one is what most people came for."""
    made = ui.button(words, on_click=action, color="primary" if main else None)
    return made.props("no-caps unelevated" if main else "no-caps outline").classes("plain")


def heading(words: str) -> None:
    """Head a part of the page."""
    ui.html(words, tag="h2", sanitize=True)


def number_of(text: Any) -> Any:
    """Return what is written as a number, as 1000 or 1e3; else the text, for others to refuse."""
    try:
        value = float(str(text))
    except ValueError:
        return text
    return int(value) if math.isfinite(value) and value == int(value) else value
