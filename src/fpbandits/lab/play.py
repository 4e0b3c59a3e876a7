"""Play: simulations of policies, drawn while they run."""

from __future__ import annotations

from functools import partial
from html import escape

from nicegui import run, ui
from nicegui.events import GenericEventArguments

from fpbandits.core.checks import whole_number
from fpbandits.errors import counted
from fpbandits.lab.parts import Notice, StartAndStop, button, number_of, offer, table, tools
from fpbandits.lab.precompile import STARTERS, compile_ahead
from fpbandits.lab.session import Session
from fpbandits.lab.simulations import Simulation, Work, as_csv, draw_regret, python_lines
from fpbandits.lab.tasks import StoppedError
from fpbandits.policies import POLICIES
from fpbandits.policies.parsing import named_policies
from fpbandits.report.html import data_url
from fpbandits.report.times import as_written
from fpbandits.simulation.figure import BANDS
from fpbandits.simulation.result import Result
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.tables import regret_html
from fpbandits.simulation.truths import PRIOR

_MOST_DECADES = 15
"""The largest horizon is ten to this power."""

_PRIOR = "drawn from the prior in each run"
"""The label of a truth that is not fixed."""

_PAGE_FIRST = 1.0
"""Seconds before compiling starts, so that the page is built first."""


class _LocalSlider(ui.slider):
    """A slider that moves in the browser; through the server, fast key presses would be lost."""

    LOOPBACK = False


