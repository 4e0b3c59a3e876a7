"""``fpbandits reproduce`` as a person and a script meet it; tests/paper has the report itself."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command import run


def test_mistakes_take_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    for words, message in (
        (["--runs", "9"], "runs is 9: it must be at least 10"),
        (["--runs", "many"], "--runs is 'many': expected a number"),
        (["--seed", "-1"], "seed is -1: it must be at least 0"),
        (["--from", str(tmp_path)], "there is no folder results in it"),
        (["--from", str(tmp_path), "--seed", "1"], "leave out --runs and --seed"),
        (["--out", str(tmp_path / "file")], "cannot be written to (Not a directory)"),
        (["--out", "."], "the report needs a folder of its own"),
        (["--out", ""], "--out is empty: name a folder"),
    ):
        code, out, err = run(capsys, "reproduce", *words)
        assert (code, out) == (2, "")
        assert err.startswith("error: ")
        assert message in err
        assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("words", "into", "expected"),
    [
        ([], "report", {"runs": 1000, "seed": 0, "source": None}),
        (["--runs", "50", "--seed", "3"], "report", {"runs": 50, "seed": 3, "source": None}),
        (["--out", "new"], "new", {"runs": 1000, "seed": 0, "source": None}),
        (["--from", "old"], "old", {"runs": 1000, "seed": 0, "source": Path("old")}),
        (
            ["--from", "old", "--out", "new"],
            "new",
            {"runs": 1000, "seed": 0, "source": Path("old")},
        ),
    ],
)
def test_what_is_asked_for(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    into: str,
    expected: dict[str, object],
) -> None:
    def reproduce(folder: Path, **given: object) -> Any:
        assert folder == Path(into)
        assert {name: given[name] for name in expected} == expected
        page = folder / "report.html"
        return SimpleNamespace(claims=[], path=page, summary=lambda: "2 claims hold")

    monkeypatch.setattr("fpbandits.paper.reproduce.reproduce", reproduce)
    monkeypatch.setattr("fpbandits.paper.reproduce.claims_json", lambda claims: b"[]\n")
    wrote = f"wrote {Path(into) / 'report.html'}\n"
    assert run(capsys, "reproduce", *words) == (0, "2 claims hold\n", wrote)
    assert run(capsys, "reproduce", *words, "--json") == (0, "[]\n", wrote)


@pytest.mark.parametrize("option", ["--runs", "--seed"])
def test_results_are_taken_as_they_are(capsys: pytest.CaptureFixture[str], option: str) -> None:
    code, _, err = run(capsys, "reproduce", "--from", "old", option, "50")
    assert code == 2
    assert err == "error: --from takes results as they are: leave out --runs and --seed\n"
