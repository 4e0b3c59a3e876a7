from __future__ import annotations

from pathlib import Path
from threading import Thread

import pytest

import fpbandits as fpb
from fpbandits.engine.compilations import compilations
from fpbandits.lab import precompile
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.precompile import compile_ahead, fastest_first, start_compiling

TWO = EXAMPLES["paper:two"].make()
DOSES = EXAMPLES["doses"].make()


def test_what_is_blind_comes_first() -> None:
    assert fastest_first(["frugal", "ucb1", "fp-ucb:slack=0.1"]) == [
        "ucb1",
        "frugal",
        "fp-ucb:slack=0.1",
    ]


@pytest.fixture(autouse=True)
def nothing_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever other tests of this process have had compiled."""
    monkeypatch.setattr(precompile, "_threads", {})


def test_each_policy_is_compiled_once_whatever_it_plays() -> None:
    first = start_compiling("ucb1", TWO)
    assert start_compiling("ucb1", DOSES) is first
    first.join()
    begun: list[int] = []
    with compilations(begun.append):
        for problem in (TWO, DOSES, EXAMPLES["cold start"].make()):
            fpb.simulate(problem, "ucb1", truth=problem.models[0], horizon=100, runs=3)
    assert begun == []


def test_what_was_compiled_ahead_plays_at_once() -> None:
    compile_ahead(["moss", "ucb1"], DOSES).join()
    begun: list[int] = []
    with compilations(begun.append):
        fpb.simulate(DOSES, ["moss", "ucb1"], truth=DOSES.models[0], horizon=100, runs=3)
        fpb.Agent(DOSES, "moss").ask()
    assert begun == []


def test_nothing_is_said_of_what_cannot_be_compiled_and_no_file_is_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text("print('someone has run me')")
    for word in ("ucb2", "fp-ucb:slack=", "fp-ucb:slack", f"{tmp_path}/mine.py:Mine"):
        compile_ahead([word], TWO).join()
    # FP-UCB knows nothing of contexts; what it refuses is no hindrance to what comes next.
    refused = start_compiling("fp-ucb", EXAMPLES["cold start"].make())
    refused.join()
    assert start_compiling("fp-ucb", EXAMPLES["cold start"].make()) is not refused
    assert capfd.readouterr() == ("", "")


def test_a_problem_of_one_model_will_do() -> None:
    """Where playing it fails, the next who asks tries again, in another thread."""
    one_model = fpb.Problem.bernoulli([[0.5, 0.4]])
    first = start_compiling("ucb1", one_model)
    first.join()
    assert start_compiling("ucb1", one_model) is first


def test_names_with_options_are_compiled_ahead_and_files_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[str] = []

    def note(name: str, problem: fpb.Problem) -> Thread:
        begun.append(name)
        done = Thread()
        done.start()
        return done

    monkeypatch.setattr(precompile, "start_compiling", note)
    compile_ahead(["fp-ucb:slack=0.1", "mine.py:Mine", "ucb1"], TWO).join()
    assert begun == ["ucb1", "fp-ucb:slack=0.1"]
