"""A store in one SQLite file: nothing to install, one machine.

It is in WAL mode with ``synchronous=FULL``: a commit is on disk before it returns. A transaction
begins IMMEDIATE: whoever writes is alone, so that no unit needs a lock of its own. Several
processes may share the file, one writing at a time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from fpbandits.core.storage import shown
from fpbandits.errors import StorageError, UnavailableError, said
from fpbandits.service.step import Event
from fpbandits.service.store import (
    SCHEMA,
    Change,
    History,
    Kept,
    Logged,
    Store,
    Transaction,
    UnitKey,
    UnitKeys,
    UnitRow,
    existing,
    statements,
)

_APPLICATION = 0x66706264
"""What SQLite's file header says of whose file it is: "fpbd"."""

_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)


class SqliteStore(Store):
    """A store in a file; see the module's docstring."""

    def __init__(self, path: Path, *, make: bool, patience: float) -> None:
        if not make:
            existing(path)
        self._path, self._sql, self._patience = path, statements("sqlite"), patience
        with self._failing():
            self._writer = self._connected()
            try:
                self._install(make)
                self._reader = self._connected()
            except BaseException:
                self._writer.close()
                raise
        self._reading = Lock()

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _install(self, make: bool) -> None:
        """Make the tables, or say that these are not ours."""
        writer = self._writer
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("BEGIN IMMEDIATE")
        try:
            ((kind,),) = writer.execute("PRAGMA application_id")
            ((schema,),) = writer.execute("PRAGMA user_version")
            ((tables,),) = writer.execute("SELECT count(*) FROM sqlite_schema")
            if kind == _APPLICATION and schema != SCHEMA:
                raise StorageError(
                    f"written with schema {schema}, and this version of "
                    f"fpbandits reads schema {SCHEMA}"
                ).at(shown(self._path))
            if kind != _APPLICATION and (tables or not make):
                raise StorageError("this holds no store of fpbandits", place=(shown(self._path),))
            if kind != _APPLICATION:
                for statement in self._sql["schema"].split(";\n"):
                    writer.execute(statement)
                writer.execute(f"PRAGMA application_id = {_APPLICATION}")
                writer.execute(f"PRAGMA user_version = {SCHEMA}")
            writer.execute("COMMIT")
        except BaseException:
            writer.execute("ROLLBACK")
            raise

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Say in our words what SQLite says went wrong."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", None)
            passing = code is not None and code & 0xFF in _PASSING
            kind = UnavailableError if passing else StorageError
            raise kind(said(error), place=(shown(self._path),)) from None

    @contextmanager
    def transaction(
        self, asked: UnitKeys, touched: UnitKeys, keys: Sequence[tuple[UnitKey, str]]
    ) -> Iterator[Transaction]:
        writer = self._writer
        with self._failing():
            writer.execute("BEGIN IMMEDIATE")
            try:
                yield _SqliteTransaction(writer, self._sql, asked, touched, keys)
                writer.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    writer.execute("ROLLBACK")
                raise

    def add_experiment(self, name: str, definition: str, *, open: bool = True) -> tuple[Kept, bool]:
        with self._failing(), self._reading:
            added = self._reader.execute(
                self._sql["add_experiment"], (name, definition, int(open))
            ).rowcount
            row = self._reader.execute(self._sql["experiment"], (name,)).fetchone()
        return _kept(row), added > 0

    def open_experiment(self, id: int) -> None:
        self._read("open_experiment", id)

    def experiments(self) -> list[Kept]:
        return list(map(_kept, self._read("experiments")))

    def experiment(self, name: str) -> Kept | None:
        return next(map(_kept, self._read("experiment", name)), None)

    def unit(self, unit_key: UnitKey) -> UnitRow | None:
        return next((UnitRow(*row) for row in self._read("unit", *unit_key)), None)

    def due(self, most: int) -> list[tuple[str, str]]:
        return self._read("due", most)

    def log(self, experiment: int, after: int, most: int) -> list[Logged]:
        # Whoever writes is alone: what is committed later has a larger number.
        rows = self._read("log", experiment, after, most)
        return [Logged(seq, unit, Event(*event)) for seq, unit, *event in rows]

    def _read(self, name: str, *values: Any) -> list[Any]:
        with self._failing(), self._reading:
            return self._reader.execute(self._sql[name], values).fetchall()

    @contextmanager
    def history(self, experiment: int) -> Iterator[History]:
        with self._failing():
            connection = self._connected()
            try:
                connection.execute("BEGIN")
                yield _SqliteHistory(connection, self._sql, experiment)
            finally:
                connection.close()

    def close(self) -> None:
        self._writer.close()
        self._reader.close()


def _kept(row: tuple[Any, ...]) -> Kept:
    kept = Kept(*row)
    return kept._replace(open=bool(kept.open))


class _SqliteTransaction(Transaction):
    def __init__(
        self,
        writer: sqlite3.Connection,
        sql: dict[str, str],
        asked: UnitKeys,
        touched: UnitKeys,
        keys: Sequence[tuple[UnitKey, str]],
    ) -> None:
        self._writer, self._sql = writer, sql
        ((self.now,),) = writer.execute(sql["now"])
        self.rows = {}
        for unit_key in touched:
            row = writer.execute(sql["unit"], unit_key).fetchone()
            if row is not None:
                self.rows[unit_key] = UnitRow(*row)
        for unit_key in asked:
            row = writer.execute(sql["unit"], unit_key).fetchone()
            if row is None:
                row = writer.execute(sql["add_unit"], unit_key).lastrowid, 0, None
            self.rows[unit_key] = UnitRow(*row)
        self.decided = {}
        for unit_key, key in keys:
            unit = self.rows[unit_key]
            if unit.steps:
                row = writer.execute(sql["decided"], (unit.id, key)).fetchone()
                if row is not None:
                    self.decided.setdefault(unit_key, {})[key] = Event(*row)

    def resolutions(self, unit: int, number: int) -> Sequence[Event]:
        rows = self._writer.execute(self._sql["resolutions"], (unit, number))
        return [Event(*row) for row in rows]

    def write(self, changes: Sequence[Change]) -> None:
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
    def __init__(self, connection: sqlite3.Connection, sql: dict[str, str], id: int) -> None:
        self._connection, self._sql, self._id = connection, sql, id

    def events(self) -> Iterator[tuple[str, Event]]:
        for unit, *event in self._connection.execute(self._sql["by_unit"], (self._id,)):
            yield unit, Event(*event)

    def states(self) -> Iterator[tuple[str, int, str | None]]:
        yield from self._connection.execute(self._sql["states"], (self._id,))
