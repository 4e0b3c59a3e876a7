"""``migrate`` on the command line."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from command import refusal, run
from stores import PROBLEM, one, put

from fpbandits.cli.migrate import _describe
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import Ask, Tell
from fpbandits.service.migrate import Migration
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


def test_it_says_why_units_were_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, models = tmp_path / "a.db", tmp_path / "new.toml"
    moving = PROBLEM + "[transitions]\nx = {x = 0.9, y = 0.1}\ny = {x = 0.1, y = 0.9}\n"
    models.write_text(moving)
    words = ("migrate", str(path), str(models), "--from", "e", "--to", "f")
    with closing(open_store(str(path), make=True)) as store:
        old = put(store, problem=moving, policy="frugal")
        for unit in "uvw":
            for _ in range(2):
                one(store, old, Ask(unit))
            one(store, old, Tell((unit, 0), 1.0))
        run(capsys, *words)
        kept = store.experiment("f")
        assert kept is not None
        new = Experiment.from_kept(kept)
        one(store, new, store.find_events((new.id, "u")))
        one(store, new, Ask("v"))
        one(store, old, store.find_events((old.id, "w")))
        for unit in "uv":
            one(store, old, Tell((unit, 1), 1.0))
    lines = run(capsys, *words)[1].splitlines()
    assert lines == [
        "f has the history of 1 unit, 1 reward, and takes requests",
        "1 unit left out: erased in f",
        "1 unit erased in e and not in f, which still has its history: erase it there, too",
        "1 reward of 1 unit left out: the truth moves with every decision, and f has decided since",
    ]
    found = json.loads(run(capsys, *words, "--json")[1])
    assert (found["erased"], found["not_erased"], found["decided"]) == (1, 1, {"v": 1})


def test_a_control_group_gets_another_arm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, models = tmp_path / "a.db", tmp_path / "new.toml"
    models.write_text(PROBLEM.replace('"b"', '"c"'))
    with closing(open_store(str(path), make=True)) as store:
        one(store, put(store, control={"arm": "b", "share": 0.25}), Ask("u"))
    words = ("migrate", str(path), str(models), "--from", "e", "--to", "f", "--retire", "b")
    assert "give it another one with --control ARM" in refusal(capsys, *words)
    assert run(capsys, *words, "--control", "c")[0] == 0
    with closing(open_store(str(path))) as store:
        kept = store.experiment("f")
        assert kept is not None
        assert json.loads(kept.definition)["control"] == {"arm": "c", "share": 0.25}


MANY = Migration(
    units=1200,
    rewards=5000,
    added=1,
    retired=Counter(b=1, c=2000),
    erased=2,
    not_erased=3,
    decided=Counter(u=2, v=3),
    pending=4,
    blocked=1,
    types={"loyal": Counter(keen=2, cool=1000), "no": Counter(cool=1)},
)


@pytest.mark.parametrize(
    ("migration", "lines"),
    [
        (
            MANY,
            [
                "new has the history of 1,200 units, 5,000 rewards, and takes requests",
                "1 reward of these came with this run",
                "1 reward of 'b' left out: it is retired",
                "2,000 rewards of 'c' left out: it is retired",
                "2 units left out: erased in new",
                "3 units erased in old and not in new, which still has their history: erase them "
                "there, too",
                "5 rewards of 2 units left out: the truth moves with every decision, and new has "
                "decided since",
                "4 decisions of old are pending, and block 1 reward: send their rewards there, "
                "then run this command again",
                "",
                "units by their likeliest model, in old and then in new:",
                "  loyal    1,002  → 1,000 cool, 2 keen",
                "  no           1  → 1 cool",
            ],
        ),
        (
            Migration(1, 1, 1, not_erased=1, types={"x": Counter(y=1)}),
            [
                "new has the history of 1 unit, 1 reward, and takes requests",
                "1 unit erased in old and not in new, which still has its history: erase it "
                "there, too",
            ],
        ),
        (
            Migration(2, 2, 0, types={"x": Counter(x=1, y=1)}),
            [
                "new has the history of 2 units, 2 rewards, and takes requests",
                "",
                "units by their likeliest model, in old and then in new:",
                "  x        2  → 1 x, 1 y",
            ],
        ),
    ],
)
def test_a_migration_in_words(migration: Migration, lines: list[str]) -> None:
    assert _describe(migration, "old", "new") == "\n".join(lines) + "\n"
