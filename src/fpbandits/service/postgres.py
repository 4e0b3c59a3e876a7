"""A store in PostgreSQL, for several servers on several machines. Extra ``postgres``: psycopg 3.

A transaction makes two round trips to the database: one to lock units, with ``SELECT … FOR
UPDATE``, and read them; one to write and commit. If the connection breaks on the first trip,
nothing has changed, and the trip is made once more over a new connection. If it breaks on the
second, nobody knows whether the commit took place: that is an `UnavailableError`, and if the same
requests are sent again, their keys tell.

The database is asked to give up what takes too long. If it has stopped altogether, it cannot: then
this end closes the connection. A server that stops while it has locked units loses the locks.

The log is read without locks: ``sql/postgres.sql`` says how a reader knows that it is complete.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from fpbandits.core.extras import needed_for
from fpbandits.errors import StorageError, UnavailableError, said, within
from fpbandits.service.postgres_connection import (
    SQL,
    Connection,
    at_leisure,
    check_installed,
    connect,
    host_of,
    own_errors,
    run_migration,
    schema_of,
)
from fpbandits.service.statements import SCHEMA, check_schema, migrations
from fpbandits.service.step import Event
from fpbandits.service.store import (
    KIND,
    Change,
    History,
    Store,
    Transaction,
    UnitRow,
    Wanted,
)

with needed_for("PostgreSQL", "postgres", ", or use sqlite:///FILE"):
    import psycopg

_AT_ONCE = 10_000
"""Rows of a history that are fetched at once."""

_LONGEST_TRANSACTION = 10
"""The database ends a transaction after so many times the store's patience (PostgreSQL 17 on)."""


class PostgresStore(Store):
    """A store in a database; see the module's docstring."""

    _sql = SQL

    def __init__(self, url: str, *, make: bool, patience: float) -> None:
        self._url, self._patience, self._where = url, patience, host_of(url)
        self._writer: Connection | None = None
        self._reader: Connection | None = None
        self._reader_lock = Lock()
        with own_errors(self._where), within(self._where):
            connection = connect(url, patience)
            try:
                with connection.transaction():
                    self._install(connection, make)
            finally:
                connection.close()

    def _install(self, connection: Connection, make: bool) -> None:
        """Make the tables if there are none; refuse a database that is no store of this schema."""
        connection.execute(SQL["installing"])
        if not check_installed(connection, make=make):
            for _, migration in migrations("postgres", 0):
                run_migration(connection, migration)
            connection.execute(SQL["describe"], (KIND, SCHEMA))
        check_schema(schema_of(connection))

    @contextmanager
    def transaction(self, wanted: Wanted) -> Iterator[Transaction]:
        with own_errors(self._where):
            opened = self._begin(wanted) or self._begin(wanted)
            if opened is None:
                raise UnavailableError("the connection broke twice", place=(self._where,))
            try:
                yield opened
                opened.commit()
            except psycopg.Error:
                self._hang_up()
                raise
            except BaseException:
                opened.roll_back()
                raise

    def _begin(self, wanted: Wanted) -> _PostgresTransaction | None:
        """Begin a transaction; None if the connection turned out to be broken."""
        writer = self._connected_writer()
        try:
            return _PostgresTransaction(writer, wanted)
        except psycopg.Error as error:
            # This connection may be in a transaction that can only fail.
            broken = writer.broken
            self._hang_up()
            if broken:
                return None
            # That a transaction cannot begin is the store's failure, not a request's.
            raise UnavailableError(said(error), place=(self._where,)) from None
        except StorageError:
            self._hang_up()
            raise

    def _connected_writer(self) -> Connection:
        """Return the connection for transactions; connect if need be."""
        if self._writer is not None and not self._writer.closed:
            return self._writer
        self._writer = connect(self._url, self._patience)
        if self._writer.info.server_version >= 170_000:
            # A server that hangs must not keep its units from the others for ever. (PostgreSQL's
            # limit for idle transactions would do, but it does not work after a pipeline.)
            longest = int(_LONGEST_TRANSACTION * self._patience * 1000)
            self._writer.execute(f"SET transaction_timeout = {longest}".encode())
        return self._writer

    def _hang_up(self) -> None:
        """Close the writer's connection, whose state is not known."""
        if self._writer is not None:
            with suppress(psycopg.Error):
                self._writer.close()
            self._writer = None

    def check_writing(self) -> None:
        with own_errors(self._where):
            try:
                self._connected_writer().execute(SQL["heartbeat"])
            except psycopg.Error:
                self._hang_up()
                raise

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with own_errors(self._where), self._alone_reading():
            if self._reader is not None and not self._reader.closed:
                # It may have broken since it was used last.
                try:
                    self._reader.execute(b"SELECT 1")
                except psycopg.Error:
                    self._reader.close()
            if self._reader is None or self._reader.closed:
                self._reader = connect(self._url, self._patience)
            yield self._reader

    @contextmanager
    def _alone_reading(self) -> Iterator[None]:
        """Wait until no other thread reads; for a limited time, in case they all wait in vain."""
        if not self._reader_lock.acquire(timeout=self._patience):
            raise UnavailableError("others wait for an answer", place=(self._where,))
        try:
            yield
        finally:
            self._reader_lock.release()

    @contextmanager
    def _administering(self, *, alone: bool = False) -> Iterator[Connection]:
        with self._reading() as connection:
            if not alone:
                yield connection  # each statement is a transaction
                return
            with connection.transaction():
                connection.execute(SQL["no_one_writes"])
                connection.execute(SQL["begin"])  # readers of the log look for its lock
                yield connection

    def due(
        self,
        most: int,
        without: Collection[str] = (),
        without_units: Collection[tuple[str, str]] = (),
    ) -> list[tuple[str, str]]:
        left_out = list(without), *(_columns(list(without_units)) or [[], []])
        return [(experiment, unit) for experiment, unit in self._read("due", *left_out, most)]

    def _read_log(self, name: str, experiment: int, after: int, most: int) -> list[Any]:
        with self._reading() as reader:
            # The order matters: what is written after the first query has larger numbers, and what
            # was committed before the second is seen by the third.
            ((last,),) = reader.execute(SQL["last"]).fetchall()
            ((complete,),) = reader.execute(SQL["complete"]).fetchall()
            upto = last if complete is None else min(last, complete)
            return reader.execute(SQL[name], (experiment, after, upto, most)).fetchall()

    @contextmanager
    def history(self, experiment: int) -> Iterator[History]:
        with own_errors(self._where), at_leisure(self._url, self._patience) as connection:
            connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield _PostgresHistory(connection, experiment)

    def close(self) -> None:
        self._hang_up()
        with suppress(UnavailableError), self._alone_reading():
            if self._reader is not None:
                self._reader.close()


