"""`Settings`: the limits of a server, with defaults; from a TOML file if need be."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

from fpbandits.core.checks import flag, number, whole_number
from fpbandits.core.storage import read_whole, shown
from fpbandits.errors import InputError, said, unknown, within, wrong_value

_LARGEST_FILE = 2**16
"""Most bytes of a file of settings."""

_MAY_BE_ZERO = "drain_seconds", "keep_keys_days"
"""All other numbers must be above 0."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The limits of a server.

    Attributes
    ----------
    patience
        Seconds that a request waits for its answer: longer than the store may take.
    store_patience
        Seconds that the store waits for a database or a lock.
    transaction_seconds
        Seconds of deciding after which a transaction is committed if other experiments wait.
    stop_seconds
        Seconds that requests under way have to finish when the server is stopped.
    drain_seconds
        Seconds for which a server goes on serving after SIGTERM, while /ready is 503 already.
    request_seconds
        Seconds from a connection, or from the first byte of its next request, until the whole
        request is there.
    largest_head
        Bytes of a request before its body.
    most_connections
        Connections that may be open.
    most_waiting
        Requests that may wait for a transaction.
    most_experiments
        Experiments that a store may have.
    most_means
        Models × arms × contexts of an experiment.
    most_pending
        Pending decisions of a unit: each is read and written whenever the unit is touched.
    keep_keys_days
        Days after which the keys of decisions are forgotten; 0: never.
    access_log
        Whether every answer is a line of the server's log.
    """

    patience: float = 8.0
    store_patience: float = 3.0
    transaction_seconds: float = 0.05
    stop_seconds: float = 10.0
    drain_seconds: float = 3.0
    request_seconds: float = 30.0
    largest_head: int = 2**16
    most_connections: int = 5_000
    most_waiting: int = 20_000
    most_experiments: int = 1_000
    most_means: int = 1_000_000
    most_pending: int = 10_000
    keep_keys_days: float = 0.0
    access_log: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if type(field.default) is bool:
                flag(field.name, value)
                continue
            if type(field.default) is int:
                whole_number(field.name, value, least=1)
                continue
            seconds = number(value, field.name)
            if seconds < 0 or (seconds == 0 and field.name not in _MAY_BE_ZERO):
                raise wrong_value(field.name, value, "be above 0")


def read_settings(path: Path) -> Settings:
    """Read settings from a TOML file; those that it leaves out have their defaults."""
    known, content = [field.name for field in fields(Settings)], read_whole(path, _LARGEST_FILE)
    with within(shown(path)):
        try:
            values = tomllib.loads(content.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"not TOML: {said(error)}") from None
        for name in values:
            if name not in known:
                raise unknown("setting", name, known)
        return Settings(**values)
