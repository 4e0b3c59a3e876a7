"""Building blocks of the page: notices, buttons, sections, tables, choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from nicegui import ui

from fpbandits.errors import Error
from fpbandits.lab.reading import parse_number
from fpbandits.lab.tasks import Stop

STYLE = Path(__file__).parent / "lab.css"
"""The style sheet of the page."""


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
        """If an `Error` ends this block, show it with `warn`, and go on after the block."""
        try:
            yield
        except Error as error:
            self.warn(str(error))


def button(words: str, action: Callable[[], object], *, main: bool = False) -> ui.button:
    """Return a button; ``main`` makes it stand out."""
    element = ui.button(words, on_click=action, color="primary" if main else None)
    return element.props("no-caps unelevated" if main else "no-caps outline").classes("plain")


def section(title: str) -> ui.element:
    """Return a section of the page, which begins with its heading."""
    element = ui.element("section").props(f'aria-label="{title}"')
    with element:
        ui.html(title, tag="h2")
    return element


def tools() -> ui.element:
    """Return a row for buttons and fields."""
    return ui.element("div").classes("tools")


class StartAndStop:
    """A button that starts some work, one that stops it, and a bar that shows its progress.

    Parameters
    ----------
    label
        The text of the button that starts the work.
    start
        What that button does: an async function that awaits the work in a block `running`.
    show_progress
        Called several times per second, to find how far the work is and call `show`.
    bar
        What the bar shows, for screen readers.
    """

    def __init__(
        self, label: str, start: Callable[[], object], show_progress: Callable[[], None], bar: str
    ) -> None:
        self._event: Stop | None = None
        self._show_progress = show_progress
        with tools():
            self._start = button(label, start, main=True)
            self._stop = button("Stop", self.stop)
        self._stop.set_enabled(False)
        self._bar = ui.linear_progress(show_value=False)
        self._bar.props(f'instant-feedback aria-label="{bar}"')
        self._timer = ui.timer(0.2, self._tick, active=False)
        ui.context.client.on_delete(self.stop)

    @contextmanager
    def running(self, event: Stop) -> Iterator[None]:
        """Show progress while the block runs; the button *Stop* sets the event."""
        self._event = event
        self._start.set_enabled(False)
        self._stop.set_enabled(True)
        self._timer.activate()
        try:
            yield
        finally:
            self._timer.deactivate()
            self._start.set_enabled(True)
            self._stop.set_enabled(False)

    def _tick(self) -> None:
        if self.is_running:  # a tick may come after the timer was deactivated
            self._show_progress()

    @property
    def is_running(self) -> bool:
        """Whether work is running."""
        return bool(self._timer.active)

    def show(self, share: float) -> None:
        """Show which share of the work is done."""
        self._bar.value = share

    def stop(self) -> None:
        """Tell the work to stop."""
        if self._event is not None:
            self._event.set()


def table() -> ui.html:
    """Return an empty element for the output of `html_table`."""
    return ui.html(sanitize=False).classes("words")


def offer(choice: ui.select, options: Sequence[str] | dict[str, str], default: str | None) -> None:
    """Replace the options of a choice; its value stays if it is one of them."""
    options = options if isinstance(options, dict) else list(options)
    choice.set_options(options, value=choice.value if choice.value in options else default)


def number_of(text: Any) -> Any:
    """Return the number in a text such as 1000 or 1e3; return the argument itself if it has none.

    A field may also hold a number, or None. What is out of range is refused where it is used.

    >>> number_of("1e3"), number_of("0.5"), number_of("9007199254740993"), number_of("1_000")
    (1000, 0.5, 9007199254740993, '1_000')
    """
    words = str(text)
    value = parse_number(words)
    if value is None:
        return text
    with suppress(ValueError):
        return int(words)  # a float would round long seeds
    return int(value) if value.is_integer() else value
