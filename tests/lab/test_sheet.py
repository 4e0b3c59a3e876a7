from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fpbandits.errors import InputError
from fpbandits.lab import sheet as sheets
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.reading import read
from fpbandits.lab.sheet import (
    HEAD,
    Sheet,
    contexts_text,
    sheet_of,
    with_arm,
    with_contexts,
    with_field,
    with_model,
    with_pasted,
    with_text,
    without_arm,
    without_model,
)
from fpbandits.problem.files import problem_from_toml, problem_to_toml
from fpbandits.problem.problem import Problem

PRICING = sheet_of(EXAMPLES["pricing"].make())
COLD_START = sheet_of(EXAMPLES["cold start"].make())
TWO = sheet_of(EXAMPLES["paper:two"].make())


def test_who_renames_the_truth_keeps_it() -> None:
    assert with_text(PRICING, 1, 0, "usual").truth == "usual"
    assert with_text(PRICING, 0, 0, "usual").truth == "regular"


@pytest.mark.parametrize(
    ("row", "column", "text", "cells"),
    [
        (0, 1, "0.1\t0.2\n0.3\t0.4", (("0.1", "0.2"), ("0.3", "0.4"))),
        (1, 1, "0.1\n0.3", (("0.9", "0.5"), ("0.1", "0.5"), ("0.3", "0.5"))),
        (0, 2, "0.1\t0.2\r\n", (("0.9", "0.1", "0.2"), ("0.2", "0.5", "0.5"))),
        (0, 0, "x\t1", (("1", "0.5"), ("0.2", "0.5"))),
        (0, 3, "5\t6\t7\n8", (("0.9", "0.5"), ("0.2", "0.5"))),
    ],
)
def test_pasted_cells_go_in_from_where_one_is(
    row: int, column: int, text: str, cells: tuple[tuple[str, ...], ...]
) -> None:
    assert with_pasted(TWO, row, column, text).cells == cells


def test_weights_are_pasted_into_their_column() -> None:
    assert with_pasted(TWO, 0, 3, "5\t6\t7\n8").prior == ("5", "8")


def test_nothing_is_pasted_over_the_heading_of_the_prior() -> None:
    sheet = with_pasted(TWO, HEAD, 3, "x\ty\n5\t6")
    assert (sheet.arms, sheet.cells, sheet.prior) == (TWO.arms, TWO.cells, ("5", ""))


def test_on_the_corner_a_whole_table_replaces_the_old_one() -> None:
    sheet = with_pasted(PRICING, HEAD, 0, "\tlow\thigh\nA\t0.1\t0.2\nB\t0.3\t0.4\n")
    assert (sheet.arms, sheet.models) == (("low", "high"), ("A", "B"))
    assert sheet.cells == (("0.1", "0.2"), ("0.3", "0.4"))
    assert sheet.truth == "B"  # what stood there was the truth


def test_in_contexts_a_table_goes_into_the_one_on_the_screen() -> None:
    sheet = with_pasted(COLD_START, HEAD, 0, "\tnews\nreader\t0.99", context=1)
    assert sheet.cells[0][4] == "0.99"
    assert sheet.cells[0][:4] == COLD_START.cells[0][:4]
    assert sheet.models == COLD_START.models


def test_nothing_or_too_much_is_not_pasted() -> None:
    with pytest.raises(InputError, match="nothing to paste"):
        with_pasted(TWO, 0, 0, "\n\n")
    for text in ("\n".join(["1\t" * 500] * 500), "1\n" * 6000):
        with pytest.raises(InputError, match="too many for a table on a page"):
            with_pasted(TWO, 0, 0, text)


def test_a_cell_that_is_too_long_is_refused() -> None:
    text = "a" * 131_073
    with pytest.raises(InputError, match="more than 131,072 characters"):
        with_pasted(TWO, 0, 0, text)
    with pytest.raises(InputError, match="more than 131,072 characters"):
        with_field(TWO, "contexts", text)


def test_a_long_table_is_enlarged_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = []

    def counting(given: Sheet, **fields: Any) -> Sheet:
        changes.append(fields)
        return replace(given, **fields)

    monkeypatch.setattr(sheets, "replace", counting)
    pasted = with_pasted(TWO, 0, 1, "\n".join(["\t".join(["0.5"] * 20)] * 1000))
    assert (len(pasted.models), len(pasted.arms)) == (1000, 20)
    assert len(changes) == 3  # arms, models and texts


def test_a_problem_that_is_too_large_for_a_page_is_refused() -> None:
    large = Problem.bernoulli(np.full((5001, 2), 0.5))
    with pytest.raises(InputError, match=r"5,001 models of 2 means each are too many"):
        sheet_of(large)


