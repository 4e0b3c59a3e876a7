"""Where the rows of a log come from: a CSV or Parquet file, or a data frame.

Each yields *chunks*: the columns asked for, in the order asked for, some rows at a time. They are
lists of texts from CSV, arrays from elsewhere. Nothing is converted here, and nothing is stored.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fpbandits.core.extras import needed_for
from fpbandits.core.storage import cell_to_text
from fpbandits.errors import Error, InputError, StorageError, listed, quote, said, unknown

Progress = Callable[[str, float, float], None]
"""Called with what is under way, the share of it that is done, and the share of all."""

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet")
"""How the names of log files end."""

_AT_ONCE = 65_536
"""Rows of a chunk, at the most."""


def frame_chunks(frame: Any, names: Sequence[str]) -> Iterator[Sequence[Any]]:
    """Yield the columns of a data frame, all rows at once."""
    columns = getattr(frame, "column_names", None)  # Arrow
    if columns is None:
        columns = getattr(frame, "columns", frame if isinstance(frame, Mapping) else None)
    if columns is None:
        raise InputError(
            f"expected the path of a log or a data frame with a column per role, not {quote(frame)}"
        )
    _check_columns(list(columns), names)
    parts = [_as_array(frame[name]) for name in names]
    for name, part in zip(names, parts, strict=True):
        if part.ndim != 1 or len(part) != len(parts[0]):
            uneven = f"the column {quote(name)} does not have one value per row"
            raise InputError(uneven, about=(("column", name),))
    yield parts


def _as_array(column: Any) -> NDArray[Any]:
    """Return a column as an array: integers with gaps as objects, as floats have fewer digits."""
    values = np.asarray(column)
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    if values.dtype.kind == "f" and "int" in kind:
        exact = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
        return np.array(exact, object)
    return values


def has_column(source: Any, name: str) -> bool:
    """Tell whether a log, a file's path or a data frame, has a column of that name."""
    try:
        if isinstance(source, str | os.PathLike):
            next(iter(file_chunks(Path(source), [name], None)), None)
        else:
            next(frame_chunks(source, [name]), None)
    except Error:  # reading the log will say what else is wrong with it
        return False
    return True


def _check_columns(header: Sequence[Any], names: Sequence[str]) -> None:
    """Refuse columns that a log does not have, or has twice."""
    for name in names:
        if name not in header:
            raise unknown("column", name, list(map(str, header)))
        if list(header).count(name) > 1:
            raise InputError(f"there are two columns {quote(name)}", about=(("column", name),))


def file_chunks(
    path: Path, names: Sequence[str], progress: Progress | None
) -> Iterator[Sequence[Any]]:
    """Return the chunks of a file, by its ending."""
    if not path.name.lower().endswith(ENDINGS):
        raise InputError(
            f"unknown file ending {quote(path.suffix)}: a log is a {', '.join(ENDINGS)} file or a "
            "data frame"
        )
    if not path.exists():
        raise InputError("there is no such file")
    if not path.is_file():
        raise InputError("not a regular file")
    if path.suffix.lower() == ".parquet":
        return _parquet_chunks(path, names, progress)
    return _csv_chunks(path, names, progress)


def _parquet_chunks(
    path: Path, names: Sequence[str], progress: Progress | None
) -> Iterator[Sequence[Any]]:
    """Yield the columns of a Parquet file, some rows at a time."""
    with needed_for("a Parquet file", "parquet", ", or save the log as CSV"):
        import pyarrow
        import pyarrow.parquet
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            _check_columns(file.schema_arrow.names, names)
            rows, done = max(1, file.metadata.num_rows), 0
            for batch in file.iter_batches(_AT_ONCE, columns=list(names)):
                done += len(batch)
                if progress is not None:
                    progress("reading the log", done / rows, 0.0)
                yield [_as_array(batch.column(name)) for name in names]
    except (pyarrow.ArrowException, OSError) as error:
        raise StorageError(f"cannot be read as Parquet ({said(error, 100)})") from None


@contextmanager
def _unpacked(path: Path) -> Iterator[tuple[Any, Any]]:
    """Open a file that may be gzipped; yield the file itself, and its unpacked content."""
    try:
        with path.open("rb") as raw:
            yield raw, gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw
    except (OSError, EOFError, zlib.error) as error:
        raise StorageError(
            f"cannot be read ({getattr(error, 'strerror', None) or said(error, 100)})"
        ) from None


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Any]]:
    """Open a CSV file; yield it, and a reader of its rows."""
    with _unpacked(path) as (raw, content):
        first = content.readline()
        delimiter = max(",;\t", key=lambda character: first.count(character.encode()))
        content.seek(0)
        text = io.TextIOWrapper(content, encoding="utf-8-sig", newline="")
        yield raw, csv.reader(text, delimiter=delimiter, skipinitialspace=True, strict=True)


def _csv_chunks(
    path: Path, names: Sequence[str], progress: Progress | None
) -> Iterator[Sequence[Any]]:
    """Yield the columns of a CSV file, some rows at a time."""
    size = max(1, path.stat().st_size)
    with _opened(path) as (raw, reader):
        try:
            header = [cell.strip() for cell in next(reader, [])]
            if not header:
                raise InputError(f"it is empty: expected a header with {listed(names)}")
            _check_columns(header, names)
            indices = [header.index(name) for name in names]
            done = 0
            while rows := list(islice(reader, _AT_ONCE)):
                if not all(rows):
                    rows = [row for row in rows if row]
                for row in np.flatnonzero(np.fromiter(map(len, rows), int) != len(header)):
                    fields = rows[row]
                    # Spreadsheets may end rows with empty fields.
                    if len(fields) < len(header) or any(map(str.strip, fields[len(header) :])):
                        have = f"has {len(fields)} of {len(header)} fields"
                        raise InputError(have, place=(("index", done + int(row)),))
                done += len(rows)
                if progress is not None:
                    progress("reading the log", min(1.0, raw.tell() / size), 0.0)
                yield [_unescape([row[index] for row in rows]) for index in indices]
        except UnicodeDecodeError:
            raise _undecodable(path) from None
        except csv.Error as error:
            place = (("row", reader.line_num),)
            raise InputError(f"not valid CSV: {error}", place=place) from None


def _unescape(cells: list[str]) -> list[str]:
    """Undo `text_to_cell`, by which an exported log escapes texts."""
    escaped = any(cell.startswith("'") for cell in cells)
    return list(map(cell_to_text, cells)) if escaped else cells


def line_of(path: Path, row: int) -> int:
    """Return the line of the file on which a row ends: blank lines and long fields are counted."""
    with _opened(path) as (_, reader):
        next(reader)
        rows = filter(None, reader)
        next(islice(rows, row, None))
        return int(reader.line_num)


def _undecodable(path: Path) -> InputError:
    """Return an error that says where the first byte is that is not UTF-8."""
    with _unpacked(path) as (_, content):
        for number, line in enumerate(content, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                words = f"byte 0x{line[error.start]:02x} is not UTF-8 text"
                return InputError(words, place=(("row", number),))
    return InputError("it is not UTF-8 text")