class PlayPart:
    """The part of the page that simulates policies and offers the results for download."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._work: Work | None = None
        self._shown: Result | None = None
        self._outcome = ""  # how the last simulation ended
        self._typed = ""  # the text in the field of policies that is not a policy yet
        self._build_choices()
        self._controls = StartAndStop(
            "Play", self._start, self._show_progress, "share of all runs that is played"
        )
        self._notice = Notice()
        self._notice.say("Choose policies and a truth, then play.")
        self._picture = ui.html(sanitize=False).classes("paper")
        self._table = table()
        with tools() as self._downloads:
            for kind in ("png", "svg", "csv"):
                button(f"Download {kind.upper()}", partial(self._download, kind))
        self._lines = ui.code("", language="python").classes("lines").mark("lines")
        self._show_downloads(False)
        session.listen(self._show_problem)
        self._show_problem()
        ui.timer(_PAGE_FIRST, self._compile_ahead, once=True)
        session.listen(self._compile_ahead)
        self._policies.on_value_change(self._check_policies)
        self._policies.on("input-value", self._take_typed)

    def _build_choices(self) -> None:
        with tools():
            self._policies = ui.select(
                list(POLICIES),
                value=list(STARTERS),
                label="policies (options follow a colon: fp-ucb:slack=0.05)",
                multiple=True,
                new_value_mode="add-unique",
            ).props("use-chips")
            self._policies.classes("broad")
            self._truth = ui.select([], label="truth", with_input=True)
            self._runs = ui.input("runs per policy", value="100")
            self._seed = ui.input("seed", value="0")
            self._delay = ui.input("delay of rewards", value="0")
            self._band = ui.select(BANDS, value="ci", label="band", on_change=self._redraw)
        with tools():
            with ui.element("div").classes("slide"):
                label = ui.label().props('id="horizon"')
                self._horizon = _LocalSlider(min=1, max=_MOST_DECADES, step=1, value=6)
                self._horizon.props('aria-label="horizon: ten to the power of"')
                label.bind_text_from(
                    self._horizon, "value", lambda power: as_written(f"horizon T = 1e{power} plays")
                )
            self._shuffle = ui.checkbox("shuffle arms and models in each run")
            self._bounds = ui.checkbox("draw bounds", on_change=self._redraw)

    def _show_problem(self) -> None:
        """Offer the truths of the present problem."""
        problem = self._session.problem
        # Where a model has that name, `simulate` takes the name for the model's.
        options = {name: name for name in problem.models}
        options.setdefault(PRIOR, _PRIOR)
        offer(self._truth, options, problem.truth or problem.models[0])
        if self._outcome and not self._controls.is_running:
            self._say(self._outcome)

    def _check_policies(self) -> None:
        """Say at once which policy is unknown."""
        self._typed = ""
        with self._notice.refusals():
            for name in self._policies.value:
                named_policies((name,))
            self._compile_ahead()

    def _take_typed(self, event: GenericEventArguments) -> None:
        """Add a policy that was typed and left without Enter, or say that it is unknown."""
        name, self._typed = self._typed, str(event.args or "").strip()
        if self._typed or not name or name in self._policies.value:
            return
        with self._notice.refusals():
            named_policies((name,))
            self._policies.set_value([*self._policies.value, name])

    def _compile_ahead(self) -> None:
        compile_ahead(self._policies.value, self._session.problem)

    def _new_work(self) -> Work:
        """Return the simulation that the fields describe."""
        runs = number_of(self._runs.value)
        spec = RunSpec(
            horizon=10 ** int(self._horizon.value),
            runs=whole_number("the number of runs", runs, least=1, most=10**6),
            seed=whole_number("the seed", number_of(self._seed.value)),
            truth=str(self._truth.value),
            shuffle=bool(self._shuffle.value),
            delay=str(self._delay.value).strip(),
        )
        policies = tuple(self._policies.value)
        simulation = Simulation(self._session.problem, policies, spec)
        return Work(simulation, band=str(self._band.value), bounds=bool(self._bounds.value))

    async def _start(self) -> None:
        """Simulate, and show partial results meanwhile."""
        with self._notice.refusals():
            before, work = self._work, self._new_work()
            self._work = work
            try:
                with self._controls.running(work.stop):
                    await run.io_bound(work.play)
                self._finish(work, "played")
            except StoppedError:
                self._finish(work, "stopped after")
            finally:
                if work.result is None:  # the page still shows the work before this one
                    self._work = before

    def _finish(self, work: Work, verb: str) -> None:
        """Show the last result, and how many runs it has, after a verb."""
        if self._picture.is_deleted:  # the tab is closed
            return
        self._show_progress()
        runs = 0 if work.result is None else work.result.runs
        self._outcome = f"{verb} {counted(runs, 'run')} of each policy"
        if work.being_compiled:
            self._outcome = f"stopped while {work.being_compiled} was being compiled"
        self._say(self._outcome)

    def _say(self, words: str) -> None:
        """Show the status of the simulation, and whether its models are those on the page."""
        work = self._work
        difference = "" if work is None else self._session.difference(work.simulation.problem)
        self._notice.say(f"{words}. {difference}" if difference else words)

    def _show_progress(self) -> None:
        """Show the progress of the simulation, and its latest result."""
        work = self._work
        if work is None:
            return
        self._controls.show(work.share)
        result = work.result
        if self._controls.is_running:
            self._say(_progress(work))
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
        """Draw the same result, and later ones, with another band, or with bounds."""
        work = self._work
        if work is None:
            return
        band, bounds = str(self._band.value), bool(self._bounds.value)
        with self._notice.refusals():
            await run.io_bound(work.redraw, band=band, bounds=bounds)
            self._shown = None
            self._show_progress()

    async def _download(self, kind: str) -> None:
        """Send the result to the browser as "png", "svg" or "csv"."""
        work = self._work
        if work is None or work.result is None:
            return
        with self._notice.refusals():
            figure = partial(draw_regret, kind=kind, band=work.band, bounds=work.bounds)
            content = await run.io_bound(as_csv if kind == "csv" else figure, work.result)
            if content is not None:
                ui.download.content(content, f"regret.{kind}")


def _progress(work: Work) -> str:
    """Return what a running simulation is doing, for the status line."""
    if work.being_compiled:
        return f"compiling {work.being_compiled} …: some seconds, and once per machine"
    if work.result is None:
        return "playing the first runs"
    return f"playing … {work.result.runs:,} of {work.simulation.spec.runs:,} runs"


def _image(picture: bytes, result: Result) -> str:
    """Return a figure as an image, so that its ids and styles do not affect the page."""
    finals = [f"{name} {result.mean_regret(name)[-1]:.4g}" for name in result.policies]
    words = f"mean regret over time; at the end: {', '.join(finals)}"
    return f'<img alt="{escape(words)}" src="{data_url(picture)}">'
