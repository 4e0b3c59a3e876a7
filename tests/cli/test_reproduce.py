"""``fpbandits reproduce`` as a person and a script meet it; tests/paper has the report itself."""

from __future__ import annotations

from pathlib import Path

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
