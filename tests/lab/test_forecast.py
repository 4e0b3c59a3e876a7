"""The forecast on the page, used without a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from threading import Event
from typing import Any

import pytest
from nicegui import ElementFilter, ui

import fpbandits as fpb
from fpbandits.core.markup import Strong, html_table
from fpbandits.forecast.forecast import Forecast
from fpbandits.forecast.report import answers, setting
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.forecast import ForecastPart, forecast_table
from fpbandits.lab.forecasts import ForecastWork
from fpbandits.lab.session import Session
from fpbandits.lab.sheet import with_text
from fpbandits.lab.tasks import StoppedError

OnPage = Callable[[Coroutine[Any, Any, None]], None]

TWO = EXAMPLES["paper:two"].make()
FIRST_WORDS = "What playing costs, how long until it is sure, how wrong models may be."


@pytest.fixture(scope="module")
def found() -> Forecast:
    return fpb.forecast(TWO, horizon=20, runs=20)


def said(part: ForecastPart) -> tuple[str, bool]:
    return str(part._notice._line.text), "wrong" in part._notice._line.classes


def test_questions_and_their_answers(found: Forecast) -> None:
    rows = [[Strong(question), answer] for question, answer in answers(found).items()]
    assert forecast_table(found) == html_table(setting(found), ["", ""], rows, text_columns=2)


def test_a_forecast_is_made_and_stays(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch, found: Forecast
) -> None:
    asked: list[tuple[fpb.Problem, int]] = []
    begun, may_end = Event(), Event()

    def forecast_at_will(work: ForecastWork) -> None:
        asked.append((work.problem, work.horizon))
        begun.set()
        may_end.wait()
        work.stop.check()
        work.picture, work.forecast = b"<svg/>", found

    monkeypatch.setattr(ForecastWork, "run", forecast_at_will)

    async def test() -> None:
        session = Session(TWO)
        part = ForecastPart(session)
        assert said(part) == (FIRST_WORDS, False)
        part._show_progress()
        session.change(with_text(session.sheet, 0, 1, "0.9000"))
        assert said(part) == (FIRST_WORDS, False), "there is nothing that could be out of date"
        assert not part._picture.visible
        assert part._plays.value == "10000"
        for text, words in (
            ("many", "the number of plays must be a whole number, not 'many'"),
            ("0", "the number of plays is 0: it must be at least 1"),
            ("1000001", "the number of plays is 1000001: it must be at most 1,000,000"),
        ):
            part._plays.value = text
            await part._start()
            assert said(part) == (words, True)
        assert asked == []
        part._plays.value = "1"
        running = asyncio.create_task(part._start())
        await asyncio.to_thread(begun.wait)
        work = part._work
        assert work is not None
        for compiling, share, words in (
            (1, 0.0, "compiling …: some seconds, and once per machine"),
            (0, 0.25, "playing … 25% of the forecast"),
        ):
            work.compiling, work.share = compiling, share
            part._show_progress()
            assert said(part) == (words, False)
            assert part._controls._bar.value == share
        may_end.set()
        await running
        assert asked == [(TWO, 1)]
        assert part._controls._bar.value == 1.0
        assert part._words.content == forecast_table(found)
        assert part._picture.visible
        assert part._picture.content == (
            '<img alt="regret over time, with the floor and what others lose" '
            'src="data:image/svg+xml;base64,PHN2Zy8+">'
        )
        assert said(part) == ("", False)
        session.change(with_text(session.sheet, 0, 1, "x"))
        assert said(part) == ("This is for the last table without mistakes.", True)
        session.change(with_text(session.sheet, 0, 1, "0.8"))
        assert said(part) == ("The models have changed since this was computed.", False)
        # Another is stopped: the first stays.
        begun.clear()
        may_end.clear()
        running = asyncio.create_task(part._start())
        await asyncio.to_thread(begun.wait)
        before = said(part)
        session.change(with_text(session.sheet, 0, 1, "0.7"))
        assert said(part) == before, "what is under way is said"
        part._controls.stop()
        part._show_progress()
        assert said(part) == ("stopping …", False)
        may_end.set()
        await running
        assert said(part) == ("stopped", False)
        assert part._words.content == forecast_table(found)

    on_page(test())


@pytest.mark.parametrize("is_stopped", [True, False])
def test_nothing_is_shown_of_a_forecast_that_was_stopped_or_whose_tab_is_closed(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch, found: Forecast, is_stopped: bool
) -> None:
    def end(work: ForecastWork) -> None:
        if is_stopped:
            raise StoppedError
        work.picture, work.forecast = b"<svg/>", found

    monkeypatch.setattr(ForecastWork, "run", end)

    async def test() -> None:
        part = ForecastPart(Session(TWO))
        if not is_stopped:
            part._words.delete()
        await part._start()
        assert part._words.content == ""
        assert not part._picture.visible

    on_page(test())


def test_styles_of_the_table_are_kept(on_page: OnPage) -> None:
    async def test() -> None:
        ForecastPart(Session(TWO))
        assert [each.props["sanitize"] for each in ElementFilter(kind=ui.html)] == [False, False]

    on_page(test())
