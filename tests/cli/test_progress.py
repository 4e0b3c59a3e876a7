"""What is written about long work where there is no terminal."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from numba import njit

from fpbandits.cli.progress import Bar, playing, track_cases
from fpbandits.errors import InputError


def test_titles_are_written_when_finished(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar({"a": "the [first]", "b": "the second"}) as bar:
        for name, share in (("a", 0.5), ("a", 1.0), ("b", 1.0)):
            bar.show(name, share, share / 2)
    assert capsys.readouterr().err == "1 of 2  the [first]\n2 of 2  the second\n"


def test_without_titles_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar({}) as bar:
        bar.show("a", 1.0, 1.0)
    assert list(track_cases(range(3))) == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_warnings_are_notes_and_an_interruption_says_what_is_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work() -> None:
        with playing(Path("here"), 3, None) as how:
            assert (how["workers"], how["executor"]) == (3, None)
            how["progress"]("a", 0.5, 0.25)
            warnings.warn("look [out]", stacklevel=1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert capsys.readouterr().err == (
        "note: look [out]\ninterrupted at 25%: finished runs are kept in here, and the same "
        "command goes on from there\n"
    )


def test_workers_are_counted_once() -> None:
    with pytest.raises(InputError, match="--dask has workers of its own"), playing(None, 2, "tcp:"):
        pass


def test_a_terminal_of_no_width_is_told_all_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    with Bar({"a": "the first"}) as bar:
        bar.show("a", 1.0, 1.0)
    assert capsys.readouterr().err == "1 of 1  the first\n"


def test_a_terminal_is_told_of_compilations_until_all_have_ended(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty bar that stands still for ten seconds looks like a fault."""
    monkeypatch.setenv("FORCE_COLOR", "1")

    outer: Any = njit(lambda x: x + 1)
    with playing(None, 1, None) as how:
        progress: Any = how["progress"]
        bar = progress.__self__
        seen = [bar.tasks[0].description]
        change = bar.update

        def watched(*given: Any, **values: Any) -> None:
            change(*given, **values)
            seen.append(bar.tasks[0].description)

        monkeypatch.setattr(bar, "update", watched)
        task: Any = bar.tasks[0]
        assert task.total is None, "it pulses"
        outer(1)
        outer(2)
        bar.compiling(1)
        bar.refresh()
        how["progress"]("fp-ucb", 0.5, 0.5)
        assert seen[-1] == "compiling … (for the first time only)"
        bar.compiling(-1)
        how["progress"]("fp-ucb", 0.6, 0.6)
        assert [task.total, task.completed] == [1, 0.6]
    phases = [words for words, before in zip(seen, ["", *seen], strict=False) if words != before]
    compiling = "compiling … (for the first time only)"
    assert phases == ["starting …", compiling, "playing …", compiling, "playing …", "fp-ucb"]
    outer(1.5)
    assert seen[-1] == "fp-ucb", "whoever is done hears no more"
    assert "compiling …" in capsys.readouterr().err


def test_a_bar_is_short_and_goes_when_it_is_done() -> None:
    bar = Bar({})
    first: Any = bar.columns[0]
    assert first.bar_width == 20
    assert bar.live.transient


def test_work_may_be_interrupted_before_it_begins(capsys: pytest.CaptureFixture[str]) -> None:
    def work(out: Path | None) -> None:
        with playing(out):
            raise KeyboardInterrupt

    for out, said in (
        (Path("here"), "interrupted at 0%: finished runs are kept in here"),
        (None, ""),
    ):
        with pytest.raises(KeyboardInterrupt):
            work(out)
        err = capsys.readouterr().err
        assert err.startswith(said)
        assert bool(err) is bool(said)


def test_a_bar_pulses_until_something_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar({"a": "the first"}) as bar:
        task: Any = bar.tasks[0]
        bar.show("a", 0.0, 0.0)
        assert (task.total, task.description) == (None, "the first")
        bar.show("a", 0.5, 0.25)
        assert (task.total, task.completed, bar.share) == (1, 0.25, 0.25)
    assert capsys.readouterr().err == ""


def test_remarks_are_whole_lines_of_plain_text(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    words = "100 :smile: [bold]" + " words" * 100
    Bar({}).say(words)
    assert capsys.readouterr().err == f"{words}\n"


def test_notes_are_said_once_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    with playing(notes=["first", "second"]) as how:
        assert capsys.readouterr().err == ""
        how["progress"]("a", 0.5, 0.5)
        assert capsys.readouterr().err == "note: first\nnote: second\n"
        how["progress"]("a", 1.0, 1.0)
    with playing(notes=["third"]):
        pass
    assert capsys.readouterr().err == "note: third\n"


def test_a_terminal_sees_an_analysis_go_on_and_its_bar_go(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert list(track_cases(range(3))) == [0, 1, 2]
    out, err = capsys.readouterr()
    assert out == ""
    assert "analyzing" in err
    assert err.endswith("\x1b[1A\x1b[2K"), "its line is erased"
