"""Connections to PostgreSQL: how long they wait, what they ask for. A real one: test_postgres."""

from __future__ import annotations

from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from fpbandits.errors import InputError, StorageError, UnavailableError
from fpbandits.service import postgres, postgres_connection
from fpbandits.service.postgres import PostgresStore
from fpbandits.service.postgres_connection import Connection, connect, host_of, own_errors


@pytest.mark.parametrize(
    ("patience", "milliseconds", "seconds"), [(0.5, 500, 2), (2.9, 2900, 2), (60.0, 60_000, 60)]
)
def test_a_connection_waits_a_second_longer_than_the_database(
    patience: float, milliseconds: int, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def pretend(url: str, **options: Any) -> Any:
        asked.append((url, options))
        return SimpleNamespace()

    monkeypatch.setattr(Connection, "connect", pretend)
    assert connect("postgresql://host/db", patience).patience == patience + 1
    ((url, options),) = asked
    assert url == "postgresql://host/db"
    settings = dict(part.split("=") for part in options.pop("options").split("-c ")[1:])
    assert {name: value.strip() for name, value in settings.items()} == {
        "statement_timeout": str(milliseconds),
        "lock_timeout": str(milliseconds),
        "synchronous_commit": "on",
        "default_transaction_isolation": r"read\ committed",
    }
    # A machine that is gone is noticed after 3 s of silence and 3 questions, a second apart.
    assert options == {
        "autocommit": True,
        "connect_timeout": seconds,
        "tcp_user_timeout": milliseconds,
        "keepalives_idle": 3,
        "keepalives_interval": 1,
        "keepalives_count": 3,
        "application_name": "fpbandits",
    }


class Waiting(Connection):
    """A connection to nobody, which notes that it was closed."""

    hung_up = False

    def __init__(self, patience: float | None) -> None:
        self.patience = patience

    def __del__(self, *given: object) -> None:
        pass

    def close(self) -> None:
        self.hung_up = True


def driven(generator: Any, replies: list[int]) -> Any:
    """Send replies to a generator, as psycopg does; return its result."""
    assert next(generator) == "waits"
    try:
        for reply in replies:
            assert generator.send(reply) == "waits"
    except StopIteration as done:
        return done.value
    return None


def answering(asked: int, got: list[int]) -> Generator[str, int, str]:
    """Wait several times, and return something in the end."""
    while len(got) < asked:
        got.append((yield "waits"))
    return "answer"


@pytest.mark.parametrize(
    ("times", "replies", "answers"),
    [
        ([4.9, 5.0], [0, 0, 1], "answer"),  # not ready twice, and then in time
        ([], [1, 1, 1], "answer"),  # the time of what is ready does not matter
        ([5.1], [0], None),
    ],
)
def test_who_does_not_answer_in_time_is_hung_up_on(
    times: list[float],
    replies: list[int],
    answers: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter(times)
    monkeypatch.setattr(postgres_connection, "monotonic", lambda: next(clock))
    connection, got = Waiting(2.0), list[int]()
    waiting = connection._in_time(answering(3, got), 5.0)  # type: ignore[arg-type]
    if answers is None:
        with pytest.raises(psycopg.OperationalError, match="no answer in time"):
            driven(waiting, replies)
    else:
        assert driven(waiting, replies) == answers
        assert got == replies
    assert connection.hung_up == (answers is None)


@pytest.mark.parametrize(("patience", "until"), [(2.0, 102.0), (None, None)])
def test_a_connection_without_patience_waits_for_ever(
    patience: float | None, until: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection, "monotonic", lambda: 100.0)
    limits: list[float] = []

    def limited(connection: Waiting, gen: Any, limit: float) -> Any:
        limits.append(limit)
        return gen

    monkeypatch.setattr(Connection, "_in_time", limited)
    monkeypatch.setattr(psycopg.Connection, "wait", lambda connection, gen, *given: list(gen))
    assert Waiting(patience).wait(iter(["answer"])) == ["answer"]  # type: ignore[arg-type]
    assert limits == ([] if until is None else [until])


@pytest.mark.parametrize(
    ("version", "limited"), [(169_999, []), (170_000, [b"SET transaction_timeout = 5000"])]
)
def test_a_transaction_is_limited_where_the_database_can_do_so(
    version: int, limited: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten times the patience."""
    executed: list[bytes] = []
    info = SimpleNamespace(server_version=version)
    writer: Any = SimpleNamespace(info=info, closed=False, execute=executed.append)
    monkeypatch.setattr(postgres, "connect", lambda url, patience: writer)
    store = PostgresStore.__new__(PostgresStore)
    store._url, store._patience, store._writer = "postgresql://host/db", 0.5, None
    assert store._connected_writer() is store._connected_writer() is writer
    assert executed == limited


def test_a_database_is_named_by_its_host() -> None:
    assert host_of("postgresql://me:secret@host:5432/db") == "host"
    assert host_of("postgresql:///db") == "PostgreSQL"
    with pytest.raises(InputError, match="not an address of PostgreSQL: 'postgresql://'…"):
        host_of("postgresql://[half")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.OperationalError, UnavailableError),
        (psycopg.InterfaceError, UnavailableError),
        (psycopg.errors.ReadOnlySqlTransaction, UnavailableError),
        (psycopg.errors.UndefinedTable, StorageError),
    ],
)
def test_what_may_be_gone_a_moment_later_is_unavailable(
    error: type[psycopg.Error], kind: type[Exception]
) -> None:
    with pytest.raises(kind, match="host: it is so") as raised, own_errors("host"):
        raise error("it is\nso")
    assert type(raised.value) is kind
