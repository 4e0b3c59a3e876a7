"""Building blocks of the page: notices, buttons, sections, tables, choices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nicegui import ui

from fpbandits.errors import Error

STYLE = Path(__file__).parent / "lab.css"


class Notice:
    """A status line, which takes up its space even if it is empty."""

    def __init__(self) -> None:
        self._line = ui.label().classes("notice").props('role="status" aria-live="polite"')

    def say(self, words: str) -> None:
        """Show a status."""
        self._line.classes(remove="wrong").set_text(words)

    def warn(self, words: str) -> None:
        """Show a mistake."""
        self._line.classes(add="wrong").set_text(words)

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Show errors that are raised in this block."""
        try:
            yield
        except Error as error:
            self.warn(str(error))


def button(words: str, action: Callable[[], object], *, main: bool = False) -> ui.button:
    """Return a button; ``main`` makes it stand out."""
    made = ui.button(words, on_click=action, color="primary" if main else None)
    return made.props("no-caps unelevated" if main else "no-caps outline").classes("plain")


def section(title: str) -> ui.element:
    """Return a section of the page, below its heading."""
    made = ui.element("section").props(f'aria-label="{title}"')
    with made:
        ui.html(title, tag="h2", sanitize=True)
    return made


def tools() -> ui.element:
    """Return a row for buttons and fields."""
    return ui.element("div").classes("tools")


def table() -> ui.html:
    """Return an empty element for the output of `html_table`."""
    return ui.html(sanitize=False).classes("words")


def offer(choice: ui.select, options: Sequence[str] | dict[str, str], default: str | None) -> None:
    """Replace the options of a choice; its value stays if it is one of them."""
    options = options if isinstance(options, dict) else list(options)
    choice.set_options(options, value=choice.value if choice.value in options else default)


def number_of(text: Any) -> Any:
    """Return the number that a text such as 1000 or 1e3 stands for, or the text itself."""
    try:
        value = float(str(text))
    except ValueError:
        return text
    return int(value) if math.isfinite(value) and value == int(value) else value
