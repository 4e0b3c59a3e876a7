"""``migrate`` on the command line."""

from __future__ import annotations

import json
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
    said = "f has the history of 1 unit, 3 rewards, and takes requests\n"
    assert run(capsys, *words, "f") == (0, said, "")
    assert run(capsys, "verify", str(path))[1] == "3 decisions, all as logged\n"
    with closing(open_store(str(path))) as store:
        kept = store.experiment("f")
        assert kept is not None
        assert "0.3" in kept.definition
        row = store.unit((kept.id, "u"))
        assert row is not None
        assert row.steps == 3
    assert run(capsys, *words, "f") == (0, said, "")
    assert "unknown experiment 'x'" in refusal(
        capsys, "migrate", str(path), str(models), "--from", "x", "--to", "y"
    )
    assert "unknown policy" in refusal(capsys, *words, "g", "--policy", "none")


def test_it_says_what_was_left_out_what_is_pending_and_what_became_of_types(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, models = tmp_path / "a.db", tmp_path / "new.toml"
    models.write_text(PROBLEM.replace('"b"', '"-5%"').replace("y =", "z ="))
    with closing(open_store(str(path), make=True)) as store:
        experiment = put(store)
        for unit in "uv":
            for _ in range(4):
                one(store, experiment, Ask(unit))
            for number in range(3):
                one(store, experiment, Tell((unit, number), float(unit == "u")))
    words = ("migrate", str(path), str(models), "--from", "e", "--to", "f")
    assert "--retire 'b'" in refusal(capsys, *words)
    code, out, _ = run(capsys, *words, "--retire", "b", "--json")
    found = json.loads(out)
    assert (code, found["rewards"], found["retired"], found["pending"]) == (0, 4, {"b": 2}, 2)
    lines = run(capsys, *words, "--retire", "b")[1].splitlines()
    assert lines == [
        "f has the history of 2 units, 4 rewards, and takes requests",
        "2 rewards of 'b' left out: it is retired",
        "2 decisions of e are pending: send their rewards there, then run this command again",
        "",
        "units by their likeliest model, in e and then in f:",
        "  x        1  → 1 x",
        "  y        1  → 1 z",
    ]
