from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.lab import simulations
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.precompile import start_compiling
from fpbandits.lab.simulations import Simulation, Work, as_csv, draw_regret, python_lines
from fpbandits.lab.tasks import StoppedError
from fpbandits.problem.problem import Problem
from fpbandits.simulation.result import Result
from fpbandits.simulation.spec import RunSpec

TWO = EXAMPLES["paper:two"].make()
SPEC = RunSpec(truth="theta2", horizon=10**12, runs=60, seed=3)
SIMULATION = Simulation(TWO, ("fp-ucb", "ucb1"), SPEC)


class Notes(Work):
    """Notes every partial result, and every value that an attribute has had."""

    changes: dict[str, list[Any]]

    def __init__(
        self, simulation: Simulation, look: Callable[[Notes], None] = lambda notes: None
    ) -> None:
        object.__setattr__(self, "changes", {})
        self.look = look
        self.shown: list[Result] = []
        super().__init__(simulation)

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        self.changes.setdefault(name, []).append(value)

    def show(self, result: Result) -> None:
        self.shown.append(result)
        self.look(self)

    @property
    def compiled(self) -> list[str | None]:
        return self.changes["being_compiled"][1:]


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Event:
    """Have FP-UCB compiled only when someone says so."""
    done = Event()

    def compile_slowly(word: str, problem: Problem) -> Thread:
        thread = Thread(target=done.wait if word == "fp-ucb" else list, daemon=True)
        thread.start()
        return thread

    monkeypatch.setattr(simulations, "start_compiling", compile_slowly)
    return done


def test_partial_results_grow_and_end_in_what_simulate_finds(tmp_path: Path) -> None:
    for word in SIMULATION.policies:
        start_compiling(word, TWO).join()
    notes = Notes(SIMULATION)
    notes.play()
    whole = fpb.simulate(TWO, ["fp-ucb", "ucb1"], truth="theta2", horizon=10**12, runs=60, seed=3)
    runs = [result.runs for result in notes.shown]
    assert runs[0] == 2
    assert runs == sorted(set(runs))
    for result in notes.shown:
        assert list(result.policies) == ["fp-ucb", "ucb1"]
        for policy in result.policies:
            assert np.array_equal(result.pulls[policy], whole.pulls[policy][: result.runs])
    assert runs[-1] == 60
    assert notes.compiled == []
    shares = notes.changes["share"]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    whole.to_csv(tmp_path / "regret.csv")
    assert as_csv(notes.shown[-1]) == (tmp_path / "regret.csv").read_bytes()


def test_what_is_compiled_is_shown_while_the_rest_is_not(slow: Event) -> None:
    notes = Notes(SIMULATION, lambda notes: slow.set())
    notes.play()
    assert [list(result.policies) for result in notes.shown[:2]] == [["ucb1"], ["fp-ucb", "ucb1"]]
    first, second = notes.shown[:2]
    assert np.array_equal(first.pulls["ucb1"], second.pulls["ucb1"])
    assert notes.compiled == ["fp-ucb", None]
    assert notes.shown[-1].runs == 60


def test_whoever_waits_for_the_compiler_may_stop(slow: Event) -> None:
    notes = Notes(SIMULATION, lambda notes: notes.stop.set())
    with pytest.raises(StoppedError):
        notes.play()
    assert not slow.is_set()
    assert [list(result.policies) for result in notes.shown] == [["ucb1"]]
    assert notes.compiled == ["fp-ucb"]


def test_stopped_in_the_middle_what_was_shown_stays() -> None:
    for word in SIMULATION.policies:
        start_compiling(word, TWO).join()
    notes = Notes(SIMULATION, lambda notes: notes.stop.set())
    with pytest.raises(StoppedError):
        notes.play()
    assert [result.runs for result in notes.shown] == [2]


def test_the_figure_is_the_librarys(tmp_path: Path) -> None:
    result = fpb.simulate(TWO, "ucb1", horizon=100, runs=3)
    for kind in ("png", "svg"):
        result.plot(tmp_path / f"regret.{kind}", band="ci", bounds=True)
        expected = (tmp_path / f"regret.{kind}").read_bytes()
        assert draw_regret(result, kind, band="ci", bounds=True) == expected


@pytest.mark.parametrize("name", ["paper:two", "pricing"])
def test_the_lines_do_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    problem = EXAMPLES[name].make()
    fpb.save_problem(problem, "pricing.toml")
    spec = RunSpec(truth=problem.models[-1], horizon=1000, runs=5, seed=2, shuffle=True)
    simulation = Simulation(problem, ("ucb1",), spec)
    notes = Notes(simulation)
    notes.play()
    exec(python_lines(simulation, band="std", bounds=True), {})
    assert Path("regret.csv").read_bytes() == as_csv(notes.shown[-1])
    assert Path("regret.svg").read_bytes() == draw_regret(
        notes.shown[-1], "svg", band="std", bounds=True
    )
    assert "ucb1" in capsys.readouterr().out


