from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fpbandits.errors import InputError
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.reading import MOST_MARKS, Mark, read
from fpbandits.lab.sheet import HEAD, Sheet, sheet_of, with_contexts, with_field, with_text
from fpbandits.problem.files import problem_to_toml
from fpbandits.problem.practice import practice
from fpbandits.problem.problem import Problem

PRICING = sheet_of(EXAMPLES["pricing"].make())
COLD_START = sheet_of(EXAMPLES["cold start"].make())
TWO = sheet_of(EXAMPLES["paper:two"].make())


def the_mark(sheet: Sheet) -> Mark:
    reading = read(sheet)
    assert reading.problem is None
    (mark,) = reading.marks
    return mark


def librarys_words(sheet: Sheet, row: list[object]) -> str:
    """What the library says of a table whose first row is this one."""
    rows = [row, *[[0.5] * len(row)] * (len(sheet.models) - 1)]
    with pytest.raises(InputError) as caught:
        Problem.bernoulli(rows, arms=sheet.arms, models=sheet.models)
    return str(caught.value)


@pytest.mark.parametrize(
    "problem", [*(each.make() for each in EXAMPLES.values()), *practice(3)], ids=lambda p: p.name
)
def test_a_problem_becomes_text_and_the_same_problem_again(problem: Problem) -> None:
    again = read(sheet_of(problem)).problem
    assert again is not None
    # What is not part of equality is in the file.
    assert problem_to_toml(again) == problem_to_toml(problem)


@given(st.floats(0, 1), st.floats(0, 1))
def test_numbers_come_back_to_the_last_digit(first: float, second: float) -> None:
    problem = Problem.bernoulli([[first, second]])
    again = read(sheet_of(problem)).problem
    assert again is not None
    assert again.means.tolist() == [[first, second]]


@pytest.mark.parametrize("text", ["1.2", "-0.1", "abc", "", "nan", "inf", "1_0", "50 %", "True"])
def test_a_bad_cell_is_marked_with_the_words_of_the_library(text: str) -> None:
    mark = the_mark(with_text(TWO, 0, 2, text))
    assert (mark.part, mark.row, mark.column) == ("cell", 0, 1)
    try:
        value: object = float(text) if "_" not in text else text
    except ValueError:
        value = text
    assert mark.message == librarys_words(TWO, [0.9, value])


def test_all_bad_cells_are_marked_at_once() -> None:
    sheet = with_text(with_text(with_text(PRICING, 0, 1, "2"), 2, 3, "x"), 1, 4, "-1")
    marks = {(mark.part, mark.row, mark.column) for mark in read(sheet).marks}
    assert marks == {("cell", 0, 0), ("cell", 2, 2), ("prior", 1, 0)}


@pytest.mark.parametrize(("context", "name"), [(0, "morning"), (1, "evening")])
def test_marks_are_where_the_context_is(context: int, name: str) -> None:
    mark = the_mark(with_text(COLD_START, 2, 3, "7", context=context))
    assert (mark.row, mark.column) == (2, 4 * context + 2)
    assert f"context '{name}', arm 'sports'" in mark.message


def test_all_bad_cells_are_marked_in_all_contexts() -> None:
    sheet = with_text(with_text(COLD_START, 0, 1, "2"), 3, 4, "x", context=1)
    marks = {(mark.part, mark.row, mark.column) for mark in read(sheet).marks}
    assert marks == {("cell", 0, 0), ("cell", 3, 7)}
    gaussian = with_field(with_field(sheet, "family", "gaussian"), "deviation", "1")
    assert the_mark(gaussian)[2:4] == (3, 7), "2 may be a mean there"


def test_thousands_of_bad_cells_are_not_read_one_by_one() -> None:
    sheet = sheet_of(Problem.bernoulli(np.full((200, 10), 0.5)))
    bad = replace(sheet, cells=tuple(("9",) * 10 for _ in sheet.cells))
    assert MOST_MARKS <= len(read(bad).marks) < 2 * MOST_MARKS


