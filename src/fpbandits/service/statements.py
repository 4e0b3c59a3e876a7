"""The SQL of the stores, as files in ``sql/``: statements by name, and migrations by number.

``common.sql`` has the statements of both databases, ``sqlite.sql`` and ``postgres.sql`` those of
one. Tables are made and changed by *migrations*: the number of the last one is the store's schema.
A new store goes through all of them; `upgrade` takes an old one through those that it lacks, each
in a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from fpbandits.errors import StorageError

SCHEMA = 3
"""The number of the last migration."""


@cache
def statements(name: str) -> dict[str, str]:
    """Return the statements for a database, those of every store among them, by their names."""
    folder = files("fpbandits.service").joinpath("sql")
    found = {}
    for file in ("common.sql", f"{name}.sql"):
        _, *parts = folder.joinpath(file).read_text(encoding="utf-8").split("-- name: ")
        named = (part.partition("\n") for part in parts)
        found.update({title.strip(): body.strip() for title, _, body in named})
    return found


def migrations(name: str, schema: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers and statements of the migrations that follow a schema."""
    folder = files("fpbandits.service").joinpath("sql", name)
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        number = int(file.name.partition("_")[0])
        if number > schema:
            lines = file.read_text(encoding="utf-8").splitlines()
            # A comment may hold a semicolon.
            text = "\n".join(line.partition("--")[0].rstrip() for line in lines)
            parts = (part.strip(" \n;") for part in text.split(";\n"))
            yield number, [part for part in parts if part]


def check_schema(schema: int) -> None:
    """Refuse a store of another schema, and say what to do."""
    if schema == SCHEMA:
        return
    has = f"the store has schema {schema}, and this version of fpbandits needs {SCHEMA}"
    if schema < SCHEMA:
        raise StorageError(f"{has}: stop its servers, back it up, and run fpbandits upgrade STORE")
    raise StorageError(f"{has}: a newer version wrote it, install that one")
