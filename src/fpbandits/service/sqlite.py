"""A store in one SQLite file: nothing to install, one machine.

It is in WAL mode with ``synchronous=FULL``: a commit is on disk before it returns. A transaction
begins IMMEDIATE: only one writes at a time, so that no unit needs a lock of its own. Several
processes may share the file, one writing at a time.

If the file is replaced by another one, as when a back-up is restored, the next call opens that one.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote as escaped

from fpbandits.core.storage import shown
from fpbandits.errors import InputError, StorageError, UnavailableError, said, within
from fpbandits.service.statements import SCHEMA, check_schema, migrations, statements
from fpbandits.service.step import Event
from fpbandits.service.store import (
    UPGRADE_PATIENCE,
    Change,
    History,
    Store,
    Transaction,
    UnitRow,
    Wanted,
)

_APPLICATION = 0x66706264
"""What SQLite's file header says of whose file it is: "fpbd"."""

_TEMPORARY = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
)
"""Errors that may be gone a moment later."""


class Connection(sqlite3.Connection):
    """A connection that knows its files, by device and inode, and whether it is in WAL mode."""

    file: tuple[int, int] | None = None
    beside: Sequence[tuple[int, int] | None] = (None,)
    is_wal = False

    def use_wal(self) -> None:
        """Change to WAL mode, so that others can read while this one writes.

        A file that was copied may be in another mode.
        """
        if not self.is_wal:
            self.execute("PRAGMA journal_mode = WAL")
            self.is_wal = True


def _connect(path: Path, patience: float) -> Connection:
    # "rw" does not make a file that is not there.
    connection = sqlite3.connect(
        f"file:{escaped(str(path))}?mode=rw",
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
        factory=Connection,
        uri=True,
    )
    connection.file = _file(path)
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _file(path: Path) -> tuple[int, int] | None:
    """Return which file is there, by device and inode."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


@contextmanager
def _own_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into ours."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        # The lowest byte is the primary code; the others say more.
        temporary = code is not None and code & 0xFF in _TEMPORARY
        kind = UnavailableError if temporary else StorageError
        raise kind(said(error), place=(shown(path),)) from None


@contextmanager
def _writing(connection: Connection) -> Iterator[None]:
    """Commit what is done in this block, or roll it back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        if connection.in_transaction:
            connection.file = None  # this connection is of no use: `_current` opens another
        raise


def upgrade_file(path: Path) -> tuple[int, int]:
    """Apply the migrations that a file lacks; return its schemas before and after."""
    _check_exists(path)
    with _own_errors(path), within(shown(path)):
        connection = _connect(path, UPGRADE_PATIENCE)
        try:
            before = _schema(connection)
            if before > SCHEMA:
                check_schema(before)
            for number, migration in migrations("sqlite", before):
                with _writing(connection):
                    if _schema(connection) < number:  # another process may have been quicker
                        _migrate(connection, number, migration)
            return before, _schema(connection)
        finally:
            connection.close()


def _check_exists(path: Path) -> None:
    if not path.exists():
        raise InputError("there is no such store; fpbandits serve makes one", place=(str(path),))


def _schema(connection: Connection) -> int:
    """Return the schema of a store; refuse a file that is none."""
    ((kind,),) = connection.execute("PRAGMA application_id")
    if kind != _APPLICATION:
        raise StorageError("this holds no store of fpbandits")
    ((schema,),) = connection.execute("PRAGMA user_version")
    return int(schema)


def _migrate(connection: Connection, number: int, migration: Sequence[str]) -> None:
    """Run the statements of a migration."""
    for statement in migration:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {number}")


