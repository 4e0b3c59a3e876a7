"""Rows from files and data frames: the columns asked for, whatever is around them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fpbandits.errors import InputError, StorageError
from fpbandits.logs import sources
from fpbandits.logs.sources import file_chunks, frame_chunks, has_column, line_of

COLUMNS: dict[str, Any] = {"x": [1, 2], "user": ["ann", "bob"], "reward": [0.5, 1.0]}


def as_rows(chunks: Any) -> list[tuple[Any, ...]]:
    return [row for chunk in chunks for row in zip(*chunk, strict=True)]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_data_frames_of_all_kinds(make: Any) -> None:
    rows = as_rows(frame_chunks(make(COLUMNS), ["reward", "user"]))
    assert rows == [(0.5, "ann"), (1.0, "bob")]


@pytest.mark.parametrize("comma", [",", ";", "\t"])
def test_csv_with_any_comma(tmp_path: Path, comma: str) -> None:
    path = tmp_path / "log.csv"
    lines = [["x", " user ", "reward"], ["1", "ann", "0.5"], ["2", '"bob\nby"', "1"]]
    path.write_text("\ufeff" + "\n".join(map(comma.join, lines)) + "\n\n")
    assert as_rows(file_chunks(path, ["reward", "user"], None)) == [
        ("0.5", "ann"),
        ("1", "bob\nby"),
    ]


def test_lines_are_counted_as_an_editor_does(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text('user,reward\n\nann,1\n"bob\nby",2\ncy,3\n')
    assert [line_of(path, row) for row in range(3)] == [3, 5, 6]


def test_parquet_comes_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_AT_ONCE", 3)
    path, told = tmp_path / "log.parquet", []
    pq.write_table(pa.table({"user": list("abcdefgh"), "reward": np.arange(8.0)}), path)
    chunks = file_chunks(path, ["user", "reward"], lambda *said: told.append(said))
    assert as_rows(chunks) == list(zip("abcdefgh", np.arange(8.0), strict=True))
    assert told == [("reading the log", share, 0.0) for share in (3 / 8, 6 / 8, 1)]
    pq.write_table(pa.table({"user": ["a"]}), path)
    told.clear()
    assert as_rows(file_chunks(path, ["user"], lambda *said: told.append(said))) == [("a",)]
    assert told == [("reading the log", 1, 0.0)]


def test_csv_says_what_share_of_the_bytes_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a file that grows meanwhile, all of it at most."""
    monkeypatch.setattr(sources, "_AT_ONCE", 1000)
    path, told = tmp_path / "log.csv", []
    path.write_text("user\n" + "abcdefghi\n" * 10_000)
    chunks = file_chunks(path, ["user"], lambda *said: told.append(said))
    next(iter(chunks))
    with path.open("a") as file:
        file.write("abcdefghi\n" * 10_000)
    assert len(as_rows(chunks)) == 19_000
    shares = [share for _, share, _ in told]
    assert told == [("reading the log", share, 0.0) for share in shares]
    # It is read some thousand bytes ahead.
    assert 0.1 <= shares[0] < 0.3
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    def refused(name: str, content: bytes | None, words: str) -> None:
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises((InputError, StorageError), match=words):
            list(file_chunks(path, ["user", "reward"], None))

    refused("none.csv", None, "there is no such file")
    refused("log.txt", b"", "unknown file ending '.txt'")
    refused("empty.csv", b"", "it is empty: expected a header with 'user', 'reward'")
    refused("other.csv", b"user,rewards\n", "unknown column 'reward': did you mean 'rewards'")
    refused("twice.csv", b"user,user,reward\n", "two columns 'user'")
    refused("latin.csv", b"user,reward\nann,1\nb\xf6b,1\n", "row 3: byte 0xf6 is not UTF-8")
    refused("quote.csv", b'user,reward\n"ann,1\n', "row 2: not valid CSV")
    refused("junk.parquet", b"junk", "cannot be read as Parquet")
    (tmp_path / "folder.csv").mkdir()
    refused("folder.csv", None, "not a regular file")


