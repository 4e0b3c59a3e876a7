"""Parts of the page, used without a browser."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from nicegui import core, ui
from nicegui.client import Client
from nicegui.page import page
from stores import one, put

import fpbandits as fpb
from fpbandits.lab import play, watch
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.live import LivePart
from fpbandits.lab.models import ModelsPart
from fpbandits.lab.play import PlayPart
from fpbandits.lab.run import Run
from fpbandits.lab.session import Session
from fpbandits.lab.sheet import with_field, with_text
from fpbandits.lab.simulations import Simulation, Work
from fpbandits.lab.watch import WatchPart
from fpbandits.service.messages import Ask
from fpbandits.service.store import Store, open_store
from fpbandits.simulation.result import Result
from fpbandits.simulation.spec import RunSpec

PRICING = EXAMPLES["pricing"].make()
TWO = EXAMPLES["paper:two"].make()

OnPage = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture
def on_page(monkeypatch: pytest.MonkeyPatch) -> OnPage:
    """Run a test within a page that no browser shows, and whose timers do not tick."""
    monkeypatch.setattr(play, "compile_ahead", lambda *arguments: None)
    monkeypatch.setattr(ui.timer, "_can_start", lambda timer: asyncio.Event().wait())

    def run_test(test: Coroutine[Any, Any, None]) -> None:
        async def within_page() -> None:
            monkeypatch.setattr(core, "loop", asyncio.get_running_loop())
            with Client(page("/"), request=None) as client:
                await test
            client.delete()

        asyncio.run(within_page())

    return run_test


def said(part: LivePart | PlayPart | WatchPart) -> str:
    return str(part._notice._line.text)


def test_a_name_with_a_comma_can_be_edited(on_page: OnPage) -> None:
    async def test() -> None:
        session = Session(EXAMPLES["cold start"].make())
        part = ModelsPart(session)
        session.change(with_field(session.sheet, "contexts", '"Bern, in the morning", evening'))
        session.change(with_field(session.sheet, "contexts", f"{part._contexts.value}, night"))
        assert session.sheet.contexts == ("Bern, in the morning", "evening", "night")

    on_page(test())


def test_a_run_that_is_left_before_it_begins_is_not_shown(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = Event(), Event()

    def slowly(*arguments: Any) -> Run:
        begun.set()
        may_end.wait()
        return Run(*arguments)

    monkeypatch.setattr(watch, "Run", slowly)

    async def test() -> None:
        part = WatchPart(Session(PRICING))
        left = asyncio.create_task(part._play(1))
        await asyncio.to_thread(begun.wait)
        part._policy.value = "ucb1"
        at_once = asyncio.create_task(part._play(1))
        await asyncio.sleep(0)  # it waits for the other
        part._policy.value = "thompson"
        may_end.set()
        await asyncio.gather(left, at_once)
        assert part._run is None
        assert said(part) == "Not begun: take a step, or play an arm."
        await part._play(1)
        assert part._run is not None
        assert str(part._run.agent.policy) == "thompson"

    on_page(test())


def test_who_plays_while_it_goes_on_by_itself_loses_no_click(on_page: OnPage) -> None:
    async def test() -> None:
        part = WatchPart(Session(PRICING))
        await part._play(0)
        await asyncio.gather(part._go_on(1), part._play(1, "15 EUR"), part._go_on(1))
        assert part._run is not None
        assert [step.arm for step in part._run.steps][1:] == ["15 EUR"]

    on_page(test())


@pytest.fixture(scope="module")
def result() -> Result:
    return fpb.simulate(TWO, ["ucb1"], horizon=10, runs=2)


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
        session.change(with_text(session.sheet, 0, 1, "0.8"))
        may_end.set()
        await running
        assert said(part).startswith(f"{played}. {changed}")

    on_page(test())


def test_a_band_can_be_chosen_before_there_is_a_result(on_page: OnPage, result: Result) -> None:
    async def test() -> None:
        part = PlayPart(Session(TWO))
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


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'store.db'}", make=True)
    yield opened
    opened.close()


def delete(store: Store, name: str) -> None:
    kept = store.experiment(name)
    assert kept is not None
    store.change_experiment(kept, "deleting")
    while store.delete_some(kept.id):
        pass


def test_a_deleted_experiment_is_not_followed(on_page: OnPage, store: Store) -> None:
    async def test() -> None:
        one(store, put(store), Ask("user"))
        part = LivePart(store)
        await part._look()
        follower = part._follower
        assert follower is not None
        assert follower.events.total() == 1
        await part._look()
        assert part._follower is follower
        delete(store, "e")
        put(store, policy="frugal")  # another one of the same name
        await part._look()
        assert part._follower is not None
        assert part._follower.events.total() == 0
        assert said(part).startswith("e: frugal on 2 models")
        part._name.value = "user"
        assert part._unit.content
        delete(store, "e")
        await part._look()
        assert said(part) == "There are no experiments in this store yet."
        for shown in (part._counts, part._arms, part._models, part._unit):
            assert shown.content == ""

    on_page(test())


def test_an_experiment_that_cannot_be_read_is_said_to_be_so(
    on_page: OnPage, store: Store, tmp_path: Path
) -> None:
    put(store, "spoiled")
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute(
            "UPDATE experiments SET definition = replace(definition, 'ucb1', 'later')"
        )

    async def test() -> None:
        part = LivePart(store)
        for _ in range(2):
            await part._look()
            assert "unknown policy 'later'" in said(part)

    on_page(test())
