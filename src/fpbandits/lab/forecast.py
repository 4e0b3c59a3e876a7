"""What playing will cost: a forecast for the models on the page, when it is asked for."""

from __future__ import annotations

from nicegui import run, ui

from fpbandits.core.checks import whole_number
from fpbandits.core.markup import Strong, html_table
from fpbandits.forecast.forecast import Forecast
from fpbandits.forecast.report import answers, setting
from fpbandits.lab.forecasts import ForecastWork
from fpbandits.lab.parts import Notice, StartAndStop, number_of, table
from fpbandits.lab.session import Session
from fpbandits.lab.tasks import StoppedError
from fpbandits.report.html import data_url
from fpbandits.theory.floor import LONGEST


class ForecastPart:
    """The part of the page that forecasts what the default policy will cost."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._work: ForecastWork | None = None
        self._shown: Forecast | None = None
        self._plays = ui.input("number of plays", value="10000").classes("field")
        self._controls = StartAndStop(
            "Forecast", self._start, self._show_progress, "share of the forecast that is done"
        )
        self._notice = Notice()
        self._notice.say("What playing costs, how long until it is sure, how wrong models may be.")
        self._words = table().classes("answers")
        self._picture = ui.html(sanitize=False).classes("paper")
        self._picture.set_visibility(False)
        session.listen(self._show_change)

    async def _start(self) -> None:
        """Compute a forecast for the present problem, and show it."""
        with self._notice.refusals():
            plays = whole_number(
                "the number of plays", number_of(self._plays.value), least=1, most=LONGEST
            )
            work = self._work = ForecastWork(self._session.problem, plays)
            with self._controls.running(work.stop):
                try:
                    await run.io_bound(work.run)
                except StoppedError:
                    self._notice.say("stopped")
            if work.forecast is not None and not self._words.is_deleted:  # the tab may be closed
                self._show(work.forecast, work.picture)

    def _show(self, forecast: Forecast, picture: bytes) -> None:
        """Show a forecast and its figure, an SVG."""
        self._shown = forecast
        self._controls.show(1.0)
        self._words.content = forecast_table(forecast)
        words = "regret over time, with the floor and what others lose"
        self._picture.content = f'<img alt="{words}" src="{data_url(picture)}">'
        self._picture.set_visibility(True)
        self._show_change()

    def _show_progress(self) -> None:
        """Show how far the work is, and what it is doing."""
        work = self._work
        if work is None:
            return
        self._controls.show(work.share)
        if work.stop.is_set():
            self._notice.say("stopping …")
        elif work.compiling:
            self._notice.say("compiling …: some seconds, and once per machine")
        else:
            self._notice.say(f"playing … {work.share:.0%} of the forecast")

    def _show_change(self) -> None:
        """Say whether the forecast on the page is for the models on the page."""
        if self._shown is None or self._controls.is_running:
            return
        words = self._session.difference(self._shown.problem)
        if self._session.marks:
            self._notice.warn(words)
        else:
            self._notice.say(words)


def forecast_table(forecast: Forecast) -> str:
    """Return the words of a forecast: for each question its answer."""
    rows = [[Strong(question), answer] for question, answer in answers(forecast).items()]
    return html_table(setting(forecast), ["", ""], rows, text_columns=2)
