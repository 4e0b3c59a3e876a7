"""A store in a SQLite file keeps what stores promise."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from stores import StoreContract, events, one, put

from fpbandits.errors import InputError, StorageError, UnavailableError
from fpbandits.service import sqlite
from fpbandits.service.batches import handle_together
from fpbandits.service.experiment import Experiment
from fpbandits.service.export import export
from fpbandits.service.messages import Ask, Request, Tell
from fpbandits.service.statements import statements
from fpbandits.service.store import open_store, upgrade
from fpbandits.service.verify import verify


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
            put(store, name)
            store.check_writing()
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
    with pytest.raises(StorageError, match="has schema 99, and this version of fpbandits needs 3"):
        open_store(str(path))


def test_a_folder_that_cannot_be_written_to_is_said(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="unable to open database file"):
        open_store(str(tmp_path / "no" / "a.db"), make=True)


def checksums(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def test_whoever_only_reads_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        experiment = put(store)
        for _ in range(5):
            one(store, experiment, Ask("u"))
        with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
            connection.execute(f"VACUUM INTO '{folder}/copy.db'")
    before = checksums(folder)
    with closing(open_store(str(folder / "copy.db"))) as copy:
        assert verify(copy).decisions == 5
        export(copy, "e", tmp_path / "log.csv")
    assert checksums(folder) == before
    # Whoever writes to it lets others read meanwhile.
    with closing(open_store(str(folder / "copy.db"))) as copy:
        with copy.history(1) as history:
            one(copy, put(copy), Ask("u"))
            assert len(list(history.events())) == 6
        assert verify(copy).decisions == 6


def test_a_file_of_someone_else_is_left_as_it_is(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "b.db")) as connection:
        connection.execute("CREATE TABLE mine (a)")
    before = checksums(tmp_path)
    for make in (True, False):
        with pytest.raises(StorageError, match="holds no store of fpbandits"):
            open_store(str(tmp_path / "b.db"), make=make)
    assert checksums(tmp_path) == before


def test_only_its_owner_reads_a_store(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        one(store, put(store), Ask("u"))
        assert {each.stat().st_mode & 0o777 for each in tmp_path.iterdir()} == {0o600}


def test_a_file_that_was_replaced_is_opened_again(tmp_path: Path) -> None:
    """As when a back-up is restored while a server runs: what is answered is in the new file."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    with closing(open_store(str(path), make=True)) as store:
        experiment = put(store)
        one(store, experiment, Ask("u", "before"))
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"VACUUM INTO '{copy}'")
        one(store, experiment, Ask("u", "lost"))
        for end in ("", "-wal", "-shm"):
            path.with_name(f"a.db{end}").unlink()
        with pytest.raises(UnavailableError, match="the file is gone"):
            one(store, experiment, Ask("u"))
        copy.rename(path)
        assert one(store, experiment, Ask("u", "after"))["decision"] == "1@u"
        assert [event.key for _, event in events(store, experiment)] == ["before", "after"]
    with closing(open_store(str(path))) as store:
        assert [event.key for _, event in events(store, experiment)] == ["before", "after"]


def test_a_file_is_not_opened_with_the_wal_of_the_file_that_it_replaced(tmp_path: Path) -> None:
    """SQLite would apply it, and what was restored would be no database any more."""
    path, copy = tmp_path / "a.db", tmp_path / "copy.db"
    with closing(open_store(str(path), make=True)) as store:
        experiment = put(store)
        handle_together(store, [(experiment, Ask(f"u{n}")) for n in range(50)])
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(f"VACUUM INTO '{copy}'")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for n in range(10):
            one(store, experiment, Ask(f"lost{n}"))
        copy.replace(path)
        for end in ("-wal", "-shm"):
            stale = rf"a\.db{end} is of the file that was replaced: delete it"
            with pytest.raises(UnavailableError, match=stale):
                one(store, experiment, Ask("u0"))
            with pytest.raises(UnavailableError, match=stale):
                store.experiment("e")
            path.with_name(f"a.db{end}").unlink()
        assert one(store, experiment, Ask("u0"))["decision"] == "1@u0"
        assert len(events(store, experiment)) == 51
        assert verify(store).shown == []


