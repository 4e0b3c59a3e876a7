"""What the page shows of `analyze`, used without a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from nicegui import ElementFilter, ui

import fpbandits as fpb
from fpbandits.core.markup import html_table
from fpbandits.errors import InputError
from fpbandits.lab import analysis
from fpbandits.lab.analysis import AnalysisPart, Analyzed, analyze_as_html
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.heat import confusion_picture, means_picture
from fpbandits.lab.session import Session
from fpbandits.lab.sheet import sheet_of, with_field, with_text
from fpbandits.problem.problem import Problem
from fpbandits.theory.figure import confusion

OnPage = Callable[[Coroutine[Any, Any, None]], None]

PRICING = EXAMPLES["pricing"].make()


def alike(models: int) -> Problem:
    """So many models, which differ in one arm."""
    return Problem.bernoulli([[0.5, 0.4 * model / models] for model in range(models)])


@pytest.mark.parametrize("name", ["pricing", "cold start", "paper:grid"])
def test_tables_hold_what_analyze_says(name: str) -> None:
    problem = EXAMPLES[name].make()
    truth = problem.models[-1]
    found = analyze_as_html(problem, truth)
    (case,) = fpb.analyze(problem, truth).cases
    facts = [list(fact) for fact in case.facts.items()]
    assert found.chosen == html_table(f"{truth}: {case.verdict}", ["", ""], facts, text_columns=2)
    assert found.means == means_picture(problem)
    assert found.confusion == confusion_picture(problem, confusion(problem))
    assert (found.overview == "") is (name == "paper:grid")


def test_an_overview_has_a_line_for_each_truth() -> None:
    tied = Problem.bernoulli([[0.5, 0.5], [0.2, 0.9]])
    for problem, is_tied in ((PRICING, False), (tied, True)):
        whole = fpb.analyze(problem)
        assert bool(whole.tie_notice) is is_tied
        assert analyze_as_html(problem, problem.models[0]).overview == html_table(
            whole.summary,
            ["if this is the truth", "regret is", "any policy"],
            [[case.truth, case.verdict, case.facts["any policy"]] for case in whole.cases],
            text_columns=3,
            above=[f"Note: {whole.tie_notice}"] if is_tied else [],
        )


@pytest.mark.parametrize("models", [64, 65])
def test_of_many_truths_only_the_chosen_one_is_analyzed(models: int) -> None:
    problem = alike(models)
    assert (analyze_as_html(problem, problem.models[0]).overview == "") is (models > 64)


def test_a_picture_of_too_many_models_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MOST_MODELS", 3)
    for models in (3, 4):
        problem = alike(models)
        drawn = confusion_picture(problem, confusion(problem))
        expected = drawn if models == 3 else "Not drawn: more than 3 models."
        assert analyze_as_html(problem, problem.models[0]).confusion == expected


async def ticked() -> None:
    """Let the timers tick that have been made and have not ticked, the oldest first."""
    for timer in list(ElementFilter(kind=ui.timer)):
        assert timer.interval == 0
        callback: Any = timer.callback
        timer.delete()
        await callback()


def said(part: AnalysisPart) -> tuple[str, bool]:
    return str(part._notice._line.text), "wrong" in part._notice._line.classes


def shown(part: AnalysisPart) -> Analyzed:
    return Analyzed(
        part._chosen.content, part._overview.content, part._means.content, part._confusion.content
    )


def test_the_page_follows_the_models_and_the_truth(on_page: OnPage) -> None:
    async def test() -> None:
        session = Session(PRICING)
        part = AnalysisPart(session)
        assert (part._truth.value, part._truth.options) == ("regular", list(PRICING.models))
        assert shown(part) == ("", "", "", "")
        assert "_run_in_loop" not in str(asyncio.all_tasks()), "it is analyzed once"
        await ticked()
        assert shown(part) == analyze_as_html(PRICING, "regular")
        assert part._range.content == (
            "Mean reward (rewards in [0, 15]; regret has the same unit), dark is low. A dot marks "
            "a best arm."
        )
        part._truth.value = "loyal"
        await ticked()
        assert shown(part) == analyze_as_html(PRICING, "loyal")
        assert said(part) == ("", False)
        session.change(with_text(session.sheet, 0, 1, "x"))
        assert said(part) == ("This is for the last table without mistakes.", True)
        session.change(with_text(session.sheet, 0, 1, "0.2"))
        assert said(part) == ("", False)
        await ticked()
        assert shown(part) == analyze_as_html(session.problem, "loyal")
        unbounded = with_field(session.sheet, "family", "gaussian")
        session.change(with_field(with_field(unbounded, "value", ""), "deviation", "1"))
        await ticked()
        assert part._range.content.startswith("Mean reward (unit of rewards; regret has the same")
        session.change(sheet_of(Problem.bernoulli([[0.5, 0.4]], models=["only"])))
        assert part._truth.value == "only"
        part._truth.value = None
        await ticked()
        assert "only: " in shown(part).chosen

    on_page(test())


def test_only_the_latest_request_is_answered(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    whole = analysis.analyze_as_html

    async def test() -> None:
        part = AnalysisPart(Session(PRICING))

        def note(problem: Problem, truth: str) -> Analyzed:
            asked.append(truth)
            if truth == "loyal":  # meanwhile another is chosen
                part._truth.value = "thrifty"
            return whole(problem, truth)

        monkeypatch.setattr(analysis, "analyze_as_html", note)
        part._truth.value = "loyal"
        await ticked()
        assert asked == ["loyal"], "the first request was never made"
        assert shown(part) == ("", "", "", "")
        await ticked()
        assert asked == ["loyal", "thrifty"]
        assert shown(part) == whole(PRICING, "thrifty")

    on_page(test())


@pytest.mark.parametrize("shutting_down", [False, True])
def test_what_cannot_be_analyzed_is_told(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch, shutting_down: bool
) -> None:
    async def fails(*given: Any) -> None:
        if not shutting_down:
            raise InputError("too large")

    async def test() -> None:
        part = AnalysisPart(Session(PRICING))
        monkeypatch.setattr(analysis, "run", SimpleNamespace(io_bound=fails))
        await ticked()
        assert said(part) == (("", False) if shutting_down else ("too large", True))
        assert shown(part) == ("", "", "", "")

    on_page(test())
