"""Stores of earlier versions are upgraded in place, and nothing is lost.

``store-0.6.0.db.gz`` was written by version 0.6.0: 250 decisions in five experiments, of different
policies, with contexts and without, with and without a limit on how late rewards may come.
``store-0.9.0.db.gz`` was written by version 0.9.0: as many, also with eligible arms, exploration, a
control group and rules that have changed since.
"""

from __future__ import annotations

import gzip
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from databases import own_postgres
from stores import one

from fpbandits.errors import InputError, StorageError
from fpbandits.policies import POLICIES
from fpbandits.service import postgres_connection
from fpbandits.service.adopt import adopt
from fpbandits.service.experiment import Experiment, checked_experiment, same_definition
from fpbandits.service.messages import Ask, Tell
from fpbandits.service.statements import SCHEMA, migrations
from fpbandits.service.store import open_store, upgrade
from fpbandits.service.verify import verify

OLD = Path(__file__).with_name("store-0.6.0.db.gz")
NEWER = Path(__file__).with_name("store-0.9.0.db.gz")
TABLES = {
    "experiments": "id, name, definition, created",
    "units": "id, experiment, name, steps, state, due",
    "events": "seq, experiment, unit, step, kind, number, key, arm, context, probability, reward, "
    "time, version",
}
Rows = dict[str, list[tuple[Any, ...]]]


