"""Simulations of the lab's page, with partial results of more and more runs while it plays.

A run depends on the problem, the policy, the settings of the spec and the run's number, and not on
how many runs there are; and runs stored in a folder are not played again. So a partial result
equals that of `simulate` with as many runs, and the last one has all runs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from fpbandits.core.storage import rows_to_csv
from fpbandits.lab.precompile import fastest_first, start_compiling
from fpbandits.lab.session import file_name
from fpbandits.lab.tasks import Stop
from fpbandits.policies.parsing import named_policies
from fpbandits.problem.builtin import BUILT_IN, built_in
from fpbandits.problem.problem import Problem
from fpbandits.report.figures import render
from fpbandits.simulation.figure import regret_figure
from fpbandits.simulation.result import Result
from fpbandits.simulation.runner import Progress
from fpbandits.simulation.simulate import simulate_spec
from fpbandits.simulation.spec import RunSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FIRST_RUNS = 2
"""Runs of the first partial result, just enough for an interval."""

_PARTIAL_EVERY = 1.0
"""Seconds between partial results, at least."""

_LOADING = 0.7
"""Seconds that loading machine code takes, if it is on disk."""

_drawing = Lock()
"""Matplotlib's style is shared by all threads, so one draws at a time."""


@dataclass(frozen=True)
class Simulation:
    """What to simulate; policies are given by name."""

    problem: Problem
    policies: tuple[str, ...]
    spec: RunSpec


class Work:
    """A simulation that runs in a thread, with its progress and its latest partial result.

    Attributes
    ----------
    simulation, band, bounds
        What to simulate, and how to draw it, as in `Result.plot`.
    stop
        Set it to stop the simulation.
    share
        The share of all runs that are played.
    being_compiled
        The policy that is being compiled, if one is.
    result, picture
        The latest partial result, without policies that are not compiled yet, and its figure as
        SVG.
    """

    def __init__(self, simulation: Simulation, *, band: str = "ci", bounds: bool = False) -> None:
        self.simulation, self.band, self.bounds = simulation, band, bounds
        self.stop = Stop()
        self.share = 0.0
        self.being_compiled: str | None = None
        self.result: Result | None = None
        self.picture = b""
        self._showing = Lock()  # held while a picture is drawn and set

    def play(self) -> None:
        """Play all runs, setting `result` to every partial one; raise `StoppedError` if stopped."""
        self._wait_for_compiler()
        runs = self.simulation.spec.runs
        with tempfile.TemporaryDirectory() as folder:
            played, wanted = 0, min(_FIRST_RUNS, runs)
            while played < runs:

                def note(
                    policy: str, share: float, share_of_all: float, upto: int = wanted
                ) -> None:
                    self.stop.check()
                    self.share = share_of_all * upto / runs  # stored runs count as played

                begun = time.perf_counter()
                result = _simulate(self.simulation, wanted, note, Path(folder, "runs"))
                pace = (wanted - played) / (time.perf_counter() - begun)
                played = wanted
                self.show(result)
                self.stop.check()
                # Each partial result reads and draws all runs again, so half as many are added.
                wanted = min(runs, played + max(played // 2, int(pace * _PARTIAL_EVERY)))

    def show(self, result: Result) -> None:
        """Draw a partial result and make it the latest one."""
        with self._showing:
            self.picture = draw_regret(result, "svg", band=self.band, bounds=self.bounds)
            self.result = result

    def redraw(self, *, band: str, bounds: bool) -> None:
        """Draw the latest result, if there is one, and all later ones with these settings."""
        with self._showing:
            if self.result is not None:
                self.picture = draw_regret(self.result, "svg", band=band, bounds=bounds)
            self.band, self.bounds = band, bounds

    @property
    def is_whole(self) -> bool:
        """Whether the result has all policies."""
        count = len(self.simulation.policies)
        return self.result is not None and len(self.result.policies) == count

    def _wait_for_compiler(self) -> None:
        """Wait until all policies are compiled; meanwhile show a result of those that are."""
        ready: list[str] = []
        patience = _LOADING
        for policy in fastest_first(self.simulation.policies):  # to compile
            compiler = start_compiling(policy, self.simulation.problem)
            compiler.join(patience)
            if compiler.is_alive():
                patience = 0.0  # it is not on disk, and so the others will hardly be
                self.being_compiled = policy
                if ready:
                    names = tuple(name for name in self.simulation.policies if name in ready)
                    part = replace(self.simulation, policies=names)
                    self.show(_simulate(part, _FIRST_RUNS, lambda *shares: self.stop.check()))
                while compiler.is_alive():
                    self.stop.check()
                    compiler.join(0.1)
                self.being_compiled = None
            ready.append(policy)


def _simulate(
    simulation: Simulation, runs: int, progress: Progress, out: Path | None = None
) -> Result:
    """Play the first runs of a simulation; those in ``out`` are read, and others kept there."""
    spec = replace(simulation.spec, runs=min(runs, simulation.spec.runs))
    policies = named_policies(simulation.policies, spec.horizon)
    return simulate_spec(simulation.problem, policies, spec, out=out, progress=progress)


def draw_regret(result: Result, kind: str, *, band: str, bounds: bool) -> bytes:
    """Return the library's figure of a result, as "png" or "svg"."""
    return draw(lambda: regret_figure(result, band=band, bounds=bounds), kind)


def draw(figure: Callable[[], Figure], kind: str) -> bytes:
    """Return the figure that a function makes, as "png" or "svg"."""
    with _drawing:
        return render(figure(), kind)


def as_csv(result: Result) -> bytes:
    """Return the content of the file that `Result.to_csv` writes."""
    return rows_to_csv(list(result.rows())).encode()


def python_lines(simulation: Simulation, *, band: str, bounds: bool) -> str:
    """Return Python code that runs the same simulation."""
    problem, spec = simulation.problem, simulation.spec
    source, remark = f"{file_name(problem.name)}.toml", "  # saved on the page, under Models"
    if problem.name in BUILT_IN and problem == built_in(problem.name):
        source, remark = problem.name, ""
    power = len(str(spec.horizon)) - 1
    horizon = f"10**{power}" if spec.horizon == 10**power else str(spec.horizon)
    # Settings are the fields that are not written below. Some are absent where they are the
    # default. Recorded times are no setting, and no page sets them.
    defaults = RunSpec().settings
    arguments = [
        f"{list(simulation.policies)!r}",
        f"truth={spec.truth!r}",
        f"horizon={horizon}",
        f"runs={spec.runs}",
        f"seed={spec.seed}",
        *(
            f"{name}={value!r}"
            for name, value in spec.settings.items()
            if value != defaults.get(name)
        ),
    ]
    drawing = f"band={band!r}{', bounds=True' if bounds else ''}"
    return f"""\
import fpbandits as fpb

problem = fpb.load_problem({source!r}){remark}
result = fpb.simulate(problem, {", ".join(arguments)})
print(result)
result.plot('regret.svg', {drawing})
result.to_csv('regret.csv')"""
