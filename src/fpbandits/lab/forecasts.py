"""Forecasts that run in a thread, with progress, and can be stopped."""

from __future__ import annotations

from fpbandits.engine.compilations import compilations
from fpbandits.forecast.forecast import THOMPSON, Forecast, forecast
from fpbandits.lab.precompile import fastest_first, start_compiling
from fpbandits.lab.simulations import draw
from fpbandits.lab.tasks import Stop
from fpbandits.policies import DEFAULT
from fpbandits.problem.problem import Problem


class ForecastWork:
    """A forecast for the default policy, which runs in a thread.

    Attributes
    ----------
    problem, horizon
        What to forecast: a problem, and the number of plays.
    stop
        Set it to stop the work.
    share
        The share of the work that is done.
    compiling
        The number of functions that are being compiled now.
    forecast, picture
        The forecast and its figure as SVG, once the work has ended.
    """

    def __init__(self, problem: Problem, horizon: int) -> None:
        self.problem, self.horizon = problem, horizon
        self.stop = Stop()
        self.share = 0.0
        self.compiling = 0
        self.forecast: Forecast | None = None
        self.picture = b""

    def run(self) -> None:
        """Compute the forecast and draw it; raise `StoppedError` if stopped."""
        with compilations(self._count_compilations):
            for policy in fastest_first((DEFAULT.name, THOMPSON)):
                compiler = start_compiling(policy, self.problem)
                while compiler.is_alive():
                    self.stop.check()
                    compiler.join(0.1)
            result = forecast(self.problem, horizon=self.horizon, progress=self._note)
        self.picture = draw(result.plot, "svg")
        self.forecast = result

    def _count_compilations(self, more: int) -> None:
        self.compiling += more

    def _note(self, name: str, share: float, share_of_all: float) -> None:
        self.stop.check()
        self.share = share_of_all
