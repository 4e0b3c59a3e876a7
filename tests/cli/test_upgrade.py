"""``upgrade`` and ``adopt`` on the command line."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from command import refusal, run

from fpbandits.policies.fp_ucb import FPUCB
from fpbandits.service.store import open_store

OLD = Path(__file__).parent.parent / "service" / "store-0.6.0.db.gz"


def test_an_old_store_is_upgraded_and_a_changed_rule_adopted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(gzip.decompress(OLD.read_bytes()))
    assert "run fpbandits upgrade STORE" in refusal(capsys, "verify", str(path))
    monkeypatch.setattr(FPUCB, "revision", 5)  # as if this version had changed the rule
    code, out, said = run(capsys, "upgrade", str(path))
    assert (code, out) == (0, "")
    assert "the store has schema 3 (had 1)\n" in said
    assert "waiting: its rule has changed: fpbandits adopt STORE --experiment waiting\n" in said
    again = run(capsys, "upgrade", str(path))[2]
    assert again.startswith("the store has schema 3 (had it already)\n")
    assert "rebuilt" not in again
    words = ("verify", str(path), "--experiment", "waiting")
    code, out, _ = run(capsys, *words)
    decisions = int(out.split()[0])
    assert (code, out) == (
        0,
        f"{decisions} decisions, 0 as logged, {decisions} of other revisions not checked\n",
    )
    words = ("adopt", str(path), "--experiment", "waiting")
    assert run(capsys, *words) == (0, "", "waiting is decided by fp-ucb@5\n")
    assert "waiting" not in run(capsys, "upgrade", str(path))[2]


def test_states_of_an_earlier_form_are_rebuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(gzip.decompress(OLD.read_bytes()))
    run(capsys, "upgrade", str(path))
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE experiments SET states = 1 WHERE name IN ('waiting', 'forgetful')"
        )
    assert "the states of 2 experiments were rebuilt\n" in run(capsys, "upgrade", str(path))[2]
    with closing(open_store(str(path))) as store:
        assert {kept.states for kept in store.experiments()} == {2}


def test_what_cannot_be_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.db"
    assert "no such store" in refusal(capsys, "upgrade", str(path))
    open_store(str(path), make=True).close()
    assert "the store has none" in refusal(capsys, "adopt", str(path), "--experiment", "e")
