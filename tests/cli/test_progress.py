"""What is written about long work where there is no terminal."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from fpbandits.cli.progress import Bar, playing, tracked
from fpbandits.errors import InputError


def test_titles_are_written_when_finished(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar({"a": "the [first]", "b": "the second"}) as bar:
        for name, share in (("a", 0.5), ("a", 1.0), ("b", 1.0)):
            bar.show(name, share, share / 2)
    assert capsys.readouterr().err == "1 of 2  the [first]\n2 of 2  the second\n"


def test_without_titles_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar({}) as bar:
        bar.show("a", 1.0, 1.0)
    assert list(tracked(range(3))) == [0, 1, 2]
    assert capsys.readouterr().err == ""


def test_warnings_are_notes_and_an_interruption_says_what_is_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work() -> None:
        with playing(Path("here"), 3, None) as (bar, how):
            assert (how["workers"], how["executor"]) == (3, None)
            how["progress"]("a", 0.5, 0.25)
            assert bar.share == 0.25
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
