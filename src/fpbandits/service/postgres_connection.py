"""Connections to PostgreSQL that do not wait for ever, and the making of tables over them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from fpbandits.core.extras import needed_for
from fpbandits.errors import InputError, StorageError, UnavailableError, quote, said, within
from fpbandits.service.statements import SCHEMA, check_schema, migrations, statements
from fpbandits.service.store import (
    KIND,
    UPGRADE_PATIENCE,
)

with needed_for("PostgreSQL", "postgres", ", or use sqlite:///FILE"):
    import psycopg

if TYPE_CHECKING:
    from psycopg.abc import PQGen

_EXTRA_SECONDS = 1.0
"""The database gives up a statement after the store's patience. If it has not said so after so many
seconds more, this end closes the connection."""

_TEMPORARY = psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError
"""Errors that may be gone a moment later: no answer, a database that is read-only for a while."""

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
        """Pass on what a generator of psycopg's waits for, but close the connection in time."""
        try:
            waited_for = next(gen)
            while True:
                ready = yield waited_for
                if not ready and monotonic() > until:  # psycopg looks up ten times per second
                    self.close()
                    raise psycopg.OperationalError("no answer in time")
                waited_for = gen.send(ready)
        except StopIteration as done:
            answer: _T = done.value
            return answer


_TABLE = re.compile(r"(?<![.\w])(about|events|experiments|heartbeat|units)(?![.\w])")
"""A table by its bare name: after a dot it has its schema already, before one it is a column's."""


def _as_sent(statement: str) -> bytes:
    """Return a statement with the schema of its tables, and with the placeholders of psycopg.

    The schema is part of the statement and no setting of the connection (``search_path``), so that
    it cannot be lost.

    >>> _as_sent("SELECT units.name FROM units WHERE id % ? = 0")
    b'SELECT units.name FROM fpbandits.units WHERE id %% %s = 0'
    """
    text = _TABLE.sub(r"fpbandits.\1", statement)
    return text.replace("%", "%%").replace("?", "%s").encode()


SQL = {name: _as_sent(text) for name, text in statements("postgres").items()}


def host_of(url: str) -> str:
    """Return where a database is, for messages."""
    try:
        return urlsplit(url).hostname or "PostgreSQL"
    except ValueError:
        raise InputError(f"not an address of PostgreSQL: {quote(url[:13])}…") from None


@contextmanager
def own_errors(where: str) -> Iterator[None]:
    """Turn errors of PostgreSQL into ours."""
    try:
        yield
    except psycopg.Error as error:
        kind = UnavailableError if isinstance(error, _TEMPORARY) else StorageError
        raise kind(said(error), place=(where,)) from None


def connect(url: str, patience: float) -> Connection:
    """Connect to a database; ``patience`` is how many seconds an answer may take."""
    milliseconds = int(patience * 1000)
    connection = Connection.connect(
        url,
        autocommit=True,
        connect_timeout=max(2, int(patience)),  # libpq takes no less
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
    connection.patience = patience + _EXTRA_SECONDS
    return connection


@contextmanager
def at_leisure(url: str, patience: float) -> Iterator[Connection]:
    """Connect for long work: statements are not limited in time."""
    connection = connect(url, patience)
    try:
        connection.execute(b"SET statement_timeout = 0")
        connection.patience = None
        yield connection
    finally:
        connection.close()


def upgrade_database(url: str) -> tuple[int, int]:
    """Apply the migrations that a store lacks; return its schemas before and after."""
    where = host_of(url)
    with own_errors(where), within(where), at_leisure(url, UPGRADE_PATIENCE) as connection:
        with connection.transaction():
            check_installed(connection, make=False)
            before = schema_of(connection)
        if before > SCHEMA:
            check_schema(before)
        for number, migration in migrations("postgres", before):
            with connection.transaction():
                connection.execute(SQL["installing"])
                if schema_of(connection) < number:  # another process may have been quicker
                    connection.execute(SQL["no_one_writes"])
                    run_migration(connection, migration)
                    connection.execute(SQL["upgraded"], (number,))
        return before, schema_of(connection)


def check_installed(connection: Connection, *, make: bool) -> bool:
    """Return whether our tables are there; if not, refuse unless they may be made."""
    installed = connection.execute(SQL["installed"]).fetchone() == (True,)
    if not installed and not make:
        raise InputError("there is no store; fpbandits serve makes one")
    return installed


def schema_of(connection: Connection) -> int:
    """Return the schema of a store; refuse a database that is none."""
    about = connection.execute(SQL["about"]).fetchone()
    if about is None or about[0] != KIND:
        raise StorageError("this holds no store of fpbandits")
    return int(about[1])


def run_migration(connection: Connection, migration: Sequence[str]) -> None:
    """Run the statements of a migration."""
    for statement in migration:
        connection.execute(statement.encode())