def test_a_full_disk_passes(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        experiment = put(store)
        one(store, experiment, Ask("u"))
        writer: Any = store._writer  # type: ignore[attr-defined]
        ((pages,),) = writer.execute("PRAGMA page_count")
        writer.execute(f"PRAGMA max_page_count = {pages}")
        work: list[tuple[Experiment, Request]] = [
            (experiment, Ask(f"{n}{'u' * 180}")) for n in range(99)
        ]
        with pytest.raises(UnavailableError, match="full"):
            handle_together(store, work)
        writer.execute("PRAGMA max_page_count = 1000000")
        assert len(handle_together(store, work)) == 99
        assert verify(store).shown == []


def test_a_transaction_that_cannot_be_ended_costs_the_connection_and_no_more(
    tmp_path: Path,
) -> None:
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        experiment = put(store)
        broken: Any = Stuck(store._writer)  # type: ignore[attr-defined]
        store._writer = broken  # type: ignore[attr-defined]
        with pytest.raises(UnavailableError):
            one(store, experiment, Ask("u"))
        assert one(store, experiment, Ask("u"))["decision"] == "0@u"


def test_a_file_that_fails_within_a_step_is_no_fault_of_the_unit(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        experiment = put(store)
        one(store, experiment, Ask("u"))
        again = Tell(("u", 0), 1.0)
        one(store, experiment, again)
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(statements("sqlite"), "resolutions", "SELECT nothing")
            with pytest.raises(UnavailableError, match="nothing"):
                one(store, experiment, again)
        assert one(store, experiment, again)["status"] == "told"
    assert not [each for each in caplog.records if each.exc_info]


class Stuck:
    """A connection that can neither commit nor roll back."""

    in_transaction = True

    def __init__(self, connection: Any) -> None:
        self._connection, self.file = connection, connection.file

    def execute(self, text: str, *values: Any) -> Any:
        if text in ("COMMIT", "ROLLBACK"):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error
        return self._connection.execute(text, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_numbers_of_the_log_are_never_given_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(open_store(str(path), make=True)) as store:
        experiment = put(store)
        one(store, experiment, Ask("u"))
        one(store, experiment, Ask("v"))
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("DELETE FROM events WHERE seq = 2")
        one(store, experiment, Ask("u"))
        assert [line.seq for line in store.log(experiment.id, 0, 9)] == [1, 3]


def test_the_log_of_one_experiment_is_read_without_those_of_others(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    open_store(str(path), make=True).close()
    with closing(sqlite3.connect(path)) as connection:
        for name, index in (("log", "events_log"), ("due", "units_due")):
            values: Any = (1, 0, 9)
            if name == "due":
                values = (1, 1, "[]", "[]", 9)
            query = f"EXPLAIN QUERY PLAN {statements('sqlite')[name]}"
            plan = " ".join(str(row[3]) for row in connection.execute(query, values))
            assert f"INDEX {index}" in plan, plan
            assert "SCAN events" not in plan
            assert "SCAN units" not in plan


def test_an_empty_file_is_no_store_unless_one_may_be_made(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.touch()
    with pytest.raises(StorageError, match="holds no store of fpbandits"):
        open_store(str(path))
    assert path.read_bytes() == b""
    open_store(str(path), make=True).close()
    open_store(str(path)).close()


def test_the_mode_is_set_once_and_keys_of_new_units_are_not_looked_up(tmp_path: Path) -> None:
    """Both would cost time in every transaction."""
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        experiment = put(store)
        one(store, experiment, Ask("u", "k"))
        asked: list[str] = []
        for name in ("_writer", "_reader"):
            getattr(store, name).set_trace_callback(asked.append)
        one(store, experiment, Ask("v", "k"))
        assert not any("key = 'k'" in each for each in asked)
        one(store, experiment, Ask("u", "k"))
        assert sum("key = 'k'" in each for each in asked) == 1
        put(store, "f")
        assert not any("journal_mode" in each for each in asked)


def test_how_long_a_store_waits_for_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits, connect = list[float](), sqlite._connect

    def connecting(path: Path, patience: float) -> sqlite.Connection:
        waits.append(patience)
        return connect(path, patience)

    monkeypatch.setattr(sqlite, "_connect", connecting)
    path = str(tmp_path / "a.db")
    open_store(path, make=True, patience=0.5).close()
    open_store(path).close()
    upgrade(path)
    assert waits == [0.5, 0.5, 3.0, 3.0, 60.0]
