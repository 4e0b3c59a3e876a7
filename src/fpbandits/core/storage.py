"""Atomic writes, careful reads, and locks on folders.

A file is written under a temporary name and then renamed. Files of the package hold a *kind* and a
*schema*, which `check_kind` compares. A file of another program is refused; one of ours that is cut
off or altered raises `DamagedError`, so that callers can compute it again.
"""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import platform
import re
import secrets
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from fpbandits.errors import ConflictError, Error, InputError, StorageError, quote, within

_ASIDE = ".aside"
"""The ending of temporary files."""

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""Cells that a spreadsheet would compute, with any apostrophes that were put before them."""


class DamagedError(StorageError):
    """A file is not as it was written: cut off, or altered."""


def shown(path: Path) -> str:
    """Return a path for an error message, on one line."""
    text = str(path)
    return text if text.isprintable() and len(text) <= 200 else quote(text)


def _storage_error(what: str, error: Exception) -> StorageError:
    """Return the error for an operation that the system refused, with the system's reason."""
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return StorageError(f"{what} ({reason})")


@contextmanager
def written_aside(path: Path) -> Iterator[BinaryIO]:
    """Open a file that appears when the block ends, or not at all if the block raises."""
    # A file name has at most 255 bytes, and a character takes up to four.
    aside = path.with_name(f".{path.name[:16]}.{secrets.token_hex()}{_ASIDE}")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        # "x" opens a new file only, so no link is followed; the system sets the permissions.
        with aside.open("xb") as file:
            yield file
            _sync(file)
        aside.replace(path)
    except (OSError, ValueError) as error:
        if isinstance(error, Error):
            raise
        raise _storage_error("cannot be written", error).at(shown(path)) from None
    finally:
        with suppress(OSError, ValueError):
            aside.unlink()


def _sync(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def write_aside(path: Path, content: bytes) -> None:
    """Write a file so that it appears whole or not at all."""
    with written_aside(path) as file:
        file.write(content)


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write several files; none appears before the contents of all are on disk."""
    with ExitStack() as stack:
        for path, content in contents.items():
            file = stack.enter_context(written_aside(path))
            file.write(content)
            _sync(file)


def remove_asides(folder: Path, name: str = "*") -> None:
    """Remove the temporary files of a killed process; no other process may be writing them."""
    for path in folder.glob(f".{name}.*{_ASIDE}"):
        if path.is_file():
            path.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder, or raise an error if files cannot be written to it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "Permission denied")
    except (OSError, ValueError) as error:
        raise _storage_error("cannot be written to", error).at(shown(path)) from None


def refuse_link(path: Path) -> None:
    """Refuse a symbolic link where the package writes: it could lead to other people's files."""
    if path.is_symlink():
        reason = "is a link, and links are not followed here: remove it"
        raise StorageError(reason).at(shown(path))


def read_whole(path: Path, most: int | None = None) -> bytes:
    """Return the content of a regular file of at most ``most`` bytes."""
    with within(shown(path)):
        try:
            # Reading a pipe or a device could block for ever.
            if not stat.S_ISREG(path.stat().st_mode):
                raise InputError("not a regular file")
            with path.open("rb") as file:
                content = file.read() if most is None else file.read(most + 1)
        except InputError:
            raise
        except FileNotFoundError:
            raise InputError("there is no such file") from None
        except (OSError, ValueError) as error:
            raise _storage_error("cannot be read", error) from None
        except (MemoryError, OverflowError):
            raise StorageError("too large to be read into memory") from None
        check_size(content, most, path.suffix)
        return content


def check_size(content: bytes, most: int | None, ending: str) -> None:
    """Refuse a file that has more than ``most`` bytes."""
    if most is not None and len(content) > most:
        size = f"{most // 2**20} MiB"
        raise InputError(f"larger than {size}, the most that is read of a {ending.lower()} file")


def check_kind(content: Any, kind: str, schemas: Collection[int]) -> dict[str, Any]:
    """Return a file's content, or raise an error if its kind or its schema is not expected."""
    if not isinstance(content, dict) or content.get("kind") != f"fpbandits {kind}":
        raise StorageError(f"this holds no {kind} of fpbandits")
    if content.get("schema") not in schemas:
        raise StorageError(
            f"written with schema {quote(content.get('schema'))}, and this version of fpbandits "
            f"reads schema {' and '.join(map(str, schemas))}"
        )
    return content


def read_json(path: Path, kind: str, schemas: Collection[int]) -> dict[str, Any]:
    """Read a JSON file that this package wrote."""
    content = read_whole(path)
    with within(shown(path)):
        try:
            return check_kind(json.loads(content), kind, schemas)
        except (ValueError, RecursionError):
            raise DamagedError("damaged (it is cut off, or not JSON)") from None


def text_to_cell(text: str) -> str:
    """Return a text as a cell of CSV, with an apostrophe if a spreadsheet would compute it.

    >>> text_to_cell("=1+1"), text_to_cell("12 EUR")
    ("'=1+1", '12 EUR')
    """
    return f"'{text}" if _FORMULA.match(text) else text


def cell_to_text(cell: str) -> str:
    """Return the text of a cell written by `text_to_cell`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def rows_to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows of the same columns as CSV; NaN becomes an empty cell.

    Texts are written by `text_to_cell`.
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(text_to_cell, rows[0]))
    for row in rows:
        writer.writerow(map(_cell, row.values()))
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return text_to_cell(value)
    return "" if value != value else value  # NaN is not equal to itself


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes; the lock ends with the process."""
    from filelock import FileLock, Timeout

    refuse_link(folder / ".lock")
    # The owner is written beside the lock: every attempt to lock empties the lock file itself.
    lock, owner = FileLock(folder / ".lock", blocking=False, thread_local=False), folder / ".owner"
    try:
        lock.acquire()
    except Timeout:
        name = "another process"
        with suppress(Error, UnicodeDecodeError):
            text = read_whole(owner, 2**20).decode()[:60].strip()
            name = text if text and text.isprintable() else name
        raise ConflictError(
            f"{name} is at work there: wait for it, or name another folder", place=(shown(folder),)
        ) from None
    except (OSError, NotImplementedError) as error:
        raise _storage_error("cannot be locked", error).at(shown(folder)) from None
    try:
        remove_asides(folder, owner.name)
        with suppress(StorageError):  # the owner only serves messages
            write_aside(owner, f"process {os.getpid()} on {platform.node()}".encode())
        yield
    finally:
        lock.release()
