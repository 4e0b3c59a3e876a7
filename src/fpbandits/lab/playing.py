"""A simulation that shows what it has: runs are played in instalments, each of them a result.

A run depends on its seed and number alone, and a folder of finished runs lets the same question go
on. So every instalment is what `simulate` finds for so many runs, and the last one is what it finds
for all of them. Each takes about a second, so that curves grow while someone looks.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from fpbandits.agent import Agent
from fpbandits.builtin import BUILT_IN, built_in
from fpbandits.lab.tasks import Stop
from fpbandits.lab.workbook import file_name
from fpbandits.policies import DEFAULT, parse_policy
from fpbandits.policies.ready import refusal
from fpbandits.problem import Problem
from fpbandits.report.figures import render
from fpbandits.report.regret import regret_figure
from fpbandits.simulation.cell import make_cell
from fpbandits.simulation.kernel import new_meter
from fpbandits.simulation.result import Result
from fpbandits.simulation.simulate import simulate

_FIRST = 2
"""Runs of the first instalment: soon there, and just enough for an interval."""

_SECONDS = 1.0

STARTERS = (DEFAULT.name, "ucb1")
"""The policies that are chosen until someone chooses others."""

_pen = Lock()
"""Matplotlib's style is one for all threads."""


@dataclass(frozen=True)
class Question:
    """What to simulate; ``true`` is a model's name, or "prior"."""

    problem: Problem
    policies: tuple[str, ...]
    true: str
    horizon: int
    runs: int
    seed: int = 0
    shuffle: bool = False


def instalments(
    question: Question,
    stop: Stop,
    show: Callable[[Result], None],
    progress: Callable[[float], None],
) -> None:
    """Play all runs, and show what there is after every instalment; told to stop, raise."""
    with tempfile.TemporaryDirectory() as folder:
        played, wanted = 0, min(_FIRST, question.runs)
        while played < question.runs:

            def watch(policy: str, share: float, share_of_all: float, upto: int = wanted) -> None:
                stop.check()
                progress(share_of_all * upto / question.runs)

            begun = time.perf_counter()
            result = simulate(
                question.problem,
                list(question.policies),
                true=question.true,
                horizon=question.horizon,
                runs=wanted,
                seed=question.seed,
                shuffle=question.shuffle,
                out=Path(folder, "runs"),
                progress=watch,
            )
            pace = (wanted - played) / max(time.perf_counter() - begun, 1e-6)
            played = wanted
            show(result)
            stop.check()
            more = max(played // 2, int(pace * _SECONDS), 1)
            wanted = min(question.runs, played + more)


def warm_up(problem: Problem) -> None:
    """Have the policies that the lab begins with compiled, or their machine code found on disk."""
    for word in STARTERS:
        policy = parse_policy(word)
        if refusal(policy, problem) is None:
            cell = make_cell(problem, policy, true=problem.parameters[0], horizon=10, runs=1)
            cell.play(range(1), new_meter())
    Agent(problem, STARTERS[0]).ask(problem.contexts[0] if problem.contexts else None)


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


def python_lines(question: Question, *, band: str, bounds: bool) -> str:
    """Return the lines of Python that do the same."""
    problem = question.problem
    source, remark = f"{file_name(problem.name)}.toml", "  # as Models saves it"
    if problem.name in BUILT_IN and problem == built_in(problem.name):
        source, remark = problem.name, ""
    power = len(str(question.horizon)) - 1
    horizon = f"10**{power}" if question.horizon == 10**power else str(question.horizon)
    asked = [
        f"{list(question.policies)!r}",
        f"true={question.true!r}",
        f"horizon={horizon}",
        f"runs={question.runs}",
        f"seed={question.seed}",
        *(["shuffle=True"] if question.shuffle else []),
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
