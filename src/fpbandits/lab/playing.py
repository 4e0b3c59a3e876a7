"""A simulation that shows partial results, of more and more runs.

A run depends on its spec and number alone, and runs that are kept in a folder are not played again.
So every partial result is what `simulate` finds for so many runs, and the last one is what it finds
for all of them. Each takes about a second, so that curves grow while someone looks.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Protocol

from fpbandits.lab.ahead import compiling, soonest_first
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

_FIRST = 2
"""Runs of the first partial result: soon there, and just enough for an interval."""

_SECONDS = 1.0

_SOON = 0.7
"""Seconds: machine code that is on disk is found sooner."""

_pen = Lock()
"""Matplotlib's style is one for all threads."""


@dataclass(frozen=True)
class Simulation:
    """What to simulate, policies by their names."""

    problem: Problem
    policies: tuple[str, ...]
    spec: RunSpec


class Watcher(Protocol):
    """Who looks at a simulation under way."""

    def compiles(self, policy: str | None) -> None:
        """Note which policy is being compiled, if one is."""

    def plays(self, share: float) -> None:
        """Note which share of all runs is played."""

    def shows(self, result: Result) -> None:
        """Show what there is; it may lack policies that are not compiled yet."""


def play_by_parts(simulation: Simulation, stop: Stop, watcher: Watcher) -> None:
    """Play all runs, and show every partial result; raise `StoppedError` once ``stop`` is set."""
    _wait_for_compiler(simulation, stop, watcher)
    runs = simulation.spec.runs
    with tempfile.TemporaryDirectory() as folder:
        played, wanted = 0, min(_FIRST, runs)
        while played < runs:

            def note(policy: str, share: float, share_of_all: float, upto: int = wanted) -> None:
                stop.check()
                watcher.plays(share_of_all * upto / runs)

            begun = time.perf_counter()
            result = _simulated(simulation, wanted, note, Path(folder, "runs"))
            pace = (wanted - played) / max(time.perf_counter() - begun, 1e-6)
            played = wanted
            watcher.shows(result)
            stop.check()
            more = max(played // 2, int(pace * _SECONDS), 1)
            wanted = min(runs, played + more)


def _wait_for_compiler(simulation: Simulation, stop: Stop, watcher: Watcher) -> None:
    """Wait until all policies are compiled, and show those that are while others are not."""
    there: list[str] = []
    patience = _SOON
    for word in soonest_first(simulation.policies):
        compiler = compiling(word, simulation.problem)
        compiler.join(patience)
        if compiler.is_alive():
            patience = 0.0  # nothing is on disk yet
            watcher.compiles(word)
            if there:
                some = tuple(each for each in simulation.policies if each in there)
                some_of_it = replace(simulation, policies=some)
                watcher.shows(_simulated(some_of_it, _FIRST, lambda *shares: stop.check()))
            while compiler.is_alive():
                stop.check()
                compiler.join(0.1)
            watcher.compiles(None)
        there.append(word)


def _simulated(
    simulation: Simulation, runs: int, progress: Progress, out: Path | None = None
) -> Result:
    spec = replace(simulation.spec, runs=min(runs, simulation.spec.runs))
    policies = named_policies(simulation.policies)
    return simulate_spec(simulation.problem, policies, spec, out=out, progress=progress)


def drawn(result: Result, kind: str, *, band: str, bounds: bool) -> bytes:
    """Return the library's figure of a result, as "png" or "svg"."""
    with _pen:
        return render(regret_figure(result, band=band, bounds=bounds), kind)


def as_csv(result: Result) -> bytes:
    """Return what `Result.to_csv` writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "regret.csv")
        result.to_csv(path)
        return path.read_bytes()


def python_lines(simulation: Simulation, *, band: str, bounds: bool) -> str:
    """Return the lines of Python that do the same."""
    problem, spec = simulation.problem, simulation.spec
    source, remark = f"{file_name(problem.name)}.toml", "  # as Models saves it"
    if problem.name in BUILT_IN and problem == built_in(problem.name):
        source, remark = problem.name, ""
    power = len(str(spec.horizon)) - 1
    horizon = f"10**{power}" if spec.horizon == 10**power else str(spec.horizon)
    usual = RunSpec().settings
    asked = [
        f"{list(simulation.policies)!r}",
        f"truth={spec.truth!r}",
        f"horizon={horizon}",
        f"runs={spec.runs}",
        f"seed={spec.seed}",
        *(f"{name}={value!r}" for name, value in spec.settings.items() if value != usual.get(name)),
    ]
    drawing = f"band={band!r}{', bounds=True' if bounds else ''}"
    return "\n".join(
        [
            "import fpbandits as fpb",
            "",
            f"problem = fpb.load_problem({source!r}){remark}",
            f"result = fpb.simulate(problem, {', '.join(asked)})",
            "print(result)",
            f"result.plot('regret.svg', {drawing})",
            "result.to_csv('regret.csv')",
        ]
    )
