from __future__ import annotations

from threading import Event, Thread

import pytest

import fpbandits as fpb
from fpbandits.lab import forecasts
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.forecasts import ForecastWork
from fpbandits.lab.simulations import draw
from fpbandits.lab.tasks import StoppedError
from fpbandits.problem.problem import Problem

TWO = EXAMPLES["paper:two"].make()


def test_it_is_the_librarys_forecast_and_figure() -> None:
    work = ForecastWork(TWO, 50)
    work.run()
    expected = fpb.forecast(TWO, horizon=50)
    assert work.forecast is not None
    assert work.forecast.as_dict() == expected.as_dict()
    assert work.share == 1
    assert work.compiling == 0
    assert work.picture == draw(expected.plot, "svg")


class StopsHalfway(ForecastWork):
    """A forecast that is told to stop when half of it is done."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "share" and self.share >= 0.5:
            self.stop.set()


def test_it_stops_while_it_plays() -> None:
    work = StopsHalfway(TWO, 50)
    with pytest.raises(StoppedError):
        work.run()
    assert 0.5 <= work.share < 1
    assert work.forecast is None


def test_it_stops_while_something_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    done, work = Event(), ForecastWork(TWO, 50)

    def compile_slowly(policy: str, problem: Problem) -> Thread:
        thread = Thread(target=done.wait, daemon=True)
        thread.start()
        work.stop.set()
        return thread

    monkeypatch.setattr(forecasts, "start_compiling", compile_slowly)
    with pytest.raises(StoppedError):
        work.run()
    done.set()
