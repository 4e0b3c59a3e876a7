"""Live: how the experiments of a service are going, read from its store."""

from __future__ import annotations

import time
from datetime import datetime
from html import escape

from nicegui import run, ui

from fpbandits.core.markup import Strong, html_table
from fpbandits.errors import Error, counted, listed, quote
from fpbandits.lab.chart import HEIGHT, WIDTH, chart
from fpbandits.lab.following import ERROR, MOST_UNITS, Follower, Span, Summary
from fpbandits.lab.parts import Notice, offer, table
from fpbandits.lab.reports import (
    control_table,
    difference_picture,
    rewards_by_arm_table,
    rewards_by_model_table,
)
from fpbandits.report.figures import BLUE, ORANGE
from fpbandits.service.experiment import Kept
from fpbandits.service.report import report
from fpbandits.service.step import DECISION, EXPIRED, LATE, OBSERVED, REWARD
from fpbandits.service.store import Store

_READ_EVERY = 2.0
"""Seconds between two reads of the store."""

_REPORT_EVERY = 30.0
"""Seconds between two reports against the control group; each reads the whole log."""

_MOST_ROWS = 30
"""Rows of a table."""

_MOST_POINTS = 30
"""Points of the line of mean rewards."""


class LivePart:
    """The part of the page that shows an experiment."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[str, Kept] = {}  # the experiments in the store, by name
        self._chosen: Kept | None = None
        self._follower: Follower | None = None  # of the chosen experiment, if it can be read
        self._choice = ui.select([], label="experiment", with_input=True)
        self._choice.classes("field").on_value_change(self._choose)
        self._notice = Notice()
        self._notice.say("Looking for experiments …")
        with ui.element("div").classes("beside"):
            with ui.element("div"):
                self._counts = table()
            with ui.element("div"):
                self._rewards, self._rewards_words = _picture()
                self._events, self._events_words = _picture()
        with ui.element("div").classes("beside"):
            self._arms, self._models = table().classes("named"), table().classes("named")
        with ui.element("div").classes("stacked") as self._report:
            with ui.element("div").classes("beside"):
                self._control = table().classes("named")
                with ui.element("div"):
                    self._differences, self._differences_words = _picture()
            with ui.element("div").classes("beside"):
                self._by_arm, self._by_model = table().classes("named"), table().classes("named")
        self._report.set_visibility(False)
        self._report_due = 0.0  # by the monotonic clock, in seconds
        self._name = ui.input("look up a unit", on_change=self._show_unit).classes("field")
        self._unit = table().classes("named unit")
        ui.timer(_READ_EVERY, self._look)

    def _choose(self) -> None:
        """Follow the chosen experiment from the beginning of its log, unless it is followed."""
        kept = self._kept.get(str(self._choice.value))
        # An experiment may be deleted and made again under its name.
        if kept == self._chosen and self._follower is not None:
            return
        self._chosen, self._follower = kept, None
        self._clear()
        with self._notice.refusals():
            self._follower = None if kept is None else Follower(self._store, kept)

    def _clear(self) -> None:
        """Show nothing of any experiment."""
        self._report_due = 0.0
        self._report.set_visibility(False)
        for part in (self._counts, self._rewards, self._events, self._arms, self._models):
            part.content = ""
        for words in (self._rewards_words, self._events_words):
            words.text = ""
        self._show_unit()

    async def _look(self) -> None:
        """Read some new events and show them."""
        try:
            experiments = await run.io_bound(self._store.experiments)
            if experiments is None:  # the lab is shutting down
                return
            self._kept = {kept.name: kept for kept in experiments}
            if list(self._kept) != list(self._choice.options):
                offer(self._choice, list(self._kept), next(iter(self._kept), None))
            self._choose()
            follower = self._follower
            if follower is None:
                if not self._kept:
                    self._notice.say("There are no experiments in this store yet.")
                return
            more = await run.io_bound(follower.read)
            summary = await run.io_bound(follower.summary)
            if summary is not None and follower is self._follower:
                self._show(follower, summary, bool(more))
            if follower.experiment.control is not None and time.monotonic() >= self._report_due:
                await self._show_report(follower)
        except Error as error:
            self._notice.warn(f"{error}; looking again in {_READ_EVERY:g} s")

    def _show(self, follower: Follower, summary: Summary, more: bool) -> None:
        """Show an experiment; ``more`` tells whether its log has events that were not read yet."""
        experiment = follower.experiment
        progress = "still reading the log" if more else "up to date"
        now = datetime.now().strftime("%H:%M:%S")
        self._notice.say(
            f"{experiment.name}: {experiment.policy} on "
            f"{counted(len(experiment.problem.models), 'model')}; {progress} at {now}"
        )
        self._counts.content = counts_table(follower, summary)
        self._rewards.content, self._rewards_words.text = rewards_picture(follower)
        self._events.content = events_picture(follower)
        words = f"Decisions (blue) and rewards (orange) per {_duration(follower.seconds)}."
        self._events_words.text = words if follower.spans else ""
        self._arms.content = arms_table(follower)
        self._models.content = models_table(summary)
        self._name.set_autocomplete(follower.latest_units[:_MOST_ROWS])
        self._show_unit()

    async def _show_report(self, follower: Follower) -> None:
        """Compare the policy with the control group, and show it."""
        name = follower.experiment.name
        latest = await run.io_bound(report, self._store, name, most_units=MOST_UNITS)
        if latest is None or follower is not self._follower:  # shutting down, or another is chosen
            return
        self._report_due = time.monotonic() + _REPORT_EVERY
        self._control.content = control_table(latest)
        self._differences.content, self._differences_words.text = difference_picture(latest)
        self._by_arm.content = rewards_by_arm_table(latest)
        self._by_model.content = rewards_by_model_table(latest)
        self._report.set_visibility(True)

    def _show_unit(self) -> None:
        """Show the unit whose name was typed, if there is one."""
        name, follower = str(self._name.value or "").strip(), self._follower
        self._unit.content = "" if follower is None or not name else unit_table(follower, name)


def _picture() -> tuple[ui.html, ui.label]:
    """Return elements for a picture and for the words below it."""
    with ui.element("figure").classes("events"):
        return ui.html(sanitize=False), ui.label().classes("quiet")


def counts_table(follower: Follower, summary: Summary) -> str:
    """Return the numbers of events, and an alarm if no model fits some units."""
    latest = f"of {counted(summary.units, 'unit')} with the latest events"
    overall = follower.overall
    mean = f"{overall.total / overall.rewards:.4g}" if overall.rewards else ""
    identified, misfits = summary.identified.total(), "units that no model fits"
    rows = [
        [Strong("mean reward"), f"of {counted(overall.rewards, 'reward')} that count", mean],
        ["decisions", "", f"{follower.events[DECISION]:,}"],
        ["rewards inherited", "of an earlier experiment", f"{follower.events[OBSERVED]:,}"],
        ["decisions without a reward yet", "", f"{follower.pending:,}"],
        ["rewards in time", "", f"{follower.events[REWARD]:,}"],
        ["rewards too late", "they do not count", f"{follower.events[LATE]:,}"],
        ["rewards waiting for earlier ones", latest, f"{summary.blocked:,}"],
        ["units with one plausible model", latest, f"{identified:,}"],
        [f"units with a verdict, at error {ERROR:g}", latest, f"{summary.verdicts:,}"],
        [
            Strong(f"Alarm: {misfits}") if summary.misfits else misfits,
            latest,
            f"{summary.misfits:,}",
        ],
    ]
    return html_table("How it is going", ["", "", ""], rows, text_columns=2)


def arms_table(follower: Follower) -> str:
    """Return which arms were played, and how often."""
    all_decisions = follower.arms.total()
    rows = [
        [arm, f"{decisions:,}", f"{decisions / all_decisions:.1%}"]
        for arm, decisions in follower.arms.most_common(_MOST_ROWS)
    ]
    return html_table("Which arms are played", ["arm", "played", "share"], rows)


def unit_table(follower: Follower, name: str) -> str:
    """Return what the agent of a unit has seen and believes."""
    try:
        agent = follower.agent(name)
    except Error as error:
        return html_table(name, [], [], above=[str(error)])
    if agent is None:
        latest = follower.latest_units
        others = f"the latest are {listed(latest)}" if latest else "there are none"
        return html_table(f"There is no unit {quote(name)}", [], [], above=[others])
    return f"<h3>{escape(name)}</h3>{agent._repr_html_()}"


def models_table(summary: Summary) -> str:
    """Return which models fit the units best, and which are the only plausible ones."""
    rows = [
        [model, f"{units:,}", f"{units / summary.units:.1%}", f"{summary.identified[model]:,}"]
        for model, units in summary.best_fits.most_common(_MOST_ROWS)
    ]
    head = ["model", "units that it fits best", "share", "units with no other plausible one"]
    above = [f"Of the units with the latest events, {MOST_UNITS:,} at the most."]
    return html_table("Which model fits which units", head, rows, above=above)


def events_picture(follower: Follower) -> str:
    """Return decisions and rewards over time as bars, side by side."""
    if not follower.spans:
        return ""
    first, last = min(follower.spans), max(follower.spans)
    counts = {
        number: (span.events[DECISION], span.events[REWARD] + span.events[EXPIRED])
        for number, span in follower.spans.items()
    }
    most = max(map(max, counts.values())) or 1
    width = WIDTH / (last - first + 1)
    bars = []
    for number, decisions_and_rewards in counts.items():
        # A bar is 0.4 of a span wide, and rewards begin at 0.45 of it.
        for count, colour, shift in zip(
            decisions_and_rewards, (BLUE, ORANGE), (0, 0.45), strict=True
        ):
            height = HEIGHT * count / most
            x = width * (number - first + shift)
            bars.append(
                f'<rect x="{x:.1f}" y="{HEIGHT - height:.1f}" width="{0.4 * width:.1f}" '
                f'height="{height:.1f}" fill="{colour}"/>'
            )
    return _over_time(follower, "decisions and rewards", f"{most:,}", "".join(bars))


def rewards_picture(follower: Follower) -> tuple[str, str]:
    """Return the mean reward over time as a line, and words that explain it."""
    spans = follower.spans
    if not any(span.rewards for span in spans.values()):
        return "", ""
    first, last = min(spans), max(spans)
    width = 1  # spans per point
    while last // width - first // width >= _MOST_POINTS:
        width += 1
    groups: dict[int, Span] = {}
    for number, span in spans.items():
        groups.setdefault(number // width, Span()).add(span)
    means = {
        number: group.total / group.rewards
        for number, group in sorted(groups.items())
        if group.rewards
    }
    low, high = min(means.values()), max(means.values())
    points = []
    for number, mean in means.items():
        middle = max(first, min(last + 1, (number + 0.5) * width)) - first
        x = WIDTH * middle / (last - first + 1)
        y = HEIGHT * ((high - mean) / (high - low) if high > low else 0.5)
        points.append((x, y))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in points)
    line = f'<polyline points="{path}" fill="none" stroke="{ORANGE}" stroke-width="2"/>'
    marks = f'{line}<g fill="{ORANGE}">{dots}</g>'
    words = f"Mean reward per {_duration(width * follower.seconds)}, from {low:.4g} to {high:.4g}."
    return _over_time(follower, "mean reward", f"{high:.4g}", marks), words


def _over_time(follower: Follower, title: str, top: str, marks: str) -> str:
    """Return a chart over the time of all events; ``top`` is the label of its top."""
    first, last = min(follower.spans), max(follower.spans)
    start, end = (
        datetime.fromtimestamp(span * follower.seconds).strftime("%Y-%m-%d %H:%M:%S")
        for span in (first, last + 1)
    )
    return chart(marks, title=f"{title} from {start} to {end}", top=top, ends=(start, end))


def _duration(seconds: float) -> str:
    """Return a length of time in seconds, minutes or hours.

    >>> _duration(1), _duration(64), _duration(8192)
    ('1 s', '64 s', '2.3 h')
    """
    if seconds < 120:
        return f"{seconds:g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.2g} h"
