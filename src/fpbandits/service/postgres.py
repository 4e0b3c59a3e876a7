"""A store in PostgreSQL, for several servers on several machines. Extra ``postgres``: psycopg 3.

A transaction makes two trips to the database: one to lock units, with ``SELECT … FOR UPDATE``, and
read them; one to write and commit. Where the connection breaks on the first trip, nothing can have
happened, and it is made again, once, over a new connection. Where it breaks on the second, nobody
knows whether the commit took place: that is an `UnavailableError`, and the same requests will find
out by their keys.

The database is asked to give up what takes too long. One that has stopped altogether does not do
so: then this end hangs up. And a server that has stopped while it held units loses them in time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from fpbandits.core.extras import needed_for
from fpbandits.errors import InputError, StorageError, UnavailableError, quote, said
from fpbandits.service.step import Event
from fpbandits.service.store import (
    KIND,
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
    statements,
)

with needed_for("PostgreSQL", "postgres", ", or use sqlite:///FILE"):
    import psycopg

if TYPE_CHECKING:
    from psycopg.abc import PQGen

_MORE = 1.0
"""Seconds beyond a store's patience after which the database has not even given up."""

_STANDING_STILL = 10
"""After so many times its patience, a store loses a transaction (PostgreSQL 17 and newer)."""

