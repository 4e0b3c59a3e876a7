"""What is known of a unit. Over HTTP: test_http."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from stores import one, put

from fpbandits.errors import Error, UnavailableError
from fpbandits.service.beliefs import read_unit
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import Ask
from fpbandits.service.statuses import MissingError
from fpbandits.service.store import Store, open_store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with closing(open_store(str(path), make=True)) as store:
        yield store


def test_names_that_no_store_can_hold_are_not_looked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = put(store)
    monkeypatch.setattr(store, "unit", pytest.fail)
    for name in ("", "\0", "x" * 201, "\ud800"):
        with pytest.raises(MissingError, match="unknown unit"):
            read_unit(store, experiment, name, None, 0.05)


def test_a_unit_for_which_nothing_happened_is_unknown(store: Store, path: Path) -> None:
    experiment = put(store)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("INSERT INTO units (experiment, name, steps) VALUES (1, 'u', 0)")
    for name in ("u", "v"):
        with pytest.raises(MissingError, match="nothing was decided for it yet"):
            read_unit(store, experiment, name, None, 0.05)
    one(store, experiment, Ask("u"))
    assert read_unit(store, experiment, "u", None, 0.05)["pending"] == {"0@u": "a"}


def test_a_unit_that_is_damaged_is_no_failure_of_the_store(
    store: Store, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    experiment = put(store)
    one(store, experiment, Ask("u"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE units SET state = '{}'")

    with pytest.raises(Error, match="this unit's request; see the server's log") as caught:
        read_unit(store, experiment, "u", None, 0.05)
    assert type(caught.value) is Error
    assert [record.getMessage() for record in caplog.records] == ["a unit failed"]


def test_states_of_another_revision_are_not_read(store: Store, path: Path) -> None:
    one(store, put(store), Ask("u"))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("UPDATE experiments SET revision = 7, edition = edition + 1")

    kept = store.experiment("e")
    assert kept is not None
    with pytest.raises(UnavailableError, match=r"decided by .*@7.*: adopt that revision"):
        read_unit(store, Experiment.from_kept(kept), "u", None, 0.05)