@pytest.mark.parametrize(
    ("sheet", "part", "place", "words"),
    [
        (with_text(PRICING, HEAD, 2, "9 EUR"), "arm", (0, 1), "duplicate arm name '9 EUR'"),
        (with_text(PRICING, HEAD, 2, ""), "arm", (0, 1), "arm 2: its name is empty"),
        (with_text(PRICING, 2, 0, "loyal"), "model", (2, 0), "models 1 and 3 must differ"),
        (with_text(PRICING, 2, 0, "a\x07"), "model", (2, 0), "control character"),
        (with_contexts(COLD_START, ["a", "a"]), "context", (0, 1), "duplicate context name 'a'"),
        (with_text(PRICING, 1, 4, "much"), "prior", (1, 0), "not the text 'much'"),
        (with_text(PRICING, 1, 4, "-1"), "prior", (1, 0), "it must be 0 or more"),
    ],
)
def test_names_and_weights_are_marked_where_they_are(
    sheet: Sheet, part: str, place: tuple[int, int], words: str
) -> None:
    mark = the_mark(sheet)
    assert (mark.part, (mark.row, mark.column)) == (part, place)
    assert words in mark.message


@pytest.mark.parametrize(
    ("sheet", "field", "words"),
    [
        (with_field(TWO, "range", "1, 0"), "range", "the lowest must be below the highest"),
        (with_field(TWO, "range", "0 to 1"), "range", "range must be [lowest, highest]"),
        (with_field(PRICING, "value", "9, 12"), "value", "value has 2 numbers for 3 arms"),
        (with_field(PRICING, "value", "nine"), "value", "value has 1 numbers for 3 arms"),
        (with_field(PRICING, "value", "9, 0, 15"), "value", "pays 0 at best"),
        (with_field(PRICING, "range", "0, 15"), "range", "leave out the range"),
        (with_field(COLD_START, "shares", "0.4, 0.7"), "shares", "add up to 1.1, not 1"),
        (with_field(COLD_START, "shares", "1"), "shares", "there is 1 share for 2 contexts"),
        (with_field(COLD_START, "shares", "0, 1"), "shares", "share of context 'morning' is 0"),
        (with_field(TWO, "family", "gaussian"), "deviation", "deviation"),
        (with_field(with_field(TWO, "family", "beta"), "concentration", "-1"), "concentration", ""),
    ],
)
def test_a_bad_field_is_marked_and_no_cell(sheet: Sheet, field: str, words: str) -> None:
    mark = the_mark(sheet)
    assert (mark.part, mark.name) == ("field", field)
    assert words in mark.message


def test_every_bad_name_is_marked_once() -> None:
    sheet = replace(PRICING, arms=("", "a", "a"), models=("loyal", "loyal", "x "))
    assert [(mark.part, mark.row, mark.column) for mark in read(sheet).marks] == [
        ("arm", 0, 0),
        ("arm", 0, 2),
        ("model", 1, 0),
        ("model", 2, 0),
    ]


def test_words_in_a_name_do_not_move_a_mark() -> None:
    """A message may speak of a field, and a name may be one."""
    sheet = replace(TWO, models=("range", "value"), arms=("model", "shares"))
    mark = the_mark(with_text(sheet, 1, 1, "7"))
    assert (mark.part, mark.row, mark.column) == ("cell", 1, 0)
    assert the_mark(replace(sheet, truth="support")).part == "table"
    assert the_mark(replace(sheet, prior=("0", "0"))).part == "table"


def test_what_is_no_ones_in_particular_is_the_tables() -> None:
    sheet = replace(TWO, prior=("0", "0"))
    assert the_mark(sheet) == Mark("table", "the prior leaves no model possible")


def test_a_family_may_be_changed_and_gets_its_fields() -> None:
    sheet = with_field(with_field(TWO, "family", "gaussian"), "deviation", "2")
    assert read(sheet).problem == Problem.gaussian(
        [[0.9, 0.5], [0.2, 0.5]], 2, models=["theta1", "theta2"]
    )


def test_lists_in_cells_are_probabilities() -> None:
    sheet = with_field(with_field(TWO, "family", "discrete"), "support", "0, 1")
    for row in range(2):
        for column in (1, 2):
            sheet = with_text(sheet, row, column, "0.25 0.75")
    problem = read(sheet).problem
    assert problem is not None
    assert problem.means.tolist() == [[0.75, 0.75], [0.75, 0.75]]
    assert the_mark(with_text(sheet, 1, 1, "0.5, 0.6")).row == 1


def test_revenue_is_a_chance_and_an_amount_in_each_cell() -> None:
    problem = Problem.revenue([[0.1, 0.2], [0.3, 0.05]], [[20, 15], [10, 40]], shape=2)
    sheet = sheet_of(problem)
    assert sheet.cells == (("0.1, 20", "0.2, 15"), ("0.3, 10", "0.05, 40"))
    assert read(sheet) == (problem, ())
    assert the_mark(with_field(sheet, "shape", "-1")).name == "shape"
