"""What the parts of the page share: notices, buttons, choices, and how they look."""

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
    """A status line; its space stays reserved while it is empty."""

    def __init__(self) -> None:
        self._line = ui.label().classes("notice").props('role="status" aria-live="polite"')

    def say(self, words: str) -> None:
        """Show the status."""
        self._line.classes(remove="wrong").set_text(words)

    def warn(self, words: str) -> None:
        """Show what is wrong."""
        self._line.classes(add="wrong").set_text(words)

    @contextmanager
    def refusals(self) -> Iterator[None]:
        """Show the library's errors in this block here."""
        try:
            yield
        except Error as error:
            self.warn(str(error))


def button(words: str, action: Callable[[], object], *, main: bool = False) -> ui.button:
    """Return a button; the ``main`` one of a part stands out."""
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
    """Return an empty element for a table of `html_table`, which escapes names."""
    return ui.html(sanitize=False).classes("words")


def offer(choice: ui.select, options: Sequence[str] | dict[str, str], default: str | None) -> None:
    """Offer other options; the value stays if it is one of them."""
    options = options if isinstance(options, dict) else list(options)
    choice.set_options(options, value=choice.value if choice.value in options else default)


def number_of(text: Any) -> Any:
    """Return the number in a text such as 1000 or 1e3, or the text itself if it holds none."""
    try:
        value = float(str(text))
    except ValueError:
        return text
    return int(value) if math.isfinite(value) and value == int(value) else value
