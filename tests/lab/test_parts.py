"""Building blocks of the page, used without a browser."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest
from nicegui import ElementFilter, ui

from fpbandits.errors import InputError
from fpbandits.lab.analysis import AnalysisPart
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.forecast import ForecastPart
from fpbandits.lab.live import LivePart
from fpbandits.lab.parts import Notice, StartAndStop, button, number_of, offer, section, table
from fpbandits.lab.play import PlayPart
from fpbandits.lab.session import Session
from fpbandits.lab.tasks import Stop, StoppedError
from fpbandits.lab.watch import WatchPart
from fpbandits.service.store import Store

OnPage = Callable[[Coroutine[Any, Any, None]], None]


def test_a_notice_says_and_warns(on_page: OnPage) -> None:
    async def test() -> None:
        notice = Notice()
        for words, tell, wrong in (
            ("well", notice.say, False),
            ("ill", notice.warn, True),
            ("well again", notice.say, False),
        ):
            tell(words)
            assert notice._line.text == words
            assert ("wrong" in notice._line.classes) is wrong
        with notice.refusals():
            raise InputError("it cannot be")
        assert (notice._line.text, "wrong" in notice._line.classes) == ("it cannot be", True)
        with pytest.raises(ZeroDivisionError), notice.refusals():
            raise ZeroDivisionError

    on_page(test())


def test_one_button_stands_out(on_page: OnPage) -> None:
    async def test() -> None:
        usual, main = button("usual", print), button("main", print, main=True)
        assert (usual.props.get("color"), main.props.get("color")) == (None, "primary")
        assert ("outline" in usual.props, "unelevated" in usual.props) == (True, False)
        assert ("outline" in main.props, "unelevated" in main.props) == (False, True)
        (heading,) = ElementFilter(kind=ui.html).within(instance=section("Play"))
        assert (heading.content, heading.props["tag"]) == ("Play", "h2")

    on_page(test())


def test_work_is_started_watched_and_stopped(on_page: OnPage) -> None:
    ticks: list[str] = []

    async def test() -> None:
        controls = StartAndStop("Go", print, lambda: ticks.append("tick"), "how far it is")
        buttons = (controls._start, controls._stop)
        assert [each.text for each in buttons] == ["Go", "Stop"]
        assert [each.props.get("color") for each in buttons] == ["primary", None]
        assert controls._timer.interval == 0.2
        assert (controls._bar.value, controls._bar.props["aria-label"]) == (0, "how far it is")
        (progress,) = ElementFilter(kind=ui.linear_progress)
        assert not list(ElementFilter(kind=ui.label).within(instance=progress))
        controls.stop()  # there is nothing to stop

        def states() -> tuple[bool, bool, bool]:
            return controls._start.enabled, controls._stop.enabled, controls.is_running

        assert states() == (True, False, False)
        event = Stop()
        with suppress(StoppedError), controls.running(event):
            assert states() == (False, True, True)
            controls._tick()
            assert ticks == ["tick"]
            controls.show(0.25)
            controls.stop()
            event.check()
        assert event.is_set()
        assert states() == (True, False, False)
        controls._tick()
        assert ticks == ["tick"], "no tick when it has ended"
        assert controls._bar.value == 0.25

    on_page(test())


def test_work_of_a_tab_that_is_closed_is_stopped(on_page: OnPage) -> None:
    event = Stop()

    async def test() -> None:
        controls = StartAndStop("Go", print, print, "")
        with controls.running(event):
            pass
        assert not event.is_set()

    on_page(test())
    assert event.is_set()


def test_a_choice_stays_while_it_is_offered(on_page: OnPage) -> None:
    async def test() -> None:
        choice = ui.select([])
        offer(choice, ("a", "b"), "b")
        assert (choice.options, choice.value) == (["a", "b"], "b")
        offer(choice, {"b": "the second", "c": "the third"}, "c")
        assert (choice.options, choice.value) == ({"b": "the second", "c": "the third"}, "b")
        offer(choice, ("a", "c"), "a")
        assert choice.value == "a"
        offer(choice, (), None)
        assert (choice.options, choice.value) == ([], None)

    on_page(test())


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("100", 100),
        ("1e3", 1000),
        ("1.5", 1.5),
        ("9007199254740993", 2**53 + 1),
        ("1_000", "1_000"),
        ("many", "many"),
        ("inf", float("inf")),
        (None, None),
    ],
)
def test_numbers_as_people_type_them(text: object, number: object) -> None:
    found = number_of(text)
    assert (found, type(found)) == (number, type(number))


def test_what_is_made_here_is_shown_with_its_styles(on_page: OnPage, store: Store) -> None:
    """A browser that sanitizes HTML drops the styles of tables; only captions have none."""

    async def test() -> None:
        session = Session(EXAMPLES["pricing"].make())
        AnalysisPart(session)
        for part in (ForecastPart, PlayPart, WatchPart):
            part(session)
        LivePart(store)
        table()
        elements = list(ElementFilter(kind=ui.html))
        sanitized = [each for each in elements if each.props["sanitize"]]
        assert [each.props["tag"] for each in sanitized] == ["figcaption"]
        assert len(elements) > 20

    on_page(test())


def test_one_can_type_to_find_a_model_or_an_experiment(on_page: OnPage, store: Store) -> None:
    async def test() -> None:
        session = Session(EXAMPLES["pricing"].make())
        AnalysisPart(session)
        WatchPart(session)
        LivePart(store)
        choices = ElementFilter(kind=ui.select)
        found = {each.props["label"]: bool(each.props.get("use-input")) for each in choices}
        assert found == {
            "if the truth is": True,
            "policy": False,
            "truth": True,
            "speed": False,
            "experiment": True,
        }

    on_page(test())
