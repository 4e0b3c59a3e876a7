from __future__ import annotations

from pathlib import Path

import pytest

from fpbandits.errors import InputError
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.sheet import edited, with_field
from fpbandits.lab.workbook import Workbook, problem_from_upload
from fpbandits.problem.files import SIZE_LIMITS, load_problem


def new_book() -> Workbook:
    return Workbook(EXAMPLES["pricing"].make())


def test_a_mistake_keeps_the_last_good_problem_and_can_be_undone() -> None:
    book = new_book()
    before, problem = book.sheet, book.problem
    book.change(edited(book.sheet, 0, 1, "x"))
    assert not book.is_good
    assert book.problem is problem
    book.undo()
    assert book.is_good
    assert book.sheet == before
    assert not book.can_undo
    book.undo()  # nothing before it: nothing happens


def test_listeners_are_told_of_changes_and_of_nothing_else() -> None:
    book, told = new_book(), []
    book.listen(lambda: told.append(book.problem.name))
    book.change(book.sheet)
    book.change(with_field(book.sheet, "name", "other"))
    book.undo()
    assert told == ["other", "pricing"]


def test_a_long_session_forgets_its_beginning() -> None:
    book = new_book()
    for number in range(300):
        book.change(with_field(book.sheet, "name", f"problem {number}"))
    steps = 0
    while book.can_undo:
        book.undo()
        steps += 1
    assert steps == 100


def test_what_is_saved_is_opened_again(tmp_path: Path) -> None:
    book = new_book()
    book.change(with_field(edited(book.sheet, 0, 1, "0.75"), "name", "prices/2 …"))
    name, content = book.to_file()
    assert name == "prices-2.toml"
    (tmp_path / name).write_bytes(content)
    assert load_problem(tmp_path / name) == book.problem
    assert problem_from_upload(name, content) == book.problem


def test_mistakes_are_not_saved() -> None:
    book = new_book()
    book.change(edited(book.sheet, 0, 1, "x"))
    with pytest.raises(InputError, match=r"not saved, because .* not the text 'x'"):
        book.to_file()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.toml", b"arms = [1", "a.toml: not valid TOML"),
        ("a.csv", b"model,x\nA,2", "a.csv: row 2: model 'A', arm 'x': mean 2"),
        ("a.csv", b"", "a.csv: the file is empty"),
        ("a.txt", b"model,x\nA,1", "a.txt: unknown file ending '.txt'"),
        ("a.toml", b"\xff\xfe", "a.toml: row 1: byte 0xff is not UTF-8 text"),
        ("../../a.csv", b"model,x\nA,2", "a.csv: row 2"),
        ("", b"x", "unknown file ending"),
        ("a\0.csv", b"x", "the header must be model,<arm>,<arm>"),
        ("a" * 300 + ".csv", b"x", "the header must be model,<arm>,<arm>"),
        ("a.toml", b"#" * (SIZE_LIMITS[".toml"] + 1), "a.toml: larger than 4 MiB"),
    ],
)
def test_a_bad_file_is_refused_by_its_own_name(name: str, content: bytes, words: str) -> None:
    with pytest.raises(InputError) as caught:
        problem_from_upload(name, content)
    assert words in str(caught.value)
    assert "/tmp" not in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