def test_models_and_arms_come_and_go() -> None:
    assert with_model(COLD_START, 2) == with_model(with_model(COLD_START))
    assert with_arm(COLD_START, 2) == with_arm(with_arm(COLD_START))
    grown = with_arm(with_model(COLD_START))
    assert grown.models[-1] == "theta1"
    assert grown.arms[-1] == "arm1"
    assert grown.cells[4] == (
        "0.1",
        "0.12",
        "0.1",
        "0.2",
        "0.2",
        "0.08",
        "0.12",
        "0.1",
        "0.3",
        "0.3",
    )
    assert read(grown).problem is not None
    assert without_arm(without_model(grown, 4), 4) == COLD_START
    assert without_model(PRICING, 1).truth is None
    assert without_arm(COLD_START, 0).cells[0] == ("0.12", "0.05", "0.08", "0.2", "0.06", "0.08")


def test_the_last_model_and_arm_stay() -> None:
    one = without_arm(without_model(TWO, 0), 0)
    with pytest.raises(InputError, match="only model"):
        without_model(one, 0)
    with pytest.raises(InputError, match="only arm"):
        without_arm(one, 0)


def test_contexts_keep_their_tables_by_name_or_place() -> None:
    morning, evening = COLD_START.cells[0][:4], COLD_START.cells[0][4:]
    assert with_field(COLD_START, "contexts", "evening").cells[0] == evening
    assert with_field(COLD_START, "contexts", "early, evening").cells[0] == morning + evening
    three = with_field(COLD_START, "contexts", "morning, evening, night")
    assert three.cells[0] == morning + evening + evening
    assert "shares" not in three.fields
    assert read(three).problem is not None
    assert with_field(COLD_START, "contexts", "").cells[0] == morning
    assert with_field(TWO, "contexts", "a, b").cells[0] == TWO.cells[0] * 2


def test_contexts_in_another_order_take_their_shares_along() -> None:
    shared = with_field(COLD_START, "shares", "0.7, 0.3")
    turned = with_field(shared, "contexts", "evening, morning")
    assert turned.fields["shares"] == "0.3, 0.7"
    assert turned.cells[0] == COLD_START.cells[0][4:] + COLD_START.cells[0][:4]
    assert with_field(turned, "contexts", "morning, evening") == shared
    # A new name is that of the context whose name is gone, wherever it stands.
    renamed = with_field(shared, "contexts", "evening, early")
    assert (renamed.cells, renamed.fields) == (turned.cells, turned.fields)
    assert with_field(shared, "contexts", "early, evening").fields == shared.fields
    # No table is lost while a name stands there twice.
    twice = with_field(shared, "contexts", "morning, morning")
    assert with_field(twice, "contexts", "morning, evening") == shared


@pytest.mark.parametrize(
    "names", [("Bern, in the morning", "evening"), ('"a"', 'b "c"', "d, e"), ("a, b",), ()]
)
def test_names_of_contexts_are_read_as_they_are_written(names: tuple[str, ...]) -> None:
    sheet = with_contexts(COLD_START, names)
    assert with_field(COLD_START, "contexts", contexts_text(sheet)).contexts == names


def test_plain_names_of_contexts_are_not_quoted() -> None:
    assert contexts_text(COLD_START) == "morning, evening"


def test_the_text_of_a_problem_file_reads_as_the_sheet() -> None:
    problem = read(with_text(PRICING, 0, 1, "0.75")).problem
    assert problem is not None
    assert problem_from_toml(problem_to_toml(problem), "").rewards.rows[0, 0] == 0.75


def test_the_sheet_of_a_problem() -> None:
    problem = Problem.gaussian(
        [[[1.5, -2.0], [0.25, 3.0]]],
        0.5,
        arms=["a", "b"],
        models=["m"],
        contexts=["x", "y"],
        shares=[0.25, 0.75],
        truth="m",
        name="mine",
    )
    assert sheet_of(problem) == Sheet(
        name="mine",
        family="gaussian",
        arms=("a", "b"),
        models=("m",),
        cells=(("1.5", "-2", "0.25", "3"),),
        contexts=("x", "y"),
        prior=("",),
        fields={"deviation": "0.5", "shares": "0.25, 0.75"},
        truth="m",
    )
    assert [float(text) for text in COLD_START.prior] == [2 / 7, 3 / 7, 1 / 7, 1 / 7]
    assert COLD_START.fields == {"range": "0, 1", "shares": "0.4, 0.6"}
    assert PRICING.fields == {"value": "9, 12, 15"}


@pytest.mark.parametrize(
    ("models", "columns", "is_too_large"),
    [(5_000, 40, False), (5_001, 1, True), (4_000, 50, False), (4_001, 50, True)],
)
def test_the_largest_table(models: int, columns: int, is_too_large: bool) -> None:
    if not is_too_large:
        sheets._check_size(models, columns)
        return
    with pytest.raises(InputError, match=r"at most 5,000 models, 200,000 means"):
        sheets._check_size(models, columns)


