"""What every store does: keep experiments, units and their events, and lose nothing.

A *transaction* is how the service changes anything. It names all units that it needs, beforehand;
the store locks them, hands out what it knows of them, takes what became of them, and commits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from fpbandits.core.checks import checked_path
from fpbandits.errors import InputError, quote
from fpbandits.service.step import Event, Unit

KIND, SCHEMA = "fpbandits store", 1
PATIENCE = 3.0
"""Seconds that a store waits for a database or for a lock, before it is unavailable."""

UnitKey = tuple[int, str]
"""An experiment's number and a unit's name: also the order in which units are locked."""

UnitKeys = Sequence[UnitKey]


class Kept(NamedTuple):
    """An experiment as a store keeps it; it takes requests if it is ``open``."""

    id: int
    name: str
    definition: str
    open: bool
    created: float


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

    @classmethod
    def of(cls, id: int, unit: Unit) -> Change:
        """Return what became of the unit with this number."""
        return cls(unit.experiment.id, id, unit.steps, unit.packed(), unit.due, unit.events)


class Logged(NamedTuple):
    """A line of the log: its position, whose it is, what happened."""

    seq: int
    unit: str
    event: Event


class Transaction(ABC):
    """What a store knows of the units that were named, all of them locked.

    Attributes
    ----------
    now
        The time, by the database's clock.
    rows
        The units by key; those that were named but are unknown are not there.
    decided
        The decisions that were made under the keys that were named, by unit and key.
    """

    now: float
    rows: dict[UnitKey, UnitRow]
    decided: dict[UnitKey, dict[str, Event]]

    @abstractmethod
    def resolutions(self, unit: int, number: int) -> Sequence[Event]:
        """Return all events of a decision but the decision itself."""

    @abstractmethod
    def write(self, changes: Sequence[Change]) -> None:
        """Write what became of units, to be committed with the transaction."""


class Store(ABC):
    """Where experiments, units and events are kept.

    Every store keeps these promises, and `tests/helpers/stores.py` holds it to them:

    - What is written in a transaction is there in full once its block has been left, whatever is
      killed thereafter; if the block raises, nothing of it is there.
    - Between the moment a transaction begins and its end, nobody else changes its units, in this
      process or another. Units are locked in the order of their keys, so nobody waits in a ring.
    - A key of a unit has one decision at the most, and a decision one event of each other kind.
    - Events are never changed or deleted. ``seq`` grows with every event of a unit, and whoever has
      read the log up to some ``seq`` will never find an event before it that is new.
    - Whatever the database does, a call ends: with a result, or with an `UnavailableError` after
      some `PATIENCE`. After that the store may be used again.

    One thread may write at a time; reading is free to all.
    """

    @abstractmethod
    def transaction(
        self, asked: UnitKeys, touched: UnitKeys, keys: Sequence[tuple[UnitKey, str]]
    ) -> AbstractContextManager[Transaction]:
        """Lock units, each named once and in order; those ``asked`` are made if they are unknown.

        ``keys`` are those under which decisions may have been made. The transaction is committed
        when its block is left, and rolled back if by an exception.
        """

    @abstractmethod
    def add_experiment(self, name: str, definition: str, *, open: bool = True) -> tuple[Kept, bool]:
        """Keep an experiment unless there is one of that name; return what is kept, and if anew."""

    @abstractmethod
    def open_experiment(self, id: int) -> None:
        """Let an experiment take requests."""

    @abstractmethod
    def experiments(self) -> list[Kept]:
        """Return all experiments, by name."""

    @abstractmethod
    def experiment(self, name: str) -> Kept | None:
        """Return the experiment of that name, if there is one."""

    @abstractmethod
    def unit(self, unit_key: UnitKey) -> UnitRow | None:
        """Return a unit as it is, if there is one."""

    @abstractmethod
    def due(self, most: int) -> list[tuple[str, str]]:
        """Return experiments and units, by name, that have decisions to expire."""

    @abstractmethod
    def log(self, experiment: int, after: int, most: int) -> list[Logged]:
        """Return the events of an experiment after a position in the log, in order."""

    @abstractmethod
    def history(self, experiment: int) -> AbstractContextManager[History]:
        """Return all that an experiment's units went through, as of one moment."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""


class History(ABC):
    """An experiment's units, and what they went through, as of one moment."""

    @abstractmethod
    def events(self) -> Iterator[tuple[str, Event]]:
        """Yield units with their events, one unit after the other, its events in order."""

    @abstractmethod
    def states(self) -> Iterator[tuple[str, int, str | None]]:
        """Yield units, how many events they had, and their states, in the order of `events`."""


def open_store(url: str, *, make: bool = False, patience: float = PATIENCE) -> Store:
    """Open the store at an address, sqlite:///FILE or postgresql://…, or a SQLite file by its path.

    One that is not there is made only if ``make`` says so. ``patience`` is in seconds.
    """
    if not isinstance(url, str) or not url:
        raise InputError(f"a store is sqlite:///FILE or postgresql://…, not {quote(url)}")
    if url.startswith(("postgresql://", "postgres://")):
        from fpbandits.service.postgres import PostgresStore

        return PostgresStore(url, make=make, patience=patience)
    from fpbandits.service.sqlite import SqliteStore

    if "://" not in url:
        return SqliteStore(checked_path(url), make=make, patience=patience)
    kind, _, rest = url.partition("://")
    if kind != "sqlite" or not rest.startswith("/") or rest == "/":
        shown = f"{kind}://…" if "@" in rest else url  # it may hold a password
        raise InputError(
            f"unknown store {quote(shown)}: expected sqlite:///FILE (sqlite:////FILE from the "
            "root) or postgresql://USER@HOST/DATABASE"
        )
    return SqliteStore(checked_path(rest[1:]), make=make, patience=patience)


@cache
def statements(name: str) -> dict[str, str]:
    """Return the statements of a file of SQL by their names."""
    text = files("fpbandits.service").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
    _, *parts = text.split("-- name: ")
    named = (part.partition("\n") for part in parts)
    return {title.strip(): body.strip() for title, _, body in named}


def existing(path: Path) -> None:
    """Say that a store is not there, if so."""
    if not path.exists():
        raise InputError("there is no such store; fpbandits serve makes one", place=(str(path),))
