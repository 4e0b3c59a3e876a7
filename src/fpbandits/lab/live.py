"""Live: what the experiments of a service are doing, read from its store."""

from __future__ import annotations

from datetime import datetime

from nicegui import run, ui

from fpbandits.core.markup import Strong, html_table
from fpbandits.errors import Error, counted
from fpbandits.lab.following import MOST_UNITS, Follower, Summary
from fpbandits.lab.parts import Notice, offer, table
from fpbandits.report.figures import BLUE, ORANGE
from fpbandits.service.experiment import Kept
from fpbandits.service.step import DECISION, EXPIRED, LATE, REWARD
from fpbandits.service.store import Store

_EVERY = 2.0
"""Seconds between two reads of the store."""

_MOST_ROWS = 30
_WIDTH, _HEIGHT, _BELOW = 720, 140, 20


class LivePart:
    """The part of the page that shows an experiment."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[str, Kept] = {}
        self._follower: Follower | None = None
        self._busy = False
        self._choice = ui.select([], label="experiment", with_input=True)
        self._choice.classes("field").on_value_change(self._choose)
        self._notice = Notice()
        self._notice.say("Looking for experiments …")
        self._counts = table()
        with ui.element("figure").classes("events"):
            self._events = ui.html(sanitize=False).classes("roll")
            self._span = ui.label().classes("quiet")
        self._units = table()
        ui.timer(_EVERY, self._look)

    def _choose(self) -> None:
        kept = self._kept.get(str(self._choice.value))
        self._follower = None
        with self._notice.refusals():
            self._follower = None if kept is None else Follower(self._store, kept)

    async def _look(self) -> None:
        """Read some new events and show them."""
        if self._busy:
            return
        self._busy = True
        try:
            found = await run.io_bound(self._store.experiments)
            if found is None:  # the lab is shutting down
                return
            self._kept = {kept.name: kept for kept in found}
            if list(self._kept) != list(self._choice.options):
                offer(self._choice, list(self._kept), next(iter(self._kept), None))
            follower = self._follower
            if follower is None:
                self._notice.say("There are no experiments in this store yet.")
                return
            more = await run.io_bound(follower.read)
            summary = await run.io_bound(follower.summary)
            if summary is not None and follower is self._follower:
                self._show(follower, summary, bool(more))
        except Error as error:
            self._notice.warn(f"{error}; looking again in {_EVERY:g} s")
        finally:
            self._busy = False

    def _show(self, follower: Follower, summary: Summary, more: bool) -> None:
        experiment = follower.experiment
        read = "still reading the log" if more else "up to date"
        now = datetime.now().strftime("%H:%M:%S")
        self._notice.say(
            f"{experiment.name}: {experiment.policy} on "
            f"{counted(len(experiment.problem.models), 'model')}; {read} at {now}"
        )
        self._counts.content = counts_table(follower, summary)
        self._events.content = events_picture(follower)
        words = f"Decisions (blue) and rewards (orange) per {_length(follower.seconds)}."
        self._span.text = words if follower.spans else ""
        self._units.content = types_table(summary)


def counts_table(follower: Follower, summary: Summary) -> str:
    """Return the numbers of events, and an alarm if no model fits some units."""
    settled = sum(summary.settled.values())
    latest = f"of {counted(summary.units, 'unit')} with the latest events"
    rows = [
        ["decisions", "", f"{follower.events[DECISION]:,}"],
        ["decisions without a reward yet", "", f"{follower.open:,}"],
        ["rewards in time", "", f"{follower.events[REWARD]:,}"],
        ["rewards too late", "they do not count", f"{follower.events[LATE]:,}"],
        ["rewards waiting for earlier ones", latest, f"{summary.blocked:,}"],
        ["units with one plausible model", latest, f"{settled:,}"],
        ["units that no model fits", latest, f"{summary.misfits:,}"],
    ]
    if summary.misfits:
        rows[-1] = [Strong(f"Alarm: {rows[-1][0]}"), *rows[-1][1:]]
    return html_table("What has happened", ["", "", "how many"], rows, text_columns=2)


def types_table(summary: Summary) -> str:
    """Return which models fit the units best, and which are the only plausible ones."""
    rows = [
        [model, f"{units:,}", f"{summary.settled[model]:,}"]
        for model, units in summary.likeliest.most_common(_MOST_ROWS)
    ]
    head = ["model", "units that it fits best", "units with no other plausible one"]
    above = [f"Of the units with the latest events, {MOST_UNITS:,} at the most."]
    return html_table("Which model fits which units", head, rows, above=above)


def events_picture(follower: Follower) -> str:
    """Return decisions and rewards over time as bars, side by side."""
    if not follower.spans:
        return ""
    first, last = min(follower.spans), max(follower.spans)
    counts = {
        number: (events[DECISION], events[REWARD] + events[EXPIRED])
        for number, events in follower.spans.items()
    }
    most = max(map(max, counts.values())) or 1
    width = _WIDTH / (last - first + 1)
    bars = []
    for number, pair in counts.items():
        for count, colour, shift in zip(pair, (BLUE, ORANGE), (0, 0.45), strict=True):
            height = _HEIGHT * count / most
            x = width * (number - first + shift)
            bars.append(
                f'<rect x="{x:.1f}" y="{_HEIGHT - height:.1f}" width="{max(0.8, 0.4 * width):.1f}" '
                f'height="{height:.1f}" fill="{colour}"/>'
            )
    moments = (datetime.fromtimestamp(span * follower.seconds) for span in (first, last + 1))
    ends = [moment.strftime("%Y-%m-%d %H:%M:%S") for moment in moments]
    return (
        f'<svg class="heat" viewBox="0 -14 {_WIDTH} {_HEIGHT + _BELOW + 14}" role="img">'
        f"<title>decisions and rewards from {ends[0]} to {ends[1]}</title>"
        f'{"".join(bars)}<line x1="0" x2="{_WIDTH}" y1="{_HEIGHT}" y2="{_HEIGHT}"/>'
        f'<text x="0" y="-2">{most:,}</text><text x="0" y="{_HEIGHT + 15}">{ends[0]}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT + 15}" text-anchor="end">{ends[1]}</text></svg>'
    )


def _length(seconds: float) -> str:
    """Return a length of time in a fitting unit.

    >>> _length(1), _length(64), _length(8192)
    ('1 s', '64 s', '2.3 h')
    """
    if seconds < 120:
        return f"{seconds:g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.2g} h"
