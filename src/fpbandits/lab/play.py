"""Play: policies on the models, with curves that grow while it computes."""

from __future__ import annotations

import base64
from functools import partial
from html import escape
from typing import Any

from nicegui import run, ui

from fpbandits.core.checks import whole_number
from fpbandits.errors import counted
from fpbandits.lab.ahead import STARTERS, compile_ahead
from fpbandits.lab.parts import Notice, button, heading, number_of
from fpbandits.lab.playing import Simulation, as_csv, drawn, play_by_parts, python_lines
from fpbandits.lab.tasks import Stop, StoppedError
from fpbandits.lab.workbook import Workbook
from fpbandits.policies import POLICIES
from fpbandits.simulation.figure import BANDS
from fpbandits.simulation.result import Result
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.tables import regret_html

_FURTHEST = 15
_PRIOR = "drawn from the prior in each run"

_PAGE_FIRST = 1.0
"""Seconds that a page has for itself before anything is compiled beside it."""


class _Slider(ui.slider):
    """A slider that moves at once: by way of the server, keys pressed in haste would be lost."""

    LOOPBACK = False


class _Work:
    """A simulation under way, as far as it has come; the page looks at it now and then."""

    def __init__(self, simulation: Simulation, band: str, bounds: bool) -> None:
        self.simulation, self.band, self.bounds = simulation, band, bounds
        self.stop = Stop()
        self.share = 0.0
        self.being_compiled: str | None = None
        self.result: Result | None = None
        self.picture = b""

    def play(self) -> None:
        play_by_parts(self.simulation, self.stop, self)

    def compiles(self, policy: str | None) -> None:
        self.being_compiled = policy

    def plays(self, share: float) -> None:
        self.share = share

    def shows(self, result: Result) -> None:
        self.picture = drawn(result, "svg", band=self.band, bounds=self.bounds)
        self.result = result

    @property
    def is_whole(self) -> bool:
        """Whether all policies are there."""
        count = len(self.simulation.policies)
        return self.result is not None and len(self.result.policies) == count