class _PostgresTransaction(Transaction):
    def __init__(self, writer: Connection, wanted: Wanted) -> None:
        self._writer = writer
        unit_keys = sorted([*wanted.asked, *wanted.touched])
        stamps = _columns(wanted.experiments)
        with writer.pipeline():
            writer.execute(b"BEGIN")
            begun = writer.execute(SQL["begin"])
            known = writer.execute(SQL["stamps"], stamps[:1])
            if wanted.asked:
                writer.execute(SQL["add_units"], [*_columns(wanted.asked), *stamps])
            locked = writer.execute(SQL["lock_units"], _columns(unit_keys))
            looked_up = [(experiment, unit, key) for (experiment, unit), key in wanted.keys]
            decided = writer.execute(SQL["decided"], _columns(looked_up) or [[], [], []])
        row = begun.fetchone()
        assert row is not None
        _, _, self.now, schema = row
        check_schema(schema)
        present = set(known)
        self.current = frozenset(stamp for stamp in wanted.experiments if tuple(stamp) in present)
        self.rows = {(row[0], row[1]): UnitRow(*row[2:]) for row in locked}
        self.decided = {}
        for experiment, unit, *values in decided:
            event = Event(*values)
            assert event.key is not None
            self.decided.setdefault((experiment, unit), {})[event.key] = event

    def resolutions(self, unit: int, number: int) -> Sequence[Event]:
        try:
            rows = self._writer.execute(SQL["resolutions"], (unit, number)).fetchall()
        except psycopg.Error as error:
            raise UnavailableError(said(error)) from None
        return [Event(*row) for row in rows]

    def write(self, changes: Sequence[Change]) -> None:
        self._changes = changes  # to be sent with the commit

    _changes: Sequence[Change] = ()

    def commit(self) -> None:
        """Write the changes and commit, in one round trip."""
        states = [(change.id, change.steps, change.state, change.due) for change in self._changes]
        events = [
            (change.experiment, change.id, *event)
            for change in self._changes
            for event in change.events
        ]
        with self._writer.pipeline():
            for change in self._changes:
                if change.erase is not None:
                    found, since = list(change.erase.events), change.erase.after
                    of_unit = found, change.id, change.experiment, since, change.id
                    self._writer.execute(SQL["erase"], of_unit)
            if states:
                self._writer.execute(SQL["change_units"], _columns(states))
            if events:
                self._writer.execute(SQL["add_events"], _columns(events))
            self._writer.execute(b"COMMIT")

    def roll_back(self) -> None:
        try:
            self._writer.execute(b"ROLLBACK")
        except psycopg.Error:
            self._writer.close()


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Turn rows into columns, each one argument of a statement; no rows have no columns."""
    return [list(column) for column in zip(*rows, strict=True)]


class _PostgresHistory(History):
    def __init__(self, connection: Connection, id: int) -> None:
        self._connection, self._id = connection, id

    def rows(self, name: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        with self._connection.cursor(name) as cursor:
            cursor.itersize = _AT_ONCE
            yield from cursor.execute(SQL[name], (self._id, *values))
