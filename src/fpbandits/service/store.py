"""What every store does: keep experiments, units and their events, and lose nothing.

The service changes units in *transactions*. A transaction names all experiments and units that it
needs beforehand; the store locks the units, returns what it knows of them, writes what became of
them, and commits.

What is said to the databases, and how their tables change: `fpbandits.service.statements`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from fpbandits.core.checks import checked_path
from fpbandits.errors import InputError, UnavailableError, quote
from fpbandits.service.experiment import OPEN, STATES, Kept, Stamp, reward_wait
from fpbandits.service.messages import Erase
from fpbandits.service.settings import Settings
from fpbandits.service.step import Event, Unit, experiment_event

KIND = "fpbandits store"
"""What a PostgreSQL database says of itself."""

UPGRADE_PATIENCE = 60.0
"""Seconds that an upgrade waits for a database or for a lock, before it fails."""

_AT_ONCE = 5_000
"""Events that are searched or deleted in one transaction."""

_ALL_EXPERIMENTS = 1_000_000
"""More experiments than any store has."""

UnitKey = tuple[int, str]
"""An experiment's number and a unit's name: also the order in which units are locked."""


class Wanted(NamedTuple):
    """What a transaction needs.

    Attributes
    ----------
    experiments
        The editions of the experiments that the units belong to.
    asked, touched
        The units, each in one of the two, in order. Units that are ``asked`` for are added if they
        are unknown.
    keys
        Units, and the callers' keys under which a decision may have been made for each.
    """

    experiments: Sequence[Stamp]
    asked: Sequence[UnitKey]
    touched: Sequence[UnitKey] = ()
    keys: Sequence[tuple[UnitKey, str]] = ()


class StaleError(UnavailableError):
    """Another request or process has changed an experiment since this server read it."""

    @classmethod
    def of(cls, name: str) -> StaleError:
        """Return the error for the experiment of this name."""
        return cls(f"{quote(name)} was changed by another request meanwhile: try again")


class UnitRow(NamedTuple):
    """A unit as a store keeps it; ``state`` is None as long as nothing has happened."""

    id: int
    steps: int
    state: str | None


class Change(NamedTuple):
    """What a transaction made of a unit: its new state, and the events that led there."""

    experiment: int
    id: int
    steps: int
    state: str
    due: float | None
    events: Sequence[Event]
    erase: Erase | None = None

    @classmethod
    def of(cls, id: int, unit: Unit) -> Change:
        """Return what became of a unit, which has this number in the store."""
        state, due = unit.pack(), unit.due
        return cls(unit.experiment.id, id, unit.steps, state, due, unit.events, unit.erasure)


class Logged(NamedTuple):
    """A line of the log: its position, what happened, to which unit; None: to the experiment."""

    seq: int
    unit: str | None
    event: Event


class Rebuilt(NamedTuple):
    """A unit's state that follows from the log, and when its first decision expires."""

    unit: str
    state: str
    due: float | None


class Transaction(ABC):
    """What a store knows of the units that were named, all of them locked.

    Attributes
    ----------
    now
        The time, by the database's clock.
    current
        The stamps that are as they were named. Units of other experiments must be left alone.
    rows
        The units by key; those that were named but are unknown are not there.
    decided
        The decisions that were made under the keys that were named, by unit and key.
    """

    now: float
    current: frozenset[Stamp]
    rows: dict[UnitKey, UnitRow]
    decided: dict[UnitKey, dict[str, Event]]

    @abstractmethod
    def resolutions(self, unit: int, number: int) -> Sequence[Event]:
        """Return all events of a decision but the decision itself.

        If the store fails, that is an `UnavailableError`: it concerns all units of the transaction.
        """

    @abstractmethod
    def write(self, changes: Sequence[Change]) -> None:
        """Write what became of units, to be committed with the transaction."""


