"""The tab of simulations, used without a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from nicegui import ElementFilter, ui

import fpbandits as fpb
from fpbandits.lab import play, simulations
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.play import PlayPart
from fpbandits.lab.session import Session
from fpbandits.lab.sheet import with_text
from fpbandits.lab.simulations import Simulation, Work, as_csv, python_lines
from fpbandits.lab.tasks import StoppedError
from fpbandits.policies import POLICIES
from fpbandits.report.html import data_url
from fpbandits.simulation.result import Result
from fpbandits.simulation.spec import RunSpec
from fpbandits.simulation.tables import regret_html

OnPage = Callable[[Coroutine[Any, Any, None]], None]

PRICING = EXAMPLES["pricing"].make()
TWO = EXAMPLES["paper:two"].make()


def said(part: PlayPart) -> str:
    return str(part._notice._line.text)


@pytest.fixture(scope="module")
def result() -> Result:
    return fpb.simulate(TWO, ["ucb1"], horizon=10, runs=2)


def drawn(result: Result, kind: str, *, band: str, bounds: bool) -> bytes:
    """Stand in for a figure, which takes long to draw."""
    return f"{kind} of {result.runs} runs, {band}, {bounds}".encode()


@pytest.fixture(autouse=True)
def fast_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (play, simulations):
        monkeypatch.setattr(module, "draw_regret", drawn)


def test_play_says_whose_result_it_shows(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch, result: Result
) -> None:
    may_end = Event()
    may_end.set()

    def play_at_will(work: Work) -> None:
        may_end.wait()
        work.show(result)

    monkeypatch.setattr(Work, "play", play_at_will)

    async def test() -> None:
        session = Session(TWO)
        part = PlayPart(session)
        changed, played = "The models have changed", "played 2 runs of each policy"
        assert said(part) == "Choose policies and a truth, then play."
        await part._start()
        assert said(part) == played
        session.change(with_text(session.sheet, 0, 1, "0.8"))
        assert changed in said(part)
        session.undo()
        assert said(part) == played
        session.change(with_text(session.sheet, 0, 1, "much"))
        assert "last table without mistakes" in said(part)
        await part._start()
        assert said(part) == f"{played}. This is for the last table without mistakes."
        may_end.clear()
        running = asyncio.create_task(part._start())
        await asyncio.sleep(0)
        part._show_progress()
        playing = "playing the first runs. This is for the last table without mistakes."
        assert said(part) == playing
        session.change(with_text(session.sheet, 0, 1, "0.8"))
        assert said(part) == playing  # until the next tick
        may_end.set()
        await running
        assert said(part).startswith(f"{played}. {changed}")

    on_page(test())


def test_a_band_can_be_chosen_before_there_is_a_result(on_page: OnPage, result: Result) -> None:
    async def test() -> None:
        part = PlayPart(Session(TWO))
        await part._redraw()
        assert part._picture.content == ""
        work = part._work = Work(Simulation(TWO, ("ucb1",), RunSpec()))
        part._band.value = "std"
        await part._redraw()
        work.show(result)
        expected = Work(work.simulation, band="std")
        expected.show(result)
        assert work.picture == expected.picture
        assert work.band == "std"

    on_page(test())


def test_a_model_named_prior_can_be_the_truth(on_page: OnPage) -> None:
    async def test() -> None:
        session = Session(TWO)
        part = PlayPart(session)
        assert dict(part._truth.options)["prior"] != "prior"
        session.change(with_text(session.sheet, 0, 0, "prior"))
        assert part._truth.options == {"prior": "prior", "theta2": "theta2"}

    on_page(test())


def test_what_is_simulated_is_what_the_fields_say(on_page: OnPage) -> None:
    async def test() -> None:
        part = PlayPart(Session(PRICING))
        usual = part._new_work()
        spec = RunSpec(horizon=10**6, runs=100, seed=0, truth="regular")
        assert usual.simulation == Simulation(PRICING, ("frugal", "ucb1"), spec)
        assert (usual.band, usual.bounds) == ("ci", False)
        assert part._policies.options == list(POLICIES)
        assert part._policies.multiple
        assert part._policies.props["use-input"]
        assert part._truth.props["use-input"]
        assert part._truth.options == {
            **{name: name for name in PRICING.models},
            "prior": "drawn from the prior in each run",
        }
        slider = part._horizon.props
        assert (slider["min"], slider["max"], slider["step"]) == (1, 15, 1)
        part._policies.value = ["thompson"]
        part._horizon.value = 3
        part._runs.value, part._seed.value, part._delay.value = "1e6", "7", " batch:3 "
        part._truth.value, part._shuffle.value = "prior", True
        part._band.value, part._bounds.value = "std", True
        work = part._new_work()
        spec = RunSpec(
            horizon=1000, runs=10**6, seed=7, truth="prior", shuffle=True, delay="batch:3"
        )
        assert work.simulation == Simulation(PRICING, ("thompson",), spec)
        assert (work.band, work.bounds) == ("std", True)
        for runs, words in (
            ("1", ""),
            ("0", "the number of runs is 0: it must be at least 1"),
            ("1000001", "the number of runs is 1000001: it must be at most 1,000,000"),
            ("many", "the number of runs must be a whole number, not 'many'"),
        ):
            part._runs.value = runs
            if words:
                await part._start()
                assert said(part) == words
            else:
                assert part._new_work().simulation.spec.runs == 1

    on_page(test())


def test_the_horizon_is_a_power_of_ten(on_page: OnPage) -> None:
    async def test() -> None:
        part = PlayPart(Session(TWO))
        labels = [each for each in ElementFilter(kind=ui.label) if "horizon" in each.text]
        assert [each.text for each in labels] == ["horizon T = 10⁶ plays"]
        part._horizon.value = 12
        assert [each.text for each in labels] == ["horizon T = 10¹² plays"]
        assert part._horizon.LOOPBACK is False

    on_page(test())


def typed(part: PlayPart, text: str | None) -> None:
    events = part._policies._event_listeners.values()
    (listener,) = [each for each in events if each.type == "inputValue"]
    part._policies._handle_event({"listener_id": listener.id, "args": text})


def test_a_policy_that_is_typed_and_left_is_added(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[tuple[list[str], str]] = []

    async def test() -> None:
        session = Session(TWO)
        part = PlayPart(session)
        monkeypatch.setattr(
            play, "compile_ahead", lambda names, problem: compiled.append((names, problem.name))
        )
        for text in ("f", "frugle", " "):
            typed(part, text)
        assert "did you mean 'frugal'?" in said(part)
        assert part._policies.value == ["frugal", "ucb1"]
        for left in ("t", "thompson", None):
            typed(part, left)
        assert part._policies.value == ["frugal", "ucb1", "thompson"]
        assert compiled.pop() == (["frugal", "ucb1", "thompson"], "paper:two")
        # Enter adds what was typed: what is left then is nothing new.
        typed(part, "moss")
        part._policies.value = ["moss"]
        typed(part, "")
        assert part._policies.value == ["moss"]
        assert compiled.pop() == (["moss"], "paper:two")
        for text in ("moss", ""):
            typed(part, text)
        assert part._policies.value == ["moss"]
        assert compiled == []
        part._policies.value = ["moss", "ucb2"]
        assert "unknown policy 'ucb2'" in said(part)
        assert compiled == []
        part._policies.value = []
        assert compiled.pop() == ([], "paper:two")
        typed(part, "ucb1")
        typed(part, "")
        assert part._policies.value == ["ucb1"]
        compiled.clear()
        session.change(with_text(session.sheet, 0, 1, "0.8"))
        assert compiled == [(["ucb1"], "paper:two")]

    on_page(test())


def a_work(part: PlayPart, *policies: str, runs: int = 1000, bounds: bool = False) -> Work:
    spec = RunSpec(truth="theta1", horizon=10, runs=runs)
    part._work = Work(Simulation(TWO, policies, spec), bounds=bounds)
    return part._work


def test_progress_in_words(on_page: OnPage, result: Result) -> None:
    async def test() -> None:
        part = PlayPart(Session(TWO))
        part._show_progress()
        assert part._controls._bar.value == 0
        work = a_work(part, "ucb1", "frugal", runs=1234)
        part._controls._timer.activate()
        work.share = 0.25
        work.being_compiled = "frugal"
        part._show_progress()
        assert said(part) == "compiling frugal …: some seconds, and once per machine"
        assert part._controls._bar.value == 0.25
        work.being_compiled = None
        part._show_progress()
        assert said(part) == "playing the first runs"
        assert part._table.content == ""
        work.show(result)
        part._show_progress()
        assert said(part) == "playing … 2 of 1,234 runs"
        assert part._table.content == regret_html(result)
        assert not part._downloads.visible, "a policy is missing"
        part._controls._timer.deactivate()
        for compiled, shown, words in (
            (None, result, "stopped after 2 runs of each policy"),
            (None, None, "stopped after 0 runs of each policy"),
            ("frugal", result, "stopped while frugal was being compiled"),
        ):
            work.being_compiled, work.result = compiled, shown
            part._finish(work, "stopped after")
            assert said(part) == words

    on_page(test())


def test_a_whole_result_is_shown_with_its_lines_and_can_be_taken_home(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch, result: Result
) -> None:
    downloads: list[tuple[bytes, str]] = []
    monkeypatch.setattr(ui.download, "content", lambda *given: downloads.append(given))

    async def test() -> None:
        part = PlayPart(Session(TWO))
        assert not part._downloads.visible
        assert not part._lines.visible
        await part._download("csv")
        work = a_work(part, "ucb1", bounds=True)
        await part._download("csv")
        assert downloads == []
        work.show(result)
        part._show_progress()
        assert part._downloads.visible
        assert part._lines.visible
        assert part._lines.content == python_lines(work.simulation, band="ci", bounds=True)
        last = f"{result.mean_regret('ucb1')[-1]:.4g}"
        assert part._picture.content == (
            f'<img alt="mean regret over time; at the end: ucb1 {last}" '
            f'src="{data_url(work.picture)}">'
        )
        for kind in ("png", "svg"):
            await part._download(kind)
            figure = drawn(result, kind, band="ci", bounds=True)
            assert downloads.pop() == (figure, f"regret.{kind}")
        await part._download("csv")
        assert downloads.pop() == (as_csv(result), "regret.csv")
        # The same result is not drawn again, but a changed band or bounds are.
        part._picture.content = "as it was"
        part._show_progress()
        assert part._picture.content == "as it was"
        part._bounds.value = False
        part._band.value = "std"
        await part._redraw()
        expected = drawn(result, "svg", band="std", bounds=False)
        assert data_url(expected) in part._picture.content
        assert "bounds" not in part._lines.content

        async def shutting_down(*given: Any) -> None:
            return None

        monkeypatch.setattr(play, "run", SimpleNamespace(io_bound=shutting_down))
        await part._download("csv")
        assert downloads == []

    on_page(test())


def test_names_in_an_image_are_text(result: Result) -> None:
    named = SimpleNamespace(policies=('"<b>',), mean_regret=lambda name: [1.0, 23456.7])
    picture: Any = named
    assert play._image(b"", picture).startswith(
        '<img alt="mean regret over time; at the end: &quot;&lt;b&gt; 2.346e+04" src="'
    )


def test_what_cannot_be_played_leaves_what_was_shown(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch, result: Result
) -> None:
    def refuse(work: Work) -> None:
        raise fpb.InputError("it cannot be played")

    def stop(work: Work) -> None:
        raise StoppedError

    async def test() -> None:
        part = PlayPart(Session(TWO))
        before = a_work(part, "ucb1")
        before.show(result)
        for play_it, words in (
            (refuse, "it cannot be played"),
            (stop, "stopped after 0 runs of each policy"),
        ):
            monkeypatch.setattr(Work, "play", play_it)
            await part._start()
            assert said(part) == words
            assert part._work is before
        monkeypatch.setattr(Work, "play", lambda work: work.show(result))
        part._runs.value = "2"
        await part._start()
        assert part._work is not before

    on_page(test())


def test_nothing_is_shown_in_a_tab_that_was_closed(on_page: OnPage, result: Result) -> None:
    async def test() -> None:
        part = PlayPart(Session(TWO))
        work = a_work(part, "ucb1")
        work.show(result)
        part._picture.delete()
        part._finish(work, "played")
        assert part._table.content == ""
        assert part._outcome == ""

    on_page(test())


def test_policies_are_compiled_when_the_page_is_built(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[tuple[list[str], str]] = []

    async def test() -> None:
        PlayPart(Session(TWO))
        timers = {timer.interval: timer for timer in ElementFilter(kind=ui.timer)}
        running = [str(task.get_coro()) for task in asyncio.all_tasks()]
        assert sum("_run_once" in each for each in running) == 1
        monkeypatch.setattr(
            play, "compile_ahead", lambda names, problem: compiled.append((names, problem.name))
        )
        callback: Any = timers[1.0].callback
        callback()
        assert compiled == [(["frugal", "ucb1"], "paper:two")]

    on_page(test())