class SqliteStore(Store):
    """A store in a file; see the module's docstring."""

    def __init__(self, path: Path, *, make: bool, patience: float) -> None:
        self._path, self._sql, self._patience = path, statements("sqlite"), patience
        self._beside = [path.with_name(path.name + end) for end in ("-wal", "-shm")]
        if make:
            with suppress(OSError):  # SQLite says what is wrong when it opens the file
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        else:
            _check_exists(path)
        with _own_errors(path), within(shown(path)):
            self._writer = _connect(path, patience)
            try:
                self._install(make)
                self._reader = _connect(path, patience)
            except BaseException:
                self._writer.close()
                raise
        self._reader_lock = Lock()

    def _install(self, make: bool) -> None:
        """Make the tables in an empty file; refuse a file that is no store of this schema."""
        writer = self._writer
        if make and self._is_empty():
            writer.use_wal()
            with _writing(writer):
                if self._is_empty():
                    for number, migration in migrations("sqlite", 0):
                        _migrate(writer, number, migration)
                    writer.execute(f"PRAGMA application_id = {_APPLICATION}")
        check_schema(_schema(writer))

    def _is_empty(self) -> bool:
        ((tables,),) = self._writer.execute("SELECT count(*) FROM sqlite_schema")
        return not tables

    def _current(self, connection: Connection) -> Connection:
        """Return a connection to the file that is there now: this one, or a new one."""
        if (file := _file(self._path)) is None:
            raise UnavailableError("the file is gone", place=(shown(self._path),))
        if connection.file == file:
            if None in connection.beside:
                connection.beside = [_file(each) for each in self._beside]
            return connection
        for path, known in zip(self._beside, connection.beside, strict=False):
            if connection.file and known and known == _file(path):
                # SQLite would apply it to the new file, and spoil that.
                stale = f"{shown(path)} is of the file that was replaced: delete it"
                raise UnavailableError(stale, place=(shown(self._path),))
        connection.close()
        renewed = _connect(self._path, self._patience)
        with within(shown(self._path)):
            check_schema(_schema(renewed))
        return renewed

    @contextmanager
    def transaction(self, wanted: Wanted) -> Iterator[Transaction]:
        with self._writing() as writer:
            check_schema(_schema(writer))
            yield _SqliteTransaction(writer, self._sql, wanted)

    def check_writing(self) -> None:
        with self._writing() as writer:
            writer.execute(self._sql["heartbeat"])

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Write by the connection for units."""
        with _own_errors(self._path):
            self._writer = self._current(self._writer)
            self._writer.use_wal()
            with _writing(self._writer):
                yield self._writer

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with _own_errors(self._path), self._reader_lock:
            self._reader = self._current(self._reader)
            yield self._reader

    @contextmanager
    def _administering(self, *, alone: bool = False) -> Iterator[Connection]:
        # Only one transaction writes at a time, so this one is always alone.
        with self._reading() as connection:
            connection.use_wal()
            with _writing(connection):
                yield connection

    def due(
        self,
        most: int,
        without: Collection[str] = (),
        without_units: Collection[tuple[str, str]] = (),
    ) -> list[tuple[str, str]]:
        ((now,),) = self._read("now")
        left_out = json.dumps(list(without)), json.dumps(list(without_units))
        return self._read("due", now, now, *left_out, most)

    def _read_log(self, name: str, experiment: int, after: int, most: int) -> list[Any]:
        # Only one transaction writes at a time, so what is committed later has larger numbers.
        return self._read(name, experiment, after, most)

    @contextmanager
    def history(self, experiment: int) -> Iterator[History]:
        with _own_errors(self._path):
            connection = _connect(self._path, self._patience)
            try:
                connection.execute("BEGIN")
                yield _SqliteHistory(connection, self._sql, experiment)
            finally:
                connection.close()

    def close(self) -> None:
        self._writer.close()
        # A connection that is closed while another thread reads by it crashes the process.
        if self._reader_lock.acquire(timeout=self._patience):
            self._reader.close()
            self._reader_lock.release()


class _SqliteTransaction(Transaction):
    def __init__(self, writer: Connection, sql: Mapping[str, str], wanted: Wanted) -> None:
        self._writer, self._sql = writer, sql
        ((self.now,),) = writer.execute(sql["now"])
        self.current = frozenset(
            stamp
            for stamp in wanted.experiments
            if writer.execute(sql["stamp"], (stamp.id,)).fetchone() == stamp
        )
        # Each statement lets other threads in between, so one looks up many units.
        names, self.rows = defaultdict[int, list[str]](list), {}
        for experiment, name in (*wanted.asked, *wanted.touched):
            names[experiment].append(name)
        for experiment, own in names.items():
            for name, *row in writer.execute(sql["units"], (json.dumps(own), experiment)):
                self.rows[experiment, name] = UnitRow(*row)
        current = {stamp.id for stamp in self.current}
        for unit_key in wanted.asked:
            if unit_key not in self.rows and unit_key[0] in current:
                added = writer.execute(sql["add_unit"], unit_key).lastrowid
                assert added is not None
                self.rows[unit_key] = UnitRow(added, 0, None)
        self.decided = {}
        for unit_key, key in wanted.keys:
            unit = self.rows.get(unit_key)
            if unit is not None and unit.steps:
                row = writer.execute(sql["decided"], (unit.id, key)).fetchone()
                if row is not None:
                    self.decided.setdefault(unit_key, {})[key] = Event(*row)

    def resolutions(self, unit: int, number: int) -> Sequence[Event]:
        try:
            rows = self._writer.execute(self._sql["resolutions"], (unit, number)).fetchall()
        except sqlite3.Error as error:
            raise UnavailableError(said(error)) from None
        return [Event(*row) for row in rows]

    def write(self, changes: Sequence[Change]) -> None:
        for change in changes:
            if change.erase is not None:
                events = ((seq, change.id) for seq in change.erase.events)
                self._writer.executemany(self._sql["delete_event"], events)
                since = change.experiment, change.erase.after, change.id
                self._writer.execute(self._sql["delete_since"], since)
        self._writer.executemany(
            self._sql["change_unit"],
            [(change.steps, change.state, change.due, change.id) for change in changes],
        )
        self._writer.executemany(
            self._sql["add_event"],
            [
                (change.experiment, change.id, *event)
                for change in changes
                for event in change.events
            ],
        )


class _SqliteHistory(History):
    def __init__(self, connection: Connection, sql: Mapping[str, str], id: int) -> None:
        self._connection, self._sql, self._id = connection, sql, id

    def rows(self, name: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        return self._connection.execute(self._sql[name], (self._id, *values))
