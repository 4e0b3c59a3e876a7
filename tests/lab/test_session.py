from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fpbandits.errors import InputError
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.session import LARGEST, TOO_LARGE, Session, file_name, problem_from_upload
from fpbandits.lab.sheet import HEAD, sheet_of, with_field, with_pasted, with_text
from fpbandits.problem.files import SIZE_LIMITS, load_problem, problem_to_toml


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


def test_a_session_that_is_restored_has_the_last_good_problem_and_nothing_to_undo() -> None:
    session = new_session()
    session.change(with_text(session.sheet, 0, 1, "0.75"))
    session.change(with_text(session.sheet, 0, 2, "x"))
    restored = Session(session.problem, session.sheet)
    assert restored.problem.rewards.rows[0, 0] == 0.75
    assert (restored.sheet, restored.marks) == (session.sheet, session.marks)
    assert restored.marks
    assert not restored.can_undo


def test_a_result_is_for_the_table_or_for_another() -> None:
    session = new_session()
    problem = session.problem
    assert session.difference(problem) == ""
    session.change(with_text(session.sheet, 0, 1, "x"))
    assert session.difference(problem) == "This is for the last table without mistakes."
    session.change(with_text(session.sheet, 0, 1, "0.75"))
    assert session.difference(problem).startswith("The models have changed")


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


def test_what_was_fitted_is_saved_as_fitted() -> None:
    units = ("0123456789ab",)
    problem = replace(EXAMPLES["paper:two"].make(), fitted_units=units)
    session = new_session()
    session.change(sheet_of(problem))
    assert session.to_file()[1] == problem_to_toml(problem).encode()
    session.change(with_text(session.sheet, 0, 1, "0.75"))  # still of these units
    assert session.problem.fitted_units == units
    session.change(with_pasted(session.sheet, HEAD, 0, "\tlow\nA\t0.1\nB\t0.3"))  # all others
    assert not session.problem.fitted_units


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


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("prices/2 …", "prices-2"),
        ("größe_1.5", "größe_1.5"),
        (".-hidden.", "hidden"),
        ("…", "problem"),
        ("a" * 100, "a" * 80),
    ],
)
def test_names_of_files(name: str, file: str) -> None:
    assert file_name(name) == file


def test_the_largest_file_is_that_of_the_largest_kind() -> None:
    assert max(SIZE_LIMITS.values()) == LARGEST
    mebibytes = f"{LARGEST / 1024 / 1024:g} MiB"
    assert TOO_LARGE == f"this file is larger than {mebibytes}, more than any problem file may be"


def test_a_file_without_a_name_is_called_problem() -> None:
    with pytest.raises(InputError, match=r"^problem: unknown file ending"):
        problem_from_upload("", b"x")
