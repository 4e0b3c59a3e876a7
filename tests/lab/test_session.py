from __future__ import annotations

from pathlib import Path

import pytest

from fpbandits.errors import InputError
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.session import Session, problem_from_upload
from fpbandits.lab.sheet import with_field, with_text
from fpbandits.problem.files import SIZE_LIMITS, load_problem


def new_session() -> Session:
    return Session(EXAMPLES["pricing"].make())


def test_a_mistake_keeps_the_last_good_problem_and_can_be_undone() -> None:
    session = new_session()
    before, problem = session.sheet, session.problem
    session.change(with_text(session.sheet, 0, 1, "x"))
    assert session.marks
    assert session.problem is problem
    session.undo()
    assert not session.marks
    assert session.sheet == before
    assert not session.can_undo
    session.undo()  # nothing before it: nothing happens


def test_listeners_are_told_of_changes_and_of_nothing_else() -> None:
    session, told = new_session(), []
    session.listen(lambda: told.append(session.problem.name))
    session.change(session.sheet)
    session.change(with_field(session.sheet, "name", "other"))
    session.undo()
    assert told == ["other", "pricing"]


def test_a_long_session_forgets_its_beginning() -> None:
    session = new_session()
    for number in range(300):
        session.change(with_field(session.sheet, "name", f"problem {number}"))
    steps = 0
    while session.can_undo:
        session.undo()
        steps += 1
    assert steps == 100


def test_what_is_saved_is_opened_again(tmp_path: Path) -> None:
    session = new_session()
    session.change(with_field(with_text(session.sheet, 0, 1, "0.75"), "name", "prices/2 …"))
    name, content = session.to_file()
    assert name == "prices-2.toml"
    (tmp_path / name).write_bytes(content)
    assert load_problem(tmp_path / name) == session.problem
    assert problem_from_upload(name, content) == session.problem


def test_mistakes_are_not_saved() -> None:
    session = new_session()
    session.change(with_text(session.sheet, 0, 1, "x"))
    with pytest.raises(InputError, match=r"not saved, because .* not the text 'x'"):
        session.to_file()


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