class Store(ABC):
    """Where experiments, units and events are kept.

    Every store keeps these promises, and `tests/helpers/stores.py` holds it to them:

    - What is written in a transaction is there in full once its block has been left, whatever is
      killed thereafter; if the block raises, nothing of it is there.
    - Between the moment a transaction begins and its end, nobody else changes its units or its
      experiments, in this process or another. Units are locked in the order of their keys, so there
      is no deadlock.
    - A key of a unit has at most one decision, and a decision at most one event of each other kind.
    - Events never change, except that their keys may be forgotten, and are deleted only with their
      unit or experiment. ``seq`` grows with every event of a unit. No new event ever appears before
      a ``seq`` up to which someone has read the log.
    - Whatever the database does, a call ends: with a result, or with an `UnavailableError` after
      its patience. After that the store may be used again.

    Only one thread may use `transaction` and `check_writing`; all other methods are for any thread.
    """

    _sql: Mapping[str, Any]
    """The statements by name, in the form that connections take."""

    @abstractmethod
    def transaction(self, wanted: Wanted) -> AbstractContextManager[Transaction]:
        """Lock units, and return what is known of them; an exception in the block rolls it back."""

    @abstractmethod
    def check_writing(self) -> None:
        """Write something and commit it, as a transaction does."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Any]:
        """Return a connection to read by, which no other thread uses in the block."""

    @abstractmethod
    def _administering(self, *, alone: bool = False) -> AbstractContextManager[Any]:
        """Return a connection to write by, seldom and little, such as to experiments.

        If ``alone`` is true, the block is one transaction, and nobody else writes meanwhile.
        """

    def _read(self, name: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run the statement of that name, which only reads; return its rows."""
        with self._reading() as connection:
            rows: list[tuple[Any, ...]] = connection.execute(self._sql[name], values).fetchall()
            return rows

    def _change(self, name: str, *values: Any) -> int:
        """Run a statement in any thread; return how many rows it changed."""
        with self._administering() as connection:
            return int(connection.execute(self._sql[name], values).rowcount)

    def add_experiment(
        self, name: str, definition: str, revision: int, *, status: str = OPEN
    ) -> tuple[Kept, bool]:
        """Add an experiment unless there is one of that name; return it, and whether it is new."""
        with self._administering() as connection:
            (now,) = connection.execute(self._sql["now"]).fetchone()
            values = name, definition, status, revision, STATES, reward_wait(definition), now
            added = connection.execute(self._sql["add_experiment"], values).rowcount
            row = connection.execute(self._sql["experiment"], (name,)).fetchone()
        return Kept(*row), added > 0

    def change_experiment(
        self, kept: Kept, status: str, revision: int | None = None, kind: str | None = None
    ) -> Kept:
        """Change an experiment's status, and its revision if one is given; return it.

        ``kind`` is the event that is added to the log, if any. If the experiment is no longer as
        ``kept`` says, that is a `StaleError`.
        """
        after = kept.changed(status, revision)
        with self._administering(alone=True) as connection:
            values = status, after.revision, after.states, *kept.stamp
            if not connection.execute(self._sql["change_experiment"], values).rowcount:
                raise StaleError.of(kept.name)
            if kind is not None:
                (now,) = connection.execute(self._sql["now"]).fetchone()
                event = experiment_event(kind, after.revision, now)
                connection.execute(self._sql["add_event"], (kept.id, None, *event))
        return after

    def rebuild(self, kept: Kept, units: Sequence[Rebuilt]) -> None:
        """Replace states of units. Their experiment must not take requests meanwhile."""
        with self._administering(alone=True) as connection:
            if connection.execute(self._sql["stamp"], (kept.id,)).fetchone() != kept.stamp:
                raise StaleError.of(kept.name)
            rows = [(state, due, kept.id, unit) for unit, state, due in units]
            connection.cursor().executemany(self._sql["rewrite_unit"], rows)

    def count_experiments(self) -> int:
        """Return the number of experiments."""
        ((count,),) = self._read("count_experiments")
        return int(count)

    def experiments(self, after: str = "", most: int = _ALL_EXPERIMENTS) -> list[Kept]:
        """Return at most so many experiments, by name, from the first after a name on."""
        return [Kept(*row) for row in self._read("experiments", after, most)]

    def experiment(self, name: str) -> Kept | None:
        """Return the experiment of that name, if there is one."""
        return next((Kept(*row) for row in self._read("experiment", name)), None)

    def unit(self, unit_key: UnitKey) -> UnitRow | None:
        """Return a unit, if there is one."""
        return next((UnitRow(*row) for row in self._read("unit", *unit_key)), None)

    @abstractmethod
    def due(
        self,
        most: int,
        without: Collection[str] = (),
        without_units: Collection[tuple[str, str]] = (),
    ) -> list[tuple[str, str]]:
        """Return units with decisions to expire, each as the names of its experiment and itself."""

    @abstractmethod
    def _read_log(self, name: str, experiment: int, after: int, most: int) -> list[tuple[Any, ...]]:
        """Run a statement that reads an experiment's log after a position.

        It stops where an event with a smaller number may still be committed.
        """

    def log(self, experiment: int, after: int, most: int) -> list[Logged]:
        """Return the events of an experiment after a position in the log, in order."""
        rows = self._read_log("log", experiment, after, most)
        return [Logged(seq, unit, Event(*event)) for seq, unit, *event in rows]

    def find_events(self, unit_key: UnitKey) -> Erase:
        """Find the events of a unit, to be erased: a pass over the experiment's log."""
        (experiment, name), unit = unit_key, self.unit(unit_key)
        events, after = list[int](), 0
        while unit and (page := self._read_log("log_units", experiment, after, _AT_ONCE)):
            events += [seq for seq, owner in page if owner == unit.id]
            after = page[-1][0]
        return Erase(name, events, after)

    def delete_some(self, experiment: int) -> bool:
        """Delete a part of an experiment that takes no requests; return whether more is left."""
        for name in ("delete_events", "delete_units"):
            if self._change(name, experiment, _AT_ONCE):
                return True
        self._change("delete_experiment", experiment)
        return False

    def forget_keys(self, after: int, keep: float) -> int | None:
        """Forget keys that are older than ``keep`` seconds, those that are next in the log.

        Returns the position to go on from, or None if no later event is old enough. An event dated
        in the future was written before the clock went back: its key is forgotten with the next.
        """
        ((now,),) = self._read("now")
        times = self._read("times", after, now, _AT_ONCE)
        old = list(takewhile(lambda row: row[1] < now - keep, times))
        if not old:
            return None
        upto = int(old[-1][0])
        self._change("forget_keys", after, upto)
        return upto

    @abstractmethod
    def history(self, experiment: int) -> AbstractContextManager[History]:
        """Return all events of an experiment's units, as of one moment."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""


class History(ABC):
    """An experiment's units and their events, as of one moment."""

    @abstractmethod
    def rows(self, name: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Run the statement of that name about the experiment, and yield its rows."""

    def events(self) -> Iterator[tuple[str, Event]]:
        """Yield units with their events, one unit after the other, its events in order."""
        for unit, *event in self.rows("by_unit"):
            yield unit, Event(*event)

    def states(self) -> Iterator[tuple[str, int, str | None]]:
        """Yield units, how many events they had, and their states, in the order of `events`."""
        return self.rows("states")


def open_store(url: str, *, make: bool = False, patience: float = Settings.store_patience) -> Store:
    """Open the store at an address, sqlite:///FILE or postgresql://…, or a SQLite file by its path.

    If there is none, it is made if ``make`` is true, else refused. ``patience`` is how many seconds
    it waits for a database or for a lock, before it is unavailable.
    """
    where = _locate(url)
    if isinstance(where, str):
        from fpbandits.service.postgres import PostgresStore

        return PostgresStore(where, make=make, patience=patience)
    from fpbandits.service.sqlite import SqliteStore

    return SqliteStore(where, make=make, patience=patience)


def upgrade(url: str) -> tuple[int, int]:
    """Bring a store to this version's schema; return the schemas before and after.

    Each migration is one transaction. If the work is interrupted, the next call finishes it.
    """
    where = _locate(url)
    if isinstance(where, str):
        from fpbandits.service.postgres_connection import upgrade_database

        return upgrade_database(where)
    from fpbandits.service.sqlite import upgrade_file

    return upgrade_file(where)


def _locate(url: object) -> str | Path:
    """Return the address of a PostgreSQL, or the path of a SQLite file."""
    if not isinstance(url, str) or not url:
        raise InputError(f"a store is sqlite:///FILE or postgresql://…, not {quote(url)}")
    if url.startswith(("postgresql://", "postgres://")):
        return url
    if "://" not in url:
        return checked_path(url)
    kind, _, rest = url.partition("://")
    if kind != "sqlite" or not rest.startswith("/") or rest == "/":
        shown = f"{kind}://…" if "@" in rest else url  # it may hold a password
        raise InputError(
            f"unknown store {quote(shown)}: expected sqlite:///FILE (sqlite:////FILE from the "
            "root) or postgresql://USER@HOST/DATABASE"
        )
    return checked_path(rest[1:])


def without_password(url: str) -> str:
    """Return a store's address as it may be shown.

    >>> without_password("postgresql://me:secret@host:5432/shop?password=secret")
    'postgresql://host:5432/shop'
    """
    if not url.startswith(("postgresql://", "postgres://")):
        return url
    try:
        where = urlsplit(url)
    except ValueError:
        return "postgresql://…"
    return f"{where.scheme}://{where.netloc.rpartition('@')[2]}{where.path}"