def test_an_edited_builtin_is_not_taken_for_the_builtin() -> None:
    other = fpb.Problem.bernoulli([[0.9, 0.5], [0.2, 0.6]], truth="theta1", name="paper:two")
    simulation = Simulation(other, ("ucb1",), RunSpec(truth="theta1", horizon=500, runs=5))
    lines = python_lines(simulation, band="ci", bounds=False)
    assert "load_problem('paper-two.toml')" in lines
    assert "horizon=500" in lines


class Compiler:
    """A thread that compiles a policy, and is done when it has been waited for so often."""

    def __init__(self, patience: int) -> None:
        self.patience, self.waited = patience, list[float]()

    def join(self, seconds: float) -> None:
        self.waited.append(seconds)

    def is_alive(self) -> bool:
        return len(self.waited) < self.patience


def test_who_is_not_on_disk_is_waited_for_and_the_next_not_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Policies without models come first: ucb1 is there, moss and frugal must be compiled."""
    compilers = {"ucb1": Compiler(1), "moss": Compiler(3), "frugal": Compiler(2)}
    played: list[tuple[tuple[str, ...], int]] = []

    def simulate(part: Simulation, runs: int, *others: Any) -> Any:
        played.append((part.policies, runs))
        return SimpleNamespace(runs=runs)

    monkeypatch.setattr(simulations, "start_compiling", lambda name, problem: compilers[name])
    monkeypatch.setattr(simulations, "_simulate", simulate)
    spec = RunSpec(truth="theta1", horizon=10, runs=1)
    notes = Notes(Simulation(TWO, ("frugal", "ucb1", "moss"), spec))
    notes.play()
    assert {name: compiler.waited for name, compiler in compilers.items()} == {
        "ucb1": [0.7],
        "moss": [0.7, 0.1, 0.1],
        "frugal": [0.0, 0.1],
    }
    whole = ("frugal", "ucb1", "moss")
    assert played == [(("ucb1",), 2), (("ucb1", "moss"), 2), (whole, 1)]
    assert notes.compiled == ["moss", None, "frugal", None]


@pytest.mark.parametrize(
    ("seconds", "runs", "partial"),
    [
        (0.125, 60, [2, 10, 18, 27, 40, 60]),  # eight per second, or half as many again
        (9.0, 10, [2, 3, 4, 6, 9, 10]),
        (0.1, 2, [2]),
        (0.1, 1, [1]),
    ],
)
def test_a_partial_result_comes_every_second(
    monkeypatch: pytest.MonkeyPatch, seconds: float, runs: int, partial: list[int]
) -> None:
    """``seconds`` is what a run takes; stored ones take no time."""
    clock = SimpleNamespace(now=100.0, played=0)
    shares: list[float] = []

    def simulate(simulation: Simulation, wanted: int, note: Any, out: Path) -> Any:
        clock.now += seconds * (wanted - clock.played)
        clock.played = wanted
        note("ucb1", 1.0, 0.5)
        shares.append(work.share)
        return SimpleNamespace(runs=wanted)

    monkeypatch.setattr(simulations, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    monkeypatch.setattr(simulations, "_simulate", simulate)
    monkeypatch.setattr(Work, "_wait_for_compiler", lambda work: None)
    spec = RunSpec(truth="theta1", horizon=10, runs=runs)
    work = Notes(Simulation(TWO, ("ucb1",), spec))
    assert work.share == 0
    work.play()
    assert [result.runs for result in work.shown] == partial
    assert shares == [0.5 * wanted / runs for wanted in partial]


def test_a_result_is_whole_if_it_has_all_policies() -> None:
    result = fpb.simulate(TWO, "ucb1", horizon=10, runs=2)
    for policies, is_whole in ((("ucb1",), True), (("ucb1", "frugal"), False)):
        work = Work(Simulation(TWO, policies, SPEC))
        assert not work.is_whole
        assert (work.band, work.bounds) == ("ci", False)
        work.result = result
        assert work.is_whole is is_whole


@pytest.mark.parametrize(
    ("problem", "spec", "arguments", "drawing"),
    [
        (
            TWO,
            RunSpec(truth="theta2", horizon=10**6, runs=7, seed=3),
            "load_problem('paper:two')\n|'theta2', horizon=10**6, runs=7, seed=3)",
            "'regret.svg', band='ci')",
        ),
        (
            EXAMPLES["pricing"].make(),
            RunSpec(truth="prior", horizon=1500, runs=7, seed=3, shuffle=True, delay="batch:3"),
            "load_problem('pricing.toml')  # saved on the page, under Models\n|'prior', "
            "horizon=1500, runs=7, seed=3, shuffle=True, delay='batch:3')",
            "'regret.svg', band='ci', bounds=True)",
        ),
    ],
)
def test_the_lines_in_full(problem: Problem, spec: RunSpec, arguments: str, drawing: str) -> None:
    loading, playing = arguments.split("|")
    lines = python_lines(
        Simulation(problem, ("ucb1", "moss"), spec), band="ci", bounds="bounds" in drawing
    )
    assert lines == (
        f"import fpbandits as fpb\n\nproblem = fpb.{loading}"
        f"result = fpb.simulate(problem, ['ucb1', 'moss'], truth={playing}\n"
        f"print(result)\nresult.plot({drawing}\nresult.to_csv('regret.csv')"
    )