_T = TypeVar("_T")


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that is closed by this end if no answer comes in time."""

    patience: float | None = None

    def wait(self, gen: PQGen[_T], *arguments: Any, **options: Any) -> _T:
        """Wait for an answer, but not for ever."""
        if self.patience is None:
            return super().wait(gen, *arguments, **options)
        until = monotonic() + self.patience
        return super().wait(self._in_time(gen, until), *arguments, **options)

    def _in_time(self, gen: PQGen[_T], until: float) -> PQGen[_T]:
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and monotonic() > until:  # psycopg looks up ten times per second
                    self.close()
                    raise psycopg.OperationalError("no answer in time")
                wanted = gen.send(ready)
        except StopIteration as done:
            answer: _T = done.value
            return answer


class PostgresStore(Store):
    """A store in a database; see the module's docstring."""

    def __init__(self, url: str, *, make: bool, patience: float) -> None:
        self._url, self._sql, self._patience = url, statements("postgres"), patience
        try:
            self._where = urlsplit(url).hostname or "PostgreSQL"
        except ValueError:
            raise InputError(f"not an address of PostgreSQL: {quote(url[:13])}…") from None
        self._writer: Connection | None = None
        self._reader: Connection | None = None
        self._reading = Lock()
        with self._failing():
            connection = self._connected()
            try:
                with connection.transaction():
                    self._install(connection, make)
            finally:
                connection.close()

    def _connected(self) -> Connection:
        milliseconds = int(self._patience * 1000)
        connection = Connection.connect(
            self._url,
            autocommit=True,
            connect_timeout=max(2, int(self._patience)),  # libpq takes no less
            tcp_user_timeout=milliseconds,
            # A machine that is gone does not say so.
            keepalives_idle=3,
            keepalives_interval=1,
            keepalives_count=3,
            application_name="fpbandits",
            options=(
                f"-c statement_timeout={milliseconds} -c lock_timeout={milliseconds} "
                r"-c synchronous_commit=on -c default_transaction_isolation=read\ committed"
            ),
        )
        connection.patience = self._patience + _MORE
        return connection

    def _connected_to_write(self) -> Connection:
        connection = self._connected()
        if connection.info.server_version >= 170_000:
            # A server that stands still must not keep its units from the others for ever. (That
            # a transaction may be idle only so long would do, too, but not after a pipeline.)
            longest = int(_STANDING_STILL * self._patience * 1000)
            connection.execute(f"SET transaction_timeout = {longest}".encode())
        return connection

    def _install(self, connection: Connection, make: bool) -> None:
        connection.execute(self._text("installing"))
        row = connection.execute(self._text("installed")).fetchone()
        if row == (False,):
            if not make:
                none = "there is no store; fpbandits serve makes one"
                raise InputError(none, place=(self._where,))
            connection.execute(self._text("schema"))
            connection.execute(self._text("describe"), (KIND, SCHEMA))
        about = connection.execute(self._text("about")).fetchone()
        if about is None or about[0] != KIND:
            raise StorageError("this holds no store of fpbandits", place=(self._where,))
        if about[1] != SCHEMA:
            raise StorageError(
                f"written with schema {about[1]}, and this version of fpbandits "
                f"reads schema {SCHEMA}"
            ).at(self._where)

    def _text(self, name: str) -> bytes:
        return self._sql[name].encode()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Say in our words what PostgreSQL says went wrong."""
        try:
            yield
        except psycopg.Error as error:
            passing = isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
            kind = UnavailableError if passing else StorageError
            raise kind(said(error), place=(self._where,)) from None

    @contextmanager
    def transaction(
        self, asked: UnitKeys, touched: UnitKeys, keys: Sequence[tuple[UnitKey, str]]
    ) -> Iterator[Transaction]:
        with self._failing():
            opened = self._opened(asked, touched, keys) or self._opened(asked, touched, keys)
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

    def _opened(
        self, asked: UnitKeys, touched: UnitKeys, keys: Sequence[tuple[UnitKey, str]]
    ) -> _PostgresTransaction | None:
        """Begin a transaction; None if the connection turned out to be broken."""
        if self._writer is None or self._writer.closed:
            self._writer = self._connected_to_write()
        try:
            return _PostgresTransaction(self._writer, self._sql, asked, touched, keys)
        except psycopg.OperationalError:
            broken = self._writer.broken
            self._hang_up()
            if broken:
                return None
            raise

    def _hang_up(self) -> None:
        """Drop a connection of which nobody knows what it is doing."""
        if self._writer is not None:
            with suppress(psycopg.Error):
                self._writer.close()
            self._writer = None

    def add_experiment(self, name: str, definition: str, *, open: bool = True) -> tuple[Kept, bool]:
        with self._reader_at_work() as reader:
            added = reader.execute(self._text("add_experiment"), (name, definition, open)).rowcount
            row = reader.execute(self._text("experiment"), (name,)).fetchone()
        assert row is not None
        return Kept(*row), added > 0

    def open_experiment(self, id: int) -> None:
        with self._reader_at_work() as reader:
            reader.execute(self._text("open_experiment"), (id,))

    def experiments(self) -> list[Kept]:
        return [Kept(*row) for row in self._read("experiments")]

    def experiment(self, name: str) -> Kept | None:
        return next((Kept(*row) for row in self._read("experiment", name)), None)

    def unit(self, unit_key: UnitKey) -> UnitRow | None:
        return next((UnitRow(*row) for row in self._read("unit", *unit_key)), None)

    def due(self, most: int) -> list[tuple[str, str]]:
        return [(experiment, unit) for experiment, unit in self._read("due", most)]

    def log(self, experiment: int, after: int, most: int) -> list[Logged]:
        with self._reader_at_work() as reader:
            # Others may be writing events of smaller numbers than some that are there: wait until
            # they are done, and look no further than what was there then.
            with reader.transaction():
                reader.execute(self._text("all_written"))
                row = reader.execute(self._text("last")).fetchone()
            assert row is not None
            rows = reader.execute(self._text("log"), (experiment, after, row[0], most)).fetchall()
        return [Logged(seq, unit, Event(*event)) for seq, unit, *event in rows]

    def _read(self, name: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._reader_at_work() as reader:
            return reader.execute(self._text(name), values).fetchall()

    @contextmanager
    def _reader_at_work(self) -> Iterator[Connection]:
        with self._failing(), self._alone_reading():
            if self._reader is not None and not self._reader.closed:
                # It may have died while nobody looked.
                try:
                    self._reader.execute(b"SELECT 1")
                except psycopg.OperationalError:
                    self._reader.close()
            if self._reader is None or self._reader.closed:
                self._reader = self._connected()
            yield self._reader

    @contextmanager
    def _alone_reading(self) -> Iterator[None]:
        """Wait until nobody else reads, but not behind many whom nobody answers."""
        if not self._reading.acquire(timeout=self._patience):
            raise UnavailableError("others wait for an answer", place=(self._where,))
        try:
            yield
        finally:
            self._reading.release()

    @contextmanager
    def history(self, experiment: int) -> Iterator[History]:
        with self._failing():
            connection = self._connected()
            try:
                connection.execute(b"SET statement_timeout = 0")
                connection.patience = None
                connection.execute(b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                yield _PostgresHistory(connection, self._sql, experiment)
            finally:
                connection.close()

    def close(self) -> None:
        self._hang_up()
        if self._reader is not None:
            self._reader.close()


class _PostgresTransaction(Transaction):
    def __init__(
        self,
        writer: Connection,
        sql: dict[str, str],
        asked: UnitKeys,
        touched: UnitKeys,
        keys: Sequence[tuple[UnitKey, str]],
    ) -> None:
        self._writer, self._sql = writer, sql
        unit_keys = sorted([*asked, *touched])
        with writer.pipeline():
            writer.execute(b"BEGIN")
            begun = writer.execute(sql["begin"].encode())
            if asked:
                writer.execute(sql["add_units"].encode(), _columns(asked, 2))
            locked = writer.execute(sql["lock_units"].encode(), _columns(unit_keys, 2))
            looked_up = [(experiment, unit, key) for (experiment, unit), key in keys]
            decided = writer.execute(sql["decided"].encode(), _columns(looked_up, 3))
        row = begun.fetchone()
        assert row is not None
        self.now = row[1]
        self.rows = {(row[0], row[1]): UnitRow(*row[2:]) for row in locked}
        self.decided = {}
        for experiment, unit, *values in decided:
            event = Event(*values)
            assert event.key is not None
            self.decided.setdefault((experiment, unit), {})[event.key] = event

    def resolutions(self, unit: int, number: int) -> Sequence[Event]:
        rows = self._writer.execute(self._sql["resolutions"].encode(), (unit, number))
        return [Event(*row) for row in rows]

    def write(self, changes: Sequence[Change]) -> None:
        self._changes = changes

    _changes: Sequence[Change] = ()

    def commit(self) -> None:
        states = [(change.id, change.steps, change.state, change.due) for change in self._changes]
        events = [
            (change.experiment, change.id, *event)
            for change in self._changes
            for event in change.events
        ]
        with self._writer.pipeline():
            if states:
                self._writer.execute(self._sql["change_units"].encode(), _columns(states, 4))
            if events:
                self._writer.execute(self._sql["add_events"].encode(), _columns(events, 12))
            self._writer.execute(b"COMMIT")

    def roll_back(self) -> None:
        try:
            self._writer.execute(b"ROLLBACK")
        except psycopg.Error:
            self._writer.close()


def _columns(rows: Sequence[Sequence[Any]], width: int) -> list[list[Any]]:
    """Turn rows into columns: arrays are one model each, however many rows there are."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * width


class _PostgresHistory(History):
    def __init__(self, connection: Connection, sql: dict[str, str], id: int) -> None:
        self._connection, self._sql, self._id = connection, sql, id

    def events(self) -> Iterator[tuple[str, Event]]:
        for unit, *event in self._streamed("by_unit"):
            yield unit, Event(*event)

    def states(self) -> Iterator[tuple[str, int, str | None]]:
        return ((name, steps, state) for name, steps, state in self._streamed("states"))

    def _streamed(self, name: str) -> Iterator[tuple[Any, ...]]:
        with self._connection.cursor(name) as cursor:
            cursor.itersize = 10_000
            yield from cursor.execute(self._sql[name].encode(), (self._id,))