@pytest.mark.parametrize(
    ("before", "row"),
    [
        (b"user,reward\n" + b"ann,1\n" * 5_000, 5_002),
        (b"user,reward\r\n" + b"a" * 8_176 + b",1\r\n", 3),
        (b'user,reward\n"ann\nof\n', 4),
        (b"\xef\xbb\xbfuser,reward\nann,1\n", 3),
        (b"\xef\xbb\xbf", 1),
        (b"user,reward\n" + b'"ann\rof",1\n' * 5_000, 5_002),
    ],
    ids=["far on", "CR LF across 8 kB", "quoted lines", "after a BOM", "at a BOM", "quoted CR"],
)
def test_the_row_of_a_byte_that_is_not_utf8_is_told(
    tmp_path: Path, before: bytes, row: int
) -> None:
    """Rows end at a line feed, as editors count them, whatever the decoder has read ahead."""
    path = tmp_path / "log.csv"
    path.write_bytes(before + b"b\xf6b,1\n")
    with pytest.raises(InputError, match=f"^row {row}: byte 0xf6 is not UTF-8"):
        list(file_chunks(path, ["user", "reward"], None))


@pytest.mark.parametrize(("row", "fields"), [("bob", 1), ("bob,9,50", 3), ("bob,9,,50", 4)])
def test_a_row_of_another_length_than_the_header_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: str, fields: int
) -> None:
    path = tmp_path / "log.csv"
    monkeypatch.setattr(sources, "_AT_ONCE", 2)
    path.write_text(f"user,reward\nann,1\nann,2\n\nann,3\n{row}\n")
    with pytest.raises(InputError, match=f"has {fields} of 2 fields") as caught:
        list(file_chunks(path, ["user", "reward"], None))
    assert caught.value.place == (("index", 3),)


def test_apostrophes_of_an_exported_log_are_taken_off(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,arm\n'=ann,9\n'tis,'-1\n")
    assert as_rows(file_chunks(path, ["user", "arm"], None)) == [("=ann", "9"), ("'tis", "-1")]


def test_a_row_may_end_with_empty_fields(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,reward\nann,1,, \nbob,2\n")
    assert as_rows(file_chunks(path, ["user", "reward"], None)) == [("ann", "1"), ("bob", "2")]


def test_no_data_frame() -> None:
    with pytest.raises(InputError, match="expected the path of a log or a data frame"):
        list(frame_chunks(3, ["user"]))
    with pytest.raises(InputError, match="unknown column 'users'"):
        list(frame_chunks(COLUMNS, ["users"]))
    with pytest.raises(InputError, match="'reward' does not have one value per row"):
        list(frame_chunks({**COLUMNS, "reward": [1]}, ["user", "reward"]))
    with pytest.raises(InputError, match="'user' does not have one value per row"):
        list(frame_chunks({"user": np.zeros((2, 2))}, ["user"]))
    with pytest.raises(InputError, match="there are two columns 'user'"):
        list(frame_chunks(pd.DataFrame([[1, 2]], columns=["user", "user"]), ["user"]))


def test_whether_there_is_a_column(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("user,reward\nann,1\n")
    for source in (path, str(path), COLUMNS, pa.table(COLUMNS)):
        assert has_column(source, "user")
        assert not has_column(source, "users")
    assert not has_column(tmp_path / "none.csv", "user")
    assert not has_column(3, "user")


def test_a_gzipped_file_is_read_as_it_was_before(tmp_path: Path) -> None:
    path = tmp_path / "log.CSV.gz"
    path.write_bytes(gzip.compress(b"user,reward\nann,1\n\nbob,2\n"))
    assert as_rows(file_chunks(path, ["user", "reward"], None)) == [("ann", "1"), ("bob", "2")]
    assert line_of(path, 1) == 4
    for content in (b"user,reward\nann,1\n", path.read_bytes()[:-9]):
        path.write_bytes(content)
        with pytest.raises(StorageError, match=r"cannot be read \([A-Z]\w+"):
            list(file_chunks(path, ["user", "reward"], None))
    path.write_bytes(gzip.compress(b"user,reward\nb\xf6b,1\n"))
    with pytest.raises(InputError, match="row 2: byte 0xf6 is not UTF-8"):
        list(file_chunks(path, ["user", "reward"], None))
