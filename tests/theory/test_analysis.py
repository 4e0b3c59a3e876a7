"""`analyze`: what it is asked, and how an analysis is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cells import Cells

from fpbandits import InputError, Problem, analyze, load_problem


def test_too_many_cases_are_refused() -> None:
    many = Problem.bernoulli(np.full((2001, 1), 0.5))
    with pytest.raises(InputError, match=r"2,001 models make too many cases"):
        analyze(many)
    assert len(analyze(many, "theta7").cases) == 1


def test_unknown_truth_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"unknown model 'teta1': did you mean 'theta1'\?"):
        analyze(load_problem("paper:two"), "teta1")


def test_a_problem_is_taken_by_its_name() -> None:
    assert repr(analyze("paper:two")) == repr(analyze(load_problem("paper:two")))
    wrong: Any = 3
    with pytest.raises(InputError, match="expected a Problem, the path of its file or one of"):
        analyze(wrong)


def test_a_long_analysis_is_shortened_and_what_is_left_out_is_counted() -> None:
    analysis = analyze("paper:grid")
    text, page = repr(analysis), analysis._repr_html_()
    for shown in (text, page):
        assert "… and 246 truths more, in .cases" in shown
    assert sum(f"\n{case.truth}: " in text for case in analysis.cases) == 10
    assert [row[0] for row in Cells(page).rows[1:]] == list(analysis.models[:10])
    short = analyze("paper:two")
    assert str(short.cases[0]) in repr(short)
    assert str(short.cases[1]) in repr(short)
    assert " more, " not in repr(short) + short._repr_html_()


def test_a_notebook_shows_the_whole_name_of_a_problem() -> None:
    page = analyze(Problem.bernoulli([[0.9, 0.5], [0.2, 0.5]], name="shop: prices"))._repr_html_()
    assert "<strong>shop: prices</strong>\n<div>2 models, 2 arms, of which 2 are best" in page


def test_a_notebook_shows_a_case_as_the_text_does() -> None:
    analysis = analyze("paper:two", "theta2")
    rows = Cells(analysis._repr_html_()).rows
    lines = [f"  {name:<14} {fact}" for name, fact in rows[1:]]
    text = str(analysis.cases[0])
    assert text.endswith("\n" + "\n".join(lines))
    assert " ".join(text.split()).startswith(f"{rows[0][0]}: {rows[0][1]} ")
    assert len(lines) >= 4


def test_the_first_line_counts_and_words_agree_with_the_numbers() -> None:
    one = analyze(Problem.bernoulli([[0.9, 0.5], [0.8, 0.5]], name="p"))
    assert one.summary == "p: 2 models, 2 arms, of which 1 is best under some model"
    assert one.tie_notice is None
    assert "Note" not in repr(one)
    assert analyze("paper:two").summary.endswith("of which 2 are best under some model")
    context = Problem.bernoulli([[[0.9, 0.5]], [[0.8, 0.5]]], contexts=["x"], name="p")
    assert analyze(context).summary == (
        "p: 2 models, 2 arms, of which 1 is best in some of 1 context"
    )
    tied = analyze(Problem.bernoulli([[0.5, 0.5], [0.4, 0.4]]))
    assert tied.tie_notice == (
        "2 models (theta1 and 1 other) with tied best arms: the first of them counts as best, so "
        "the order of the arms decides which models count as confused."
    )
    assert repr(tied).splitlines()[1] == f"Note: {tied.tie_notice}"


def test_several_cases_in_a_notebook_are_rows_of_one_table() -> None:
    """Where a case has no bound of optimist there is a dash."""
    analysis = analyze(Problem.bernoulli([[0.5, 0.5], [0.5, 0.9]]))
    head, *rows = Cells(analysis._repr_html_()).rows
    assert head == ["truth", "losses", *analysis.cases[1].facts] or set(head) == {
        "truth",
        "losses",
        *analysis.cases[1].facts,
    }
    for case, row in zip(analysis.cases, rows, strict=True):
        named = dict(zip(head, row, strict=True))
        assert (named.pop("truth"), named.pop("losses")) == (case.truth, case.outlook)
        assert named == {"optimist": "–"} | case.facts


def test_cases_are_counted_by_what_wraps_their_loop() -> None:
    seen: list[int] = []

    def watched(indices: Any) -> Any:
        for index in indices:
            seen.append(index)
            yield index

    analyze("paper:two", progress=watched)
    assert seen == [0, 1]
    analyze("paper:two", "theta2", progress=watched)
    assert seen == [0, 1, 1]