def test_a_paste_may_enlarge_a_table_to_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 4 models and 12 means; what is pasted counts from where it is pasted."""
    monkeypatch.setattr(sheets, "MOST_MODELS", 4)
    monkeypatch.setattr(sheets, "MOST_CELLS", 12)
    rows = "1\n1\n1"
    assert len(with_pasted(TWO, 1, 1, rows).models) == 4
    with pytest.raises(InputError, match=r"^5 models of 2 means each"):
        with_pasted(TWO, 2, 1, rows)
    row = "1\t1\t1"
    assert len(with_pasted(TWO, 0, 4, row).arms) == 2, "weights of the prior"
    assert len(with_pasted(TWO, 0, 2, row).arms) == 4
    assert len(with_pasted(TWO, 0, 1, "1\t1\t1\t1\t1\t1").arms) == 6
    with pytest.raises(InputError, match=r"^2 models of 7 means each"):
        with_pasted(TWO, 0, 2, "1\t1\t1\t1\t1\t1")
    two_contexts = with_field(TWO, "contexts", "x, y")
    assert len(with_pasted(two_contexts, 0, 1, row).arms) == 3
    with pytest.raises(InputError, match=r"^2 models of 8 means each"):
        with_pasted(two_contexts, 0, 1, "1\t1\t1\t1")


def test_what_is_not_pasted_of_a_whole_table_stays() -> None:
    """Where a line is shorter, the cell keeps its text; names and weights keep theirs."""
    sheet = with_text(with_text(PRICING, 0, 4, "2"), 1, 4, "3")
    pasted = with_pasted(sheet, HEAD, 0, "\tlow\nA\t0.1\t0.2\nB")
    assert pasted == replace(
        sheet,
        arms=("low", "12 EUR"),
        models=("A", "B"),
        prior=("2", "3"),
        cells=(("0.1", "0.2"), ("0.6", "0.5")),
        truth="B",
    )


def test_the_smallest_whole_table_has_one_arm_and_one_model() -> None:
    assert with_pasted(PRICING, HEAD, 0, "\tlow\nA\t0.1") == replace(
        PRICING, arms=("low",), models=("A",), prior=("",), cells=(("0.1",),), truth=None
    )


def test_only_names_are_pasted_from_a_line_or_a_column_of_names() -> None:
    assert with_pasted(PRICING, HEAD, 0, "\tlow\thigh") == replace(
        PRICING, arms=("low", "high", "15 EUR")
    )
    assert with_pasted(PRICING, HEAD, 0, "x\nA\nB") == replace(
        PRICING, models=("A", "B", "thrifty"), truth="B"
    )
    assert with_pasted(PRICING, HEAD, 1, "low\n0.1") == replace(
        PRICING,
        arms=("low", "12 EUR", "15 EUR"),
        cells=(("0.1", "0.8", "0.7"), *PRICING.cells[1:]),
    )


def test_quotes_after_a_space_are_part_of_a_pasted_cell() -> None:
    assert with_pasted(TWO, 0, 1, ' "0.1"\t"0.2"').cells[0] == ('"0.1"', "0.2")


def test_new_names_take_the_first_numbers_that_are_free() -> None:
    sheet = replace(TWO, models=("theta2", "theta3"), arms=("arm1", "arm3"))
    assert with_model(sheet, 3).models == ("theta2", "theta3", "theta1", "theta4", "theta5")
    assert with_model(sheet).models == ("theta2", "theta3", "theta1")
    assert with_arm(sheet).arms == ("arm1", "arm3", "arm2")
    assert with_model(with_text(TWO, 1, 3, "7")).prior == ("", "7", "")
    assert with_model(sheet, 0) == with_arm(sheet, 0) == sheet


def test_arms_go_from_each_context_and_the_truth_with_its_model() -> None:
    middle = without_arm(COLD_START, 1)
    assert middle.arms == ("news", "sports", "music")
    assert middle.cells[1] == ("0.06", "0.1", "0.08", "0.08", "0.12", "0.08")
    gone = without_model(COLD_START, 0)
    assert (gone.truth, gone.prior) == ("viewer", COLD_START.prior[1:])
    assert gone.cells == COLD_START.cells[1:]
    assert without_model(TWO, 0).models == ("theta2",)
    assert without_arm(TWO, 1).cells == (("0.9",), ("0.2",))


def test_the_text_of_shares_stays_as_it_was_typed() -> None:
    """Unless contexts change places; where there are not as many as contexts, they wait."""
    typed = with_field(COLD_START, "shares", "0.4,0.6")
    assert with_field(typed, "contexts", "early, evening").fields["shares"] == "0.4,0.6"
    assert with_field(typed, "contexts", "evening, morning").fields["shares"] == "0.6, 0.4"
    few = with_field(COLD_START, "shares", "1")
    assert with_field(few, "contexts", "evening, morning").fields["shares"] == "1"


def test_of_more_or_fewer_contexts_each_keeps_its_table() -> None:
    three = with_contexts(COLD_START, ["evening", "night", "morning"])
    morning, evening = COLD_START.cells[2][:4], COLD_START.cells[2][4:]
    assert three.cells[2] == evening + evening + morning
    assert "shares" not in three.fields
    assert with_contexts(three, ["night"]).cells[2] == evening


@pytest.mark.parametrize(
    ("name", "written"),
    [("a", "a"), ("a, b", '"a, b"'), ('"a"', '"""a"""'), ('a "b"', 'a "b"')],
)
def test_names_are_quoted_only_if_needed(name: str, written: str) -> None:
    assert contexts_text(with_contexts(COLD_START, [name])) == written
