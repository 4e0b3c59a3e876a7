from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.playing import Question, as_csv, drawn, instalments, python_lines
from fpbandits.lab.tasks import Stop, StoppedError
from fpbandits.simulation.result import Result

TWO = EXAMPLES["paper:two"].make()
QUESTION = Question(TWO, ("fp-ucb", "ucb1"), "theta2", 10**12, 60, seed=3)


def test_instalments_grow_and_end_in_what_simulate_finds(tmp_path: Path) -> None:
    shown: list[Result] = []
    shares: list[float] = []
    instalments(QUESTION, Stop(), shown.append, shares.append)
    whole = fpb.simulate(TWO, ["fp-ucb", "ucb1"], true="theta2", horizon=10**12, runs=60, seed=3)
    runs = [result.runs for result in shown]
    assert runs[0] == 2
    assert runs == sorted(set(runs))
    for result in shown:
        for policy in result.policies:
            assert np.array_equal(result.pulls[policy], whole.pulls[policy][: result.runs])
    assert runs[-1] == 60
    assert shares == sorted(shares)
    assert shares[-1] == 1
    whole.to_csv(tmp_path / "regret.csv")
    assert as_csv(shown[-1]) == (tmp_path / "regret.csv").read_bytes()


def test_stopped_in_the_middle_what_was_shown_stays() -> None:
    stop, shown = Stop(), list[Result]()

    def show(result: Result) -> None:
        shown.append(result)
        stop.set()

    with pytest.raises(StoppedError):
        instalments(QUESTION, stop, show, lambda share: None)
    assert [result.runs for result in shown] == [2]


def test_the_figure_is_the_librarys(tmp_path: Path) -> None:
    result = fpb.simulate(TWO, "ucb1", horizon=100, runs=3)
    for kind in ("png", "svg"):
        result.plot(tmp_path / f"regret.{kind}", band="ci", bounds=True)
        expected = (tmp_path / f"regret.{kind}").read_bytes()
        assert drawn(result, kind, band="ci", bounds=True) == expected


@pytest.mark.parametrize("name", ["paper:two", "pricing"])
def test_the_lines_do_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    problem = EXAMPLES[name].make()
    fpb.save_problem(problem, "pricing.toml")
    question = Question(problem, ("ucb1",), problem.parameters[-1], 1000, 5, seed=2, shuffle=True)
    shown: list[Result] = []
    instalments(question, Stop(), shown.append, lambda share: None)
    exec(python_lines(question, band="std", bounds=True), {})
    assert Path("regret.csv").read_bytes() == as_csv(shown[-1])
    assert Path("regret.svg").read_bytes() == drawn(shown[-1], "svg", band="std", bounds=True)
    assert "ucb1" in capsys.readouterr().out


def test_an_edited_builtin_is_not_taken_for_the_builtin() -> None:
    other = fpb.Problem.bernoulli([[0.9, 0.5], [0.2, 0.6]], true="theta1", name="paper:two")
    lines = python_lines(Question(other, ("ucb1",), "theta1", 500, 5), band="ci", bounds=False)
    assert "load_problem('paper-two.toml')" in lines
    assert "horizon=500" in lines
