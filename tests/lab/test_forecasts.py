from __future__ import annotations

from threading import Event, Thread
from types import SimpleNamespace

import pytest

import fpbandits as fpb
from fpbandits.lab import forecasts
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.forecasts import ForecastWork
from fpbandits.lab.simulations import draw
from fpbandits.lab.tasks import StoppedError
from fpbandits.problem.problem import Problem

TWO = EXAMPLES["paper:two"].make()
THREE = fpb.Problem.bernoulli([[0.5, 0.4], [0.5, 0.6], [0.3, 0.35]])


def test_it_is_the_librarys_forecast_and_figure() -> None:
    work = ForecastWork(TWO, 50)
    work.run()
    expected = fpb.forecast(TWO, horizon=50)
    assert work.forecast is not None
    assert work.forecast.as_dict() == expected.as_dict()
    assert work.share == 1
    assert work.compiling == 0
    assert work.picture == draw(expected.plot, "svg")


class StopsAt(ForecastWork):
    """A forecast that is told to stop when a share of it is done."""

    def __init__(self, at: float, problem: Problem, horizon: int) -> None:
        self.at = at
        super().__init__(problem, horizon)

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "share" and self.share >= self.at:
            self.stop.set()


# The floor takes the work from .6 to .7: by belief, by counts, by pairs.
@pytest.mark.parametrize(
    ("at", "problem", "horizon"),
    [(0.5, TWO, 50), (0.61, TWO, 2000), (0.61, THREE, 30), (0.6, THREE, 2000)],
)
def test_it_stops_while_it_plays_and_while_it_computes_the_floor(
    at: float, problem: Problem, horizon: int
) -> None:
    work = StopsAt(at, problem, horizon)
    with pytest.raises(StoppedError):
        work.run()
    assert at <= work.share < at + 0.1
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


def test_a_policy_that_is_compiled_is_looked_at_ten_times_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []
    compiler = SimpleNamespace(
        join=lambda seconds: waited.append(seconds), is_alive=lambda: len(waited) < 3
    )
    monkeypatch.setattr(forecasts, "start_compiling", lambda *given: compiler)
    monkeypatch.setattr(forecasts, "forecast", lambda *given, **named: SimpleNamespace(plot=None))
    monkeypatch.setattr(forecasts, "draw", lambda figure, kind: kind.encode())
    work = ForecastWork(TWO, 50)
    assert (work.share, work.compiling, work.forecast, work.picture) == (0, 0, None, b"")
    work._count_compilations(1)
    work._count_compilations(1)
    work._count_compilations(-1)
    assert work.compiling == 1
    work.run()
    assert waited == [0.1] * 3
    assert work.picture == b"svg"