def rows_of(execute: Callable[[str], Any], schema: str = "") -> Rows:
    """All that a store of any version holds."""
    return {
        table: [tuple(row) for row in execute(f"SELECT {names} FROM {schema}{table} ORDER BY 1")]
        for table, names in TABLES.items()
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.db"
    path.write_bytes(gzip.decompress(OLD.read_bytes()))
    return path


def content(path: Path) -> Rows:
    with closing(sqlite3.connect(path)) as connection:
        return rows_of(connection.execute)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with own_postgres() as server:
        yield server.address


@pytest.fixture
def old_database(database: str, file: Path) -> str:
    """The same rows in PostgreSQL, in the tables of 0.6.0."""
    ((_, wanted), *_) = migrations("postgres", 0)
    with closing(psycopg.connect(database, autocommit=True)) as connection:
        connection.execute("DROP SCHEMA IF EXISTS fpbandits CASCADE")
        for statement in wanted:
            connection.execute(statement.encode())
        connection.execute("INSERT INTO fpbandits.about VALUES ('fpbandits store', 1)")
        with closing(sqlite3.connect(file)) as old, connection.cursor() as cursor:
            for table in TABLES:
                found = old.execute(f"SELECT * FROM {table}")
                names = [column[0] for column in found.description]
                values = ", ".join("%s = 1" if name == "open" else "%s" for name in names)
                cursor.executemany(
                    f"INSERT INTO fpbandits.{table} ({', '.join(names)}) "
                    f"OVERRIDING SYSTEM VALUE VALUES ({values})".encode(),
                    found.fetchall(),
                )
            for table, key in (("experiments", "id"), ("units", "id"), ("events", "seq")):
                cursor.execute(
                    f"SELECT setval(pg_get_serial_sequence('fpbandits.{table}', '{key}'), "
                    f"(SELECT max({key}) FROM fpbandits.{table}))".encode()
                )
    return database


def check_upgraded(address: str) -> None:
    """Everything is there, checked where rules are as they were, and goes on."""
    with closing(open_store(address)) as store:
        found = verify(store)
        names = {kept.name: json.loads(kept.definition)["policy"] for kept in store.experiments()}
        changed = {
            kept.name
            for kept in store.experiments()
            if POLICIES[names[kept.name].split(":")[0]].revision != kept.revision
        }
        unchecked = 0
        for kept in store.experiments():
            assert kept.status == "open"
            logged = store.log(kept.id, 0, 10**6)
            assert {line.event.revision for line in logged} == {kept.revision}
            decisions = sum(line.event.kind == "decision" for line in logged)
            unchecked += decisions if kept.name in changed else 0
        assert (found.decisions, found.unchecked, found.shown) == (250, unchecked, [])
        for name in names:
            kept = adopt(store, name)
            experiment = Experiment.from_kept(kept)
            experiment.check_serving()
            context = next(iter(experiment.problem.contexts), None)
            answer = one(store, experiment, Ask("user 3", "new", context))
            number = int(answer["decision"].partition("@")[0])
            one(store, experiment, Tell(("user 3", number), 1.0))
        again = verify(store)
        assert (again.decisions, again.unchecked, again.shown) == (255, unchecked, [])


def test_a_file_of_0_6_0_is_refused_then_upgraded_and_goes_on(file: Path) -> None:
    before, text = content(file), file.read_bytes()
    with pytest.raises(StorageError, match=r"has schema 1, and this .* run fpbandits upgrade"):
        open_store(str(file))
    assert file.read_bytes() == text
    assert upgrade(str(file)) == (1, SCHEMA)
    assert upgrade(f"sqlite:///{file}") == (SCHEMA, SCHEMA)
    assert content(file) == before
    with closing(open_store(str(file))) as store:
        assert {kept.revision for kept in store.experiments()} == {1}
    check_upgraded(str(file))


def test_a_file_of_0_9_0_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(gzip.decompress(NEWER.read_bytes()))
    before = content(path)
    assert upgrade(str(path)) == (SCHEMA, SCHEMA)
    assert content(path) == before
    check_upgraded(str(path))


def test_a_database_of_0_6_0_is_refused_then_upgraded_and_goes_on(old_database: str) -> None:
    def whole() -> Rows:
        with closing(psycopg.connect(old_database)) as connection:
            return rows_of(lambda text: connection.execute(text.encode()), "fpbandits.")

    before = whole()
    with pytest.raises(StorageError, match=r"has schema 1, and this .* run fpbandits upgrade"):
        open_store(old_database, make=True)
    assert upgrade(old_database) == (1, SCHEMA)
    assert upgrade(old_database) == (SCHEMA, SCHEMA)
    assert whole() == before
    check_upgraded(old_database)


def test_a_server_of_0_6_0_cannot_write_to_an_upgraded_store(file: Path, old_database: str) -> None:
    columns = TABLES["events"].partition(", ")[2]
    values = "1, 1, 9999, 'decision', 9999, NULL, 'a', NULL, 1, NULL, 0, '0.6.0'"
    upgrade(str(file))
    with (
        closing(sqlite3.connect(file)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="revision"),
    ):
        connection.execute(f"INSERT INTO events ({columns}) VALUES ({values})")
    upgrade(old_database)
    with (
        closing(psycopg.connect(old_database)) as other,
        pytest.raises(psycopg.errors.NotNullViolation, match="revision"),
    ):
        other.execute(f"INSERT INTO fpbandits.events ({columns}) VALUES ({values})".encode())


def test_decisions_of_versions_before_0_6_0_are_of_no_known_revision(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE events SET version = '0.4.0' WHERE experiment = 2 AND seq < 50")
        old = connection.execute(
            "SELECT count(*) FROM events WHERE version = '0.4.0' AND kind = 'decision'"
        ).fetchone()[0]
    upgrade(str(file))
    with closing(open_store(str(file))) as store:
        assert [kept.revision for kept in store.experiments() if kept.id == 2] == [0]
        name = next(kept.name for kept in store.experiments() if kept.id == 2)
        found = verify(store, name)
        assert found.unchecked == old > 0
        adopt(store, name)
        found = verify(store, name)
        assert (found.unchecked, found.shown) == (old, [])


KILLED = """
import os, signal, sqlite3, sys
left = 0

class Connection(sqlite3.Connection):
    file = None

    def execute(self, *values):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*values)

from fpbandits.service import sqlite
sqlite.Connection = Connection
from fpbandits.service.store import upgrade
for line in sys.stdin:  # an upgrade for each, in a process of its own
    left = int(line)
    child = os.fork()
    if not child:
        upgrade(sys.argv[1])
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def test_an_upgrade_that_is_killed_anywhere_is_made_by_the_next(file: Path) -> None:
    before, killed = content(file), 0
    command = [sys.executable, "-c", KILLED, str(file)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=os.environ
    ) as upgrading:
        assert upgrading.stdin is not None
        assert upgrading.stdout is not None
        for left in (6, 9, 14, 19, 22, 25):
            upgrading.stdin.write(f"{left}\n")
            upgrading.stdin.flush()
            killed += int(upgrading.stdout.readline()) == signal.SIGKILL
            assert content(file) == before
    assert killed >= 5
    upgrade(str(file))
    assert content(file) == before
    check_upgraded(str(file))


def test_a_database_whose_upgrade_fails_is_as_it_was(
    old_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(kind: str, schema: int) -> Iterator[tuple[int, list[str]]]:
        for number, wanted in migrations(kind, schema):
            yield number, [*wanted, "SELECT 1 / 0"]

    with monkeypatch.context() as patch:
        patch.setattr(postgres_connection, "migrations", failing)
        with pytest.raises(StorageError, match="division by zero"):
            upgrade(old_database)
    assert upgrade(old_database) == (1, SCHEMA)


def test_what_is_no_store_is_not_upgraded(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such store"):
        upgrade(str(tmp_path / "none.db"))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StorageError, match="a newer version wrote it"):
        upgrade(str(file))
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE mine (a)")
    with pytest.raises(StorageError, match="holds no store"):
        upgrade(str(other))


def test_a_new_store_and_an_upgraded_one_have_the_same_tables(file: Path, tmp_path: Path) -> None:
    def tables(path: Path) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(path)) as connection:
            query = "SELECT name, sql FROM sqlite_schema ORDER BY name"
            return connection.execute(query).fetchall()

    upgrade(str(file))
    open_store(str(tmp_path / "new.db"), make=True).close()
    assert tables(file) == tables(tmp_path / "new.db")


def test_an_old_definition_put_again_is_the_same_experiment(file: Path) -> None:
    upgrade(str(file))
    with closing(open_store(str(file))) as store:
        kept = store.experiment("default")
    assert kept is not None
    old = json.loads(kept.definition)
    assert "safe" in old["policy"]
    wanted = {**old, "policy": str(Experiment.from_kept(kept).policy)}
    assert same_definition(kept.definition, checked_experiment("default", wanted).definition)
    other = checked_experiment("default", {**wanted, "seed": 9})
    assert not same_definition(kept.definition, other.definition)
