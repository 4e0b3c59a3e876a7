"""Files whole or not at all; reading says what is wrong; one at a time is at work in a folder."""

from __future__ import annotations

import csv
import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fpbandits.core.storage import (
    DamagedError,
    cell_to_text,
    check_kind,
    locked,
    make_folder,
    read_json,
    read_whole,
    remove_asides,
    rows_to_csv,
    shown,
    write_aside,
    write_together,
    written_aside,
)
from fpbandits.errors import ConflictError, InputError, StorageError


def test_a_failed_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kept.toml"
    path.write_text("precious")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"cannot be written \(No space left on device\)"):
        write_aside(path, b"new")
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(StorageError, match="cannot be written"):
        write_aside(tmp_path / "no" / "folder.toml", b"new")


def test_written_files_have_ordinary_permissions(tmp_path: Path) -> None:
    write_aside(tmp_path / "new.toml", b"")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "new.toml").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_writing_leaves_the_umask_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the whole process's: another thread's files would be open to all for a moment."""
    monkeypatch.delattr(os, "umask")
    write_aside(tmp_path / "new.toml", b"")


def test_names_may_be_as_long_as_file_names_are(tmp_path: Path) -> None:
    path = tmp_path / ("🎲" * 62 + ".toml")
    write_aside(path, b"new")
    assert path.read_bytes() == b"new"


def test_writing_replaces_a_link_and_not_what_it_leads_to(tmp_path: Path) -> None:
    mine, link = tmp_path / "mine.txt", tmp_path / "result.npz"
    mine.write_text("precious")
    link.symlink_to(mine)
    write_aside(link, b"new")
    assert mine.read_text() == "precious"
    assert link.read_bytes() == b"new"
    assert not link.is_symlink()


@pytest.mark.parametrize("there", [True, False])
def test_a_lock_that_is_a_link_is_refused(tmp_path: Path, there: bool) -> None:
    mine, folder = tmp_path / "mine.txt", tmp_path / "d"
    folder.mkdir()
    if there:
        mine.write_text("precious")
    (folder / ".lock").symlink_to("../mine.txt")
    with pytest.raises(StorageError, match=r"\.lock: is a link.*remove it"), locked(folder):
        pass
    assert mine.exists() is there
    assert not there or mine.read_text() == "precious"


def test_files_written_together_appear_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write_together({first: b"old", second: b"old"})
    handles: list[int] = []

    def fills_up(handle: int) -> None:
        handles.append(handle)
        if len(handles) == 2:
            raise OSError(28, "No space left")

    monkeypatch.setattr(os, "fsync", fills_up)
    with pytest.raises(StorageError, match=r"second: cannot be written \(No space left\)"):
        write_together({first: b"new", second: b"new"})
    assert first.read_bytes() == second.read_bytes() == b"old"
    assert sorted(tmp_path.iterdir()) == [first, second]


@pytest.mark.parametrize("names", [("file", "folder"), ("folder", "file")])
def test_a_folder_in_the_way_leaves_all_files_as_they_were(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match=r"folder: cannot be written \(Is a directory\)"):
        write_together({tmp_path / name: b"new" for name in names})
    assert (tmp_path / "file").read_bytes() == b"old"
    assert {path.name for path in tmp_path.iterdir()} == {"file", "folder"}


def test_what_was_left_aside_is_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in (".kept.1.aside", ".other.1.aside", "kept", ".kept"):
        (tmp_path / name).write_text("")
    remove_asides(tmp_path, "kept")
    assert {path.name for path in tmp_path.iterdir()} == {".other.1.aside", "kept", ".kept"}
    remove_asides(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"kept", ".kept"}


def test_what_a_killed_process_wrote_is_known_by_its_name(tmp_path: Path) -> None:
    with written_aside(tmp_path / "a name of 16 let"):
        (tmp_path / "kept").write_text("")
        remove_asides(tmp_path, "a name of 16 le")
        assert len(list(tmp_path.iterdir())) == 2
        (aside,) = set(tmp_path.iterdir()) - {tmp_path / "kept"}
        left = aside.read_bytes()
        remove_asides(tmp_path, "a name of 16 let")
        assert list(tmp_path.iterdir()) == [tmp_path / "kept"]
        aside.write_bytes(left)


def test_a_folder_that_nobody_may_write_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(StorageError, match=r"cannot be written to \(Permission denied\)"):
        make_folder(tmp_path)


def test_folders_are_made_or_refused(tmp_path: Path) -> None:
    make_folder(tmp_path / "a" / "b")
    (tmp_path / "a" / "b" / "kept").write_text("")
    make_folder(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / "kept").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="file: cannot be written to"):
        make_folder(tmp_path / "file")


def test_reading(tmp_path: Path) -> None:
    path = tmp_path / "file.csv"
    path.write_bytes(b"x" * 2**20)
    assert read_whole(path) == read_whole(path, 2**20) == b"x" * 2**20
    path.write_bytes(b"x" * (2**20 + 1))
    with pytest.raises(InputError, match=r"larger than 1 MiB, the most that is read of a \.csv"):
        read_whole(path, 2**20)
    with pytest.raises(InputError, match="none: there is no such file"):
        read_whole(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        for read in (read_whole, lambda path: read_json(path, "agent", (1,))):
            with pytest.raises(InputError, match="not a regular file"):
                read(place)
    for name in ("a\0b", "x" * 300):
        with pytest.raises(StorageError, match="cannot be read"):
            read_whole(tmp_path / name)


def test_what_does_not_fit_into_memory_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_much(*_: object) -> None:
        raise MemoryError

    (tmp_path / "large").write_text("")
    monkeypatch.setattr(Path, "open", too_much)
    with pytest.raises(StorageError, match="large: too large to be read into memory"):
        read_whole(tmp_path / "large")


GOOD = {"kind": "fpbandits thing", "schema": 2, "value": 5}


def test_what_is_kept_says_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "thing.json"
    path.write_text(json.dumps(GOOD))
    assert read_json(path, "thing", (1, 2)) == check_kind(GOOD, "thing", (2,)) == GOOD


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "this holds no thing of fpbandits"),
        ({"a": 1}, "this holds no thing of fpbandits"),
        (GOOD | {"kind": "fpbandits other"}, "this holds no thing of fpbandits"),
        (GOOD | {"schema": 3}, "written with schema 3, and this version of fpbandits reads schema"),
        (GOOD | {"schema": "x"}, "written with schema 'x', and .* reads schema 1 and 2"),
    ],
)
def test_other_kinds_and_schemas_are_refused(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "thing.json"
    path.write_text(json.dumps(content))
    with pytest.raises(StorageError, match=f"thing.json: {message}") as caught:
        read_json(path, "thing", (1, 2))
    assert not isinstance(caught.value, DamagedError)


@pytest.mark.parametrize("content", [b"", b'{"kind": "fpb', b"[]\xff", b"[" * 100_000])
def test_damage_is_told_apart(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "thing.json"
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=r"thing.json: damaged \(it is cut off, or not JSON\)"):
        read_json(path, "thing", (1,))


def test_rows_as_csv() -> None:
    rows: list[dict[str, Any]] = [{"a": 1, "b": float("nan")}, {"a": "x, y", "b": 0.5}]
    assert rows_to_csv(rows) == 'a,b\n1,\n"x, y",0.5\n'
    assert rows_to_csv(rows[:1]) == "a,b\n1,\n"


def test_spreadsheets_compute_nothing_of_a_name() -> None:
    names = ["=1+1", "+1", "-1", "@a", "\tx", "'=1", "''-2", "'quoted'", "a=b", "'"]
    rows = [{"=name": name, "value": -0.5} for name in names]
    text = rows_to_csv(rows)
    head, *lines = csv.reader(io.StringIO(text, newline=""))
    assert head == ["'=name", "value"]
    assert {value for _, value in lines} == {"-0.5"}, "numbers are as they are"
    assert not any(cell.startswith(tuple("=+-@\t\r")) for cell, _ in lines)
    assert [cell_to_text(cell) for cell, _ in lines] == names


def test_paths_in_messages_stay_on_one_line() -> None:
    assert shown(Path("a/b c")) == "a/b c"
    assert "\n" not in shown(Path("a\nb"))
    assert shown(Path("x" * 200)) == "x" * 200
    assert shown(Path("x" * 201)) == f"'{'x' * 39} … {'x' * 11}'"


def test_one_at_a_time_is_at_work_in_a_folder(tmp_path: Path) -> None:
    with locked(tmp_path):
        with (
            pytest.raises(ConflictError, match=f"process {os.getpid()} on .* is at work there"),
            locked(tmp_path),
        ):
            pass
        (tmp_path / ".owner").unlink()
        with pytest.raises(ConflictError, match="another process is at work"), locked(tmp_path):
            pass
        (tmp_path / ".owner").write_text("x" * 61)
        with pytest.raises(ConflictError, match=f": {'x' * 60} is at work"), locked(tmp_path):
            pass
        for content in ("\x1b[2J", "\u202eabc", "", "x" * (2**20 + 1)):
            (tmp_path / ".owner").write_text(content)
            with pytest.raises(ConflictError, match="another process is"), locked(tmp_path):
                pass
        (tmp_path / ".owner").unlink()
        os.mkfifo(tmp_path / ".owner")
        with pytest.raises(ConflictError, match="another process is at work"), locked(tmp_path):
            pass
        (tmp_path / "other").mkdir()
        with locked(tmp_path / "other"):
            pass
    with locked(tmp_path):
        pass


def test_a_lock_may_end_in_another_thread(tmp_path: Path) -> None:
    lock = locked(tmp_path)
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lock.__enter__).result()
    lock.__exit__(None, None, None)
    with locked(tmp_path):
        pass


def test_who_dies_lets_go(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        with locked(tmp_path):
            os._exit(0)
    os.waitpid(child, 0)
    with locked(tmp_path):
        pass


def test_a_long_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("before")
    with suppress(KeyboardInterrupt), written_aside(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert [each.name for each in tmp_path.iterdir()] == ["long.csv"]
    assert path.read_text() == "before"
    with written_aside(path) as file:
        file.write(b"af")
        assert path.read_text() == "before"
        file.write(b"ter")
    assert path.read_text() == "after"
    assert [each.name for each in tmp_path.iterdir()] == ["long.csv"]
    with (
        pytest.raises(StorageError, match="cannot be written"),
        written_aside(tmp_path / "a" / "b"),
    ):
        pass
    with pytest.raises(StorageError, match="Is a directory"), written_aside(tmp_path):
        pass
