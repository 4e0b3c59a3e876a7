"""``fpbandits sweep`` as a person and a script meet it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from studies import write_study

from fpbandits.cli import main
from fpbandits.simulation.cell import Cell


def test_the_command_resumes_and_may_ask_for_more_runs(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = write_study(tmp_path)

    def run(*words: str) -> tuple[str, str]:
        with pytest.raises(SystemExit) as caught:
            main(["sweep", str(file), *words])
        assert caught.value.code == 0
        output = capsys.readouterr()
        return output.out, output.err

    asked = file.read_text()
    monkeypatch.chdir(tmp_path)
    text, error = run("--runs", "3")
    assert "paper:two, truth theta1" in text
    assert "±" in text
    assert error == f"wrote {Path('study-out/study.csv')}, study.png and study.svg\n"
    assert "means of 6 runs; 2 seeds together; T = 200." in text
    assert (tmp_path / "study-out" / "study.toml").read_text() == asked
    fewer = (tmp_path / "study-out" / "study.csv").read_bytes()
    played: list[int] = []
    play = Cell.play

    def counting(cell: Cell, runs: range, *others: Any) -> Any:
        played.extend(runs)
        return play(cell, runs, *others)

    monkeypatch.setattr(Cell, "play", counting)
    run()
    assert set(played) == {3, 4, 5, 6}
    whole = (tmp_path / "study-out" / "study.csv").read_bytes()
    printed = json.loads(run("--out", "fresh", "--json")[0])
    assert (tmp_path / "fresh" / "study.csv").read_bytes() == whole != fewer
    assert len(printed["rows"]) == whole.count(b"\n") - 1
    assert {"schema", "name", "against", "versions"} < printed.keys()
    file.write_text(asked.replace("seeds = [0, 5]", "seeds = [0, 6]"))
    with pytest.raises(SystemExit) as caught:
        main(["sweep", str(file)])
    assert caught.value.code == 2
    assert "error: study-out: holds other runs (" in capsys.readouterr().err
    assert (tmp_path / "study-out" / "study.csv").read_bytes() == whole


def test_names_are_not_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'name = "$x_{"\nruns = 2\nhorizons = [5, 6]\n'
        'problems = [{name = "[red]$y^", models = {a = [1, 0]}, truth = "a"}, "paper:two"]'
    )
    with pytest.raises(SystemExit) as caught:
        main(["sweep", str(path), "--out", str(tmp_path / "out")])
    assert caught.value.code == 0
    assert "[red]$y^, truth a" in capsys.readouterr().out