class PlayPart:
    """Choose, play, look, take home."""

    def __init__(self, workbook: Workbook) -> None:
        self._book = workbook
        self._work: _Work | None = None
        self._shown: Result | None = None
        heading("Play")
        self._build_choices()
        with ui.element("div").classes("tools"):
            self._play = button("Play", self._start, main=True)
            self._stop = button("Stop", self._halt)
            self._stop.set_enabled(False)
        self._bar = ui.linear_progress(0, show_value=False).props(
            'instant-feedback aria-label="share of all runs that is played"'
        )
        self._notice = Notice()
        self._notice.say("Choose policies and a truth, then play.")
        self._picture = ui.html(sanitize=False).classes("paper")
        self._table = ui.html(sanitize=False).classes("words")
        with ui.element("div").classes("tools") as self._downloads:
            for words, kind in (("PNG", "png"), ("SVG", "svg"), ("CSV", "csv")):
                button(f"Download {words}", partial(self._download, kind))
        self._lines = ui.code("", language="python").classes("lines").mark("lines")
        self._show_downloads(False)
        self._timer = ui.timer(0.2, self._look, active=False)
        workbook.listen(self._show_problem)
        self._show_problem()
        ui.timer(_PAGE_FIRST, self._compile_ahead, once=True)
        workbook.listen(self._compile_ahead)
        self._policies.on_value_change(self._compile_ahead)
        ui.context.client.on_delete(self._halt)

    def _build_choices(self) -> None:
        with ui.element("div").classes("tools"):
            self._policies = ui.select(
                list(POLICIES),
                value=list(STARTERS),
                label="policies (options follow a colon: fp-ucb:slack=0.05)",
                multiple=True,
                with_input=True,
                new_value_mode="add-unique",
            ).props("outlined dense use-chips")
            self._policies.classes("broad")
            self._truth = ui.select([], label="truth", with_input=True).props("outlined dense")
            self._runs = ui.input("runs per policy", value="100").props("outlined dense")
            self._seed = ui.input("seed", value="0").props("outlined dense")
            self._band = ui.select(BANDS, value="ci", label="band").props("outlined dense")
            self._band.on_value_change(self._redraw)
        with ui.element("div").classes("tools"):
            with ui.element("div").classes("slide"):
                words = ui.label().props('id="horizon"')
                self._horizon = _Slider(min=1, max=_FURTHEST, step=1, value=6)
                self._horizon.props('aria-label="horizon: ten to the power of"')
                words.bind_text_from(
                    self._horizon, "value", lambda power: f"horizon T = {_power(power)} plays"
                )
            self._shuffle = ui.checkbox("shuffle arms and models in each run")
            self._bounds = ui.checkbox("draw bounds", on_change=self._redraw)

    def _show_problem(self) -> None:
        names = list(self._book.problem.models)
        chosen = self._truth.value if self._truth.value in [*names, "prior"] else None
        options = {name: name for name in names} | {"prior": _PRIOR}
        self._truth.set_options(options, value=chosen or self._book.problem.truth or names[0])
        if self._shown is not None and self._shown.problem != self._book.problem:
            self._notice.say("The models have changed since this was played.")

    def _compile_ahead(self) -> None:
        compile_ahead(self._policies.value or (), self._book.problem)

    def _asked(self) -> _Work:
        runs = number_of(self._runs.value)
        spec = RunSpec(
            horizon=10 ** int(self._horizon.value),
            runs=whole_number("the number of runs", runs, least=1, most=10**6),
            seed=whole_number("the seed", number_of(self._seed.value)),
            truth=str(self._truth.value),
            shuffle=bool(self._shuffle.value),
        )
        policies = tuple(self._policies.value or ())
        simulation = Simulation(self._book.problem, policies, spec)
        return _Work(simulation, str(self._band.value), bool(self._bounds.value))

    async def _start(self) -> None:
        with self._notice.refusals():
            before, work = self._work, self._asked()
            self._work = work
            self._play.set_enabled(False)
            self._stop.set_enabled(True)
            self._timer.activate()
            try:
                await run.io_bound(work.play)
                self._finish("played")
            except StoppedError:
                self._finish("stopped after")
            finally:
                if work.result is None:  # what is on the page is still what was there before
                    self._work = before
                self._timer.deactivate()
                self._play.set_enabled(True)
                self._stop.set_enabled(False)

    def _finish(self, verb: str) -> None:
        if self._picture.is_deleted or self._work is None:  # nobody looks any more
            return
        self._look()
        if self._work.being_compiled:
            self._notice.say(f"stopped while {self._work.being_compiled} was being compiled")
            return
        runs = 0 if self._work.result is None else self._work.result.runs
        self._notice.say(f"{verb} {counted(runs, 'run')} of each policy")

    def _halt(self) -> None:
        if self._work is not None:
            self._work.stop.set()

    def _look(self) -> None:
        """Show what has come since the last look."""
        work = self._work
        if work is None:
            return
        self._bar.value = work.share
        result = work.result
        if self._timer.active:
            self._notice.say(_progress(work))
        if result is None or result is self._shown:
            return
        self._shown = result
        self._picture.content = _image(work.picture, result)
        self._table.content = regret_html(result)
        self._lines.content = python_lines(work.simulation, band=work.band, bounds=work.bounds)
        self._show_downloads(work.is_whole)

    def _show_downloads(self, visible: bool) -> None:
        self._downloads.set_visibility(visible)
        self._lines.set_visibility(visible)

    async def _redraw(self) -> None:
        """Draw the same result in another way."""
        work = self._work
        if work is None or work.result is None:
            return
        band, bounds = str(self._band.value), bool(self._bounds.value)
        with self._notice.refusals():
            picture = await run.io_bound(drawn, work.result, "svg", band=band, bounds=bounds)
            if picture is not None:
                work.picture, work.band, work.bounds = picture, band, bounds
                self._shown = None
                self._look()

    async def _download(self, kind: str) -> None:
        work = self._work
        if work is None or work.result is None:
            return
        with self._notice.refusals():
            if kind == "csv":
                content = await run.io_bound(as_csv, work.result)
            else:
                content = await run.io_bound(
                    drawn, work.result, kind, band=work.band, bounds=work.bounds
                )
            if content is not None:
                ui.download.content(content, f"regret.{kind}")


def _progress(work: _Work) -> str:
    """Say what a simulation under way is doing."""
    if work.being_compiled:
        return f"compiling {work.being_compiled} …: some seconds, and once per machine"
    if work.result is None:
        return "playing …"
    return f"playing … {work.result.runs:,} of {work.simulation.spec.runs:,} runs"


def _image(picture: bytes, result: Result) -> str:
    """Return the figure as an image: its ids and styles stay its own."""
    data = base64.b64encode(picture).decode()
    finals = [f"{name} {result.mean_regret(name)[-1]:.4g}" for name in result.policies]
    words = f"mean regret over time; at the end: {', '.join(finals)}"
    return f'<img alt="{escape(words)}" src="data:image/svg+xml;base64,{data}">'


def _power(power: Any) -> str:
    """Return a power of ten as people write it."""
    return f"10{''.join('⁰¹²³⁴⁵⁶⁷⁸⁹'[int(digit)] for digit in str(int(power)))}"
