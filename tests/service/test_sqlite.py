"""A store in a SQLite file keeps what stores promise."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from stores import StoreContract

from fpbandits.errors import InputError, StorageError
from fpbandits.service.store import open_store


class TestSqlite(StoreContract):
    @pytest.fixture
    def address(self, tmp_path: Path) -> str:
        folder = tmp_path / "stores"
        folder.mkdir()
        return f"sqlite:///{folder}/store.db"

    @pytest.fixture
    def alter(self, address: str) -> Callable[[str], None]:
        def run(statement: str) -> None:
            path = address.removeprefix("sqlite:///")
            with closing(sqlite3.connect(path, isolation_level=None)) as connection:
                connection.execute(statement)

        return run


def test_a_commit_is_on_disk_before_it_returns(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        for name in ("_writer", "_reader"):
            connection = getattr(store, name)
            assert connection.execute("PRAGMA synchronous").fetchall() == [(2,)]
            assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with pytest.raises(InputError, match=r"a\.db: there is no such store"):
        open_store(str(path))
    assert not path.exists()
    path.write_text("something else entirely, and long enough to be looked at" * 20)
    with pytest.raises(StorageError, match=r"a\.db: file is not a database"):
        open_store(str(path), make=True)
    other = tmp_path / "b.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine (a)")
    for make in (True, False):
        with pytest.raises(StorageError, match="holds no store of fpbandits"):
            open_store(str(other), make=make)
    with closing(sqlite3.connect(other)) as connection:
        assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("mine",)]


def test_a_store_of_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    open_store(str(path), make=True).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StorageError, match="written with schema 99, and this version"):
        open_store(str(path))


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="unable to open database file"):
        open_store(str(tmp_path / "no" / "a.db"), make=True)
