"""``verify`` and ``export`` on the command line."""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command import refusal, run
from stores import PROBLEM, one, put

from fpbandits.cli.verify import show_count
from fpbandits.errors import InputError
from fpbandits.logs.log import read_log
from fpbandits.service.batches import handle_together
from fpbandits.service.experiment import Experiment
from fpbandits.service.export import export as export_log
from fpbandits.service.messages import Ask, Request, Tell
from fpbandits.service.store import open_store
from fpbandits.service.verify import verify as verify_log


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    with closing(open_store(str(path), make=True)) as store:
        for name in ("e", "f"):
            experiment = put(store, name)
            for number in range(3):
                one(store, experiment, Ask("u"))
                one(store, experiment, Tell(("u", number), 1.0))
    return path


def test_all_as_logged(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "verify", str(store)) == (0, "6 decisions, all as logged\n", "")
    words = ("verify", f"sqlite:///{store}", "--experiment", "e")
    assert run(capsys, *words)[1] == "3 decisions, all as logged\n"
    code, out, _ = run(capsys, "verify", str(store), "--json")
    assert (code, json.loads(out)["as_logged"]) == (0, True)


def test_what_is_being_deleted_is_left_out(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("UPDATE experiments SET status = 'deleting' WHERE name = 'e'")
        connection.execute("DELETE FROM events WHERE seq < 3")
    said = "e is left out: it is being deleted\n"
    assert run(capsys, "verify", str(store)) == (0, "3 decisions, all as logged\n", said)
    words = (str(store), "--experiment", "e")
    assert "'e' is being deleted" in refusal(capsys, "verify", *words)
    assert "'e' is being deleted" in refusal(capsys, "export", *words, str(store) + ".csv")


def test_what_differs_is_shown_with_exit_code_1(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("UPDATE events SET arm = 'b' WHERE seq = 1")
    code, out, err = run(capsys, "verify", str(store))
    assert code == 1
    first, *_, last = out.splitlines()
    assert first == "e: 0@u: logged b, and now it is a (0@u)"
    assert last.startswith("6 decisions, ")
    assert last.endswith(" differences")
    assert err == ""
    assert run(capsys, "verify", str(store), "--experiment", "f")[0] == 0


def test_an_exported_log_is_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "a.db", tmp_path / "log.csv"
    with closing(open_store(str(path), make=True)) as store:
        experiment = put(store)
        for place in range(40):
            unit = f"u{place}"
            asks: list[tuple[Experiment, Request]] = [(experiment, Ask(unit))] * 4
            tells = [(experiment, Tell((unit, n), float((place + n) % 3 == 0))) for n in range(4)]
            handle_together(store, [*asks, *tells])
    code, _, said = run(capsys, "export", str(path), str(out), "--experiment", "e")
    assert (code, said) == (0, f"wrote 160 rewards to {out}\n")
    header, first, *_ = out.read_text().splitlines()
    assert header == "unit,arm,reward,propensity,among,time,told,decision,key,inherited"
    assert first.split(",")[:4] == ["u0", "a", "1.0", "1.0"]
    words = ("--unit", "unit", "--arm", "arm", "--reward", "reward", "--types", "1", "--json")
    code, found, _ = run(capsys, "fit", str(out), *words)
    assert (code, json.loads(found)["events"]) == (0, 160)


def test_what_cannot_be_is_one_line(
    store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no such store" in refusal(capsys, "verify", str(tmp_path / "none.db"))
    assert "did you mean" in refusal(capsys, "verify", str(store), "--experiment", "ee")
    out = tmp_path / "log.txt"
    words = ("export", str(store), str(out), "--experiment")
    assert "unknown file ending '.txt'" in refusal(capsys, *words, "e")
    out = tmp_path / "no" / "log.csv"
    assert "cannot be written" in refusal(
        capsys, "export", str(store), str(out), "--experiment", "e"
    )
    assert sorted(each.name for each in tmp_path.iterdir() if "db" not in each.name) == []


def test_arms_that_look_like_formulas_and_long_ones_come_back_from_an_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A spreadsheet would compute "-10%": so a cell begins with an apostrophe, which is no name."""
    path, out = tmp_path / "a.db", tmp_path / "log.csv"
    arms = ["-10%", "=1+1"]
    problem = PROBLEM.replace('["a", "b"]', json.dumps(arms))
    with closing(open_store(str(path), make=True)) as store:
        experiment = put(store, problem=problem)
        for number in range(6):
            one(store, experiment, Ask("@u"))
            one(store, experiment, Tell(("@u", number), float(number % 2)))
    run(capsys, "export", str(path), str(out), "--experiment", "e")
    assert "'-10%" in out.read_text()
    log = read_log(out, unit="unit", arm="arm", reward="reward")
    assert set(log.arms) == set(arms)
    digits = "9" * 5000
    out.write_text(f"unit,arm,reward\nu,{digits},1\nv,{digits}1,0\n")
    with pytest.raises(InputError, match="its name has 5,000 of 1000 letters"):
        read_log(out, unit="unit", arm="arm", reward="reward")


@pytest.mark.parametrize(
    ("outcome", "code", "lines"),
    [
        (
            {"differences": 1200, "shown": ["first", "second"], "unchecked": 5},
            1,
            ["first", "second", "… and 1,198 more", "3,000 decisions, 1,200 differences"],
        ),
        (
            {"differences": 1, "shown": ["first"]},
            1,
            ["first", "3,000 decisions, 1 difference"],
        ),
        (
            {"unchecked": 1800},
            0,
            ["3,000 decisions, 1,200 as logged, 1,800 of other revisions not checked"],
        ),
        ({}, 0, ["3,000 decisions, all as logged"]),
    ],
)
def test_what_was_found_in_words_and_as_json(
    store: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    outcome: dict[str, Any],
    code: int,
    lines: list[str],
) -> None:
    usual = {"decisions": 3000, "differences": 0, "shown": [], "unchecked": 0, "deleting": ["f"]}
    found = {**usual, **outcome}
    service = sys.modules[verify_log.__module__]
    monkeypatch.setattr(service, "verify", lambda *given: SimpleNamespace(**found))
    said = "f is left out: it is being deleted\n"
    assert run(capsys, "verify", str(store)) == (code, "".join(f"{x}\n" for x in lines), said)
    printed = json.dumps({**found, "as_logged": code == 0}) + "\n"
    assert run(capsys, "verify", str(store), "--json") == (code, printed, said)


@pytest.mark.parametrize(
    ("exported", "lines"),
    [
        (
            {"counted": 1200, "inherited": 1000, "blocked": 1, "pending": 2},
            [
                "wrote 1,200 rewards, 1,000 of them inherited, to {}",
                "1 reward behind 2 pending decisions do not count yet, and are left out",
            ],
        ),
        ({"counted": 1, "inherited": 0, "blocked": 0, "pending": 3}, ["wrote 1 reward to {}"]),
    ],
)
def test_what_was_exported_in_words_and_as_json(
    store: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    exported: dict[str, int],
    lines: list[str],
) -> None:
    service = sys.modules[export_log.__module__]
    monkeypatch.setattr(service, "export", lambda *given: SimpleNamespace(**exported))
    words = ("export", str(store), "log.csv", "--experiment", "e")
    said = "".join(f"{line}\n" for line in lines).format("log.csv")
    assert run(capsys, *words) == (0, "", said)
    assert run(capsys, *words, "--json") == (0, f"{json.dumps(exported)}\n", said)


def test_a_terminal_is_shown_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with show_count("events") as tell:
        tell(1200)
    assert capsys.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with show_count("events") as tell:
        tell(1200)
    out, err = capsys.readouterr()
    assert out == ""
    assert "1,200 events" in err
    assert err.endswith("\x1b[1A\x1b[2K"), "its line is erased"
