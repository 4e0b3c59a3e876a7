"""``migrate`` on the command line."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from command import refusal, run
from stores import PROBLEM, one, put

from fpbandits.service.messages import Ask, Tell
from fpbandits.service.store import open_store


def test_new_models_take_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, models = tmp_path / "a.db", tmp_path / "new.toml"
    models.write_text(PROBLEM.replace("0.2", "0.3"))
    with closing(open_store(str(path), make=True)) as store:
        experiment = put(store)
        for number in range(3):
            one(store, experiment, Ask("u"))
            one(store, experiment, Tell(("u", number), 1.0))
    words = ("migrate", str(path), str(models), "--from", "e", "--to")
    assert run(capsys, *words, "f") == (
        0,
        "",
        "f has the history of 1 unit, and takes requests\n",
    )
    assert run(capsys, "verify", str(path))[1] == "3 decisions, all as logged\n"
    with closing(open_store(str(path))) as store:
        kept = store.experiment("f")
        assert kept is not None
        assert "0.3" in kept.definition
        row = store.unit((kept.id, "u"))
        assert row is not None
        assert row.steps == 3
    assert "'f' is there already" in refusal(capsys, *words, "f")
    assert "unknown experiment 'x'" in refusal(
        capsys, "migrate", str(path), str(models), "--from", "x", "--to", "y"
    )
    assert "unknown policy" in refusal(capsys, *words, "g", "--policy", "none")
