"""The tables of Watch, its picture, and its plays."""

from __future__ import annotations

import asyncio
import math
import re
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from nicegui import ElementFilter, ui

from fpbandits import Problem
from fpbandits.core.checks import amount
from fpbandits.core.markup import html_table
from fpbandits.errors import ConflictError, InputError
from fpbandits.lab import watch
from fpbandits.lab.examples import EXAMPLES
from fpbandits.lab.run import Run, Step, describe
from fpbandits.lab.session import Session
from fpbandits.lab.sheet import with_text
from fpbandits.lab.watch import (
    WatchPart,
    counts_table,
    models_table,
    plays_picture,
    steps_table,
)
from fpbandits.policies import POLICIES
from fpbandits.report.figures import PALETTE

OnPage = Callable[[Coroutine[Any, Any, None]], None]

PRICING = EXAMPLES["pricing"].make()
COLD_START = EXAMPLES["cold start"].make()


def a_run(arms: Sequence[str], steps: Sequence[Step] = (), contexts: Sequence[str] = ()) -> Any:
    """What the picture and the table of plays look at."""
    problem = SimpleNamespace(arms=tuple(arms), contexts=tuple(contexts))
    return SimpleNamespace(problem=problem, steps=deque(steps))


def step(t: int, arm: str, suggested: str = "", **more: Any) -> Step:
    return Step(t, more.get("context"), arm, more.get("reward", 0.0), suggested or arm)


def test_a_play_is_a_mark_in_the_row_of_its_arm() -> None:
    picture = plays_picture(a_run(["a<", "12 EUR"], [step(7, "12 EUR"), step(8, "a<", "12 EUR")]))
    # A row is 16 high, a play 5 wide, with a gap of 1 at its right and of 2 above and below it;
    # there is place for 160 plays. The longest name takes 6 · 7.2 and 10 around it.
    assert picture == (
        '<svg class="heat" viewBox="-53 0 853 32" role="img">'
        "<title>arms played, the last 2 plays</title>"
        '<line x1="0" x2="800" y1="16" y2="16"/>'
        '<text x="-6" y="12" text-anchor="end">a&lt;</text>'
        '<line x1="0" x2="800" y1="32" y2="32"/>'
        '<text x="-6" y="28" text-anchor="end">12 EUR</text>'
        f'<rect x="0" y="18" width="4" height="12" fill="{PALETTE[1]}"/>'
        f'<rect x="5" y="2" width="4" height="12" fill="{PALETTE[0]}" class="yours"/></svg>'
    )


def rows_of(picture: str) -> list[str]:
    return re.findall(r"<text [^>]*>([^<]*)</text>", picture)


def test_of_many_arms_those_that_were_played_have_a_row() -> None:
    names = [f"arm{number}" for number in range(31)]
    assert rows_of(plays_picture(a_run(names[:30]))) == names[:30]
    picture = plays_picture(a_run(names, [step(1, "arm30"), step(2, "arm3")]))
    assert rows_of(picture) == ["arm3", "arm30"]
    assert re.findall(r'<rect x="(\d+)" y="(\d+)"', picture) == [("0", "18"), ("5", "2")]
    assert "height" in picture
    all_played = plays_picture(a_run(names, [step(t, name) for t, name in enumerate(names)]))
    assert rows_of(all_played) == names[:30]
    assert all_played.count("<rect") == 30
    assert rows_of(plays_picture(a_run(names))) == []
    assert 'viewBox="-10 0 810 0"' in plays_picture(a_run(names))


def test_colours_come_again_after_six_rows_and_long_names_are_shortened() -> None:
    names = ["a name of twenty letters", *"bcdefg"]
    picture = plays_picture(a_run(names, [step(t, name) for t, name in enumerate(names)]))
    assert re.findall(r'fill="([^"]*)"', picture) == [*PALETTE[:6], PALETTE[0]]
    assert rows_of(picture)[0] == "a name of twent…"
    assert 'viewBox="-125 0 925 112"' in picture  # 16 · 7.2 + 10


def believing(plausible: dict[str, float], posterior: dict[str, float] | None, truth: str) -> Any:
    """What the table of models looks at; without a posterior, no model allows what was seen."""

    def find() -> dict[str, float]:
        if posterior is None:
            raise ConflictError("no model is possible")
        return dict(posterior)

    agent = SimpleNamespace(plausible=lambda: plausible, posterior=find)
    problem = SimpleNamespace(models=tuple(posterior or ("x", "y")))
    return SimpleNamespace(agent=agent, problem=problem, truth=truth)


def model_row(name: str, posterior: str, percent: str, margin: str) -> str:
    return (
        f"<tr><td>{name}</td><td class='number'>{posterior}</td><td>"
        f"<div class='bar'><i style='width:{percent}%'></i></div></td>"
        f"<td class='number'>{margin}</td></tr>"
    )


def models_page(plausible: str, rows: Sequence[str], below: str = "") -> str:
    return (
        f"<div><strong>Models: {plausible} plausible</strong><table class='bars'><thead><tr>"
        "<th>model</th><th class='number'>posterior</th><th></th>"
        "<th class='number'>margin (nats)</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>{below}</div>"
    )


def test_models_have_their_posterior_and_margin() -> None:
    run = believing(
        {"low": 1.23456, "high<": math.inf}, {"out": 0.0, "low": 0.3, "high<": 0.7}, "low"
    )
    assert models_table(run) == models_page(
        "2 of 3",
        [
            model_row("high&lt;", "0.7", "70.0", "∞"),
            model_row("low (the truth)", "0.3", "30.0", "1.23"),
            model_row("out", "0", "0.0", "ruled out"),
        ],
    )
    rows = [model_row("x", "0", "0.0", "ruled out"), model_row("y", "0", "0.0", "ruled out")]
    assert models_table(believing({}, None, "")) == models_page("0 of 2", rows)


@pytest.mark.parametrize("models", [30, 31, 1033])
def test_thirty_models_are_shown(models: int) -> None:
    posterior = {f"m{number}": 1 / models for number in range(models)}
    table = models_table(believing({}, posterior, ""))
    assert table.count("<tr><td>") == 30
    more = {
        30: "",
        31: "<div>… and 1 models more</div>",
        1033: "<div>… and 1,003 models more</div>",
    }
    assert table.endswith(f"</table>{more[models]}</div>")


def counted_run(plays: Sequence[int]) -> Any:
    names = tuple(f"arm{number}" for number in range(len(plays)))
    problem = SimpleNamespace(pair_names=names)
    sums = np.array([100.0 - number for number in range(len(plays))])
    return SimpleNamespace(problem=problem, plays=np.array(plays), sums=sums)


HEAD = ["arm", "plays", "mean reward (units of rewards)"]


def test_arms_have_their_plays_and_their_mean_reward() -> None:
    rows = [["arm0", "0", ""], ["arm1", "4,000", "0.02475"], ["arm2", "1", "98"]]
    assert counts_table(counted_run([0, 4000, 1])) == html_table("Arms played", HEAD, rows)


def test_of_many_arms_those_played_most_are_counted() -> None:
    exactly = counts_table(counted_run(range(30)))
    assert exactly.index(">arm1<") < exactly.index(">arm29<")
    assert "…" not in exactly
    rows = [[f"arm{n}", f"{n}", f"{(100 - n) / n:.4g}"] for n in range(31, 1, -1)]
    assert counts_table(counted_run(range(32))) == html_table(
        "Arms played", HEAD, rows, below=["… and 2 more"]
    )
    one_too_many = counts_table(counted_run(range(31)))
    assert "<div>… and 1 more</div>" in one_too_many
    assert one_too_many.index(">arm30<") < one_too_many.index(">arm1<")


def test_the_last_eight_plays_are_told_the_newest_first() -> None:
    steps = [step(t, "a", context="here", reward=t / 3) for t in range(998, 1007)]
    steps[-2] = step(1005, "b", "a", context="here", reward=2.0)
    rows = [
        [f"{each.t:,}", "here", each.arm, f"{each.reward:.4g}", "the policy"]
        for each in steps[:0:-1]
    ]
    rows[1][-1] = "you; the policy would have played a"
    assert [row[0] for row in rows] == [f"1,00{n}" for n in range(6, -1, -1)] + ["999"]
    head = ["t", "context", "arm", "reward", "who decided"]
    assert steps_table(a_run("ab", steps, ["here"])) == html_table(
        "The last plays", head, rows, text_columns=5
    )
    for row in (head, *rows):
        del row[1]
    bare = [step(each.t, each.arm, each.suggested, reward=each.reward) for each in steps]
    assert steps_table(a_run("ab", bare)) == html_table(
        "The last plays", head, rows, text_columns=4
    )


def said(part: WatchPart) -> str:
    return str(part._notice._line.text)


NOT_BEGUN = "Not begun: take a step, or play an arm."


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
        assert said(part) == NOT_BEGUN
        await part._play(1)
        assert part._run is not None
        assert str(part._run.agent.policy) == "thompson"

    on_page(test())


def test_who_plays_while_it_goes_on_by_itself_loses_no_click(on_page: OnPage) -> None:
    async def test() -> None:
        part = WatchPart(Session(PRICING))
        await part._play(0)
        await asyncio.gather(part._go_on(), part._play(1, "15 EUR"), part._go_on())
        assert part._run is not None
        assert [step.arm for step in part._run.steps][1:] == ["15 EUR"]

    on_page(test())


async def click(words: str) -> None:
    """Click on the button with these words, and wait until what it does is done."""
    (button,) = [each for each in ElementFilter(kind=ui.button) if each.text == words]
    assert button.enabled
    (listener,) = [each for each in button._event_listeners.values() if each.type == "click"]
    assert listener.handler is not None
    before = asyncio.all_tasks()
    button._handle_event({"listener_id": listener.id, "args": {}})
    for task in asyncio.all_tasks() - before:
        await task


def test_a_run_is_played_and_shown(on_page: OnPage) -> None:
    """The oracle is the same run, played without a page."""

    async def test() -> None:
        part = WatchPart(Session(COLD_START))
        assert said(part) == NOT_BEGUN
        assert (part._policy.value, part._truth.value, part._seed.value) == (
            "frugal",
            "viewer",
            "0",
        )
        assert part._policy.options == list(POLICIES)
        assert part._truth.options == list(COLD_START.models)
        part._seed.value = "3"
        expected = Run(COLD_START, "frugal", "viewer", 3)
        for words, plays, arm in (
            ("Step", 1, None),
            ("sports", 1, "sports"),
            ("10 steps", 10, None),
        ):
            await click(words)
            for _ in range(plays):
                expected.play(arm)
            run = part._run
            assert run is not None
            assert list(run.steps) == list(expected.steps)
            assert said(part) == (
                f"t = {expected.t:,} plays; regret so far {amount(expected.regret)} (units of "
                f"rewards). Next the policy would play {expected.suggestion.arm} in "
                f"{expected.context}."
            )
            assert part._next.text == describe(expected)
            assert part._roll.content == plays_picture(expected)
            assert part._models.content == models_table(expected)
            assert part._counts.content == counts_table(expected)
            assert part._why.content == expected.why._repr_html_()
            assert part._steps.content == steps_table(expected)
        await click("Start anew")
        assert part._run is not None
        assert part._run.t == 0
        assert said(part).startswith("t = 0 plays; regret so far 0 (units of rewards). Next")

    on_page(test())


def test_buttons_play_as_often_as_they_say(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[tuple[object, ...]] = []

    async def note(part: WatchPart, *given: object) -> None:
        played.append(given)

    monkeypatch.setattr(WatchPart, "_play", note)

    async def test() -> None:
        WatchPart(Session(PRICING))
        for words in ("Step", "10 steps", "100 steps", "1,000 steps", "12 EUR", "Start anew"):
            await click(words)
        assert played == [(1,), (10,), (100,), (1000,), (1, "12 EUR"), (0,)]

    on_page(test())


def test_other_models_policies_or_seeds_drop_the_run(on_page: OnPage) -> None:
    async def test() -> None:
        session = Session(PRICING)
        part = WatchPart(session)

        def edit() -> None:
            session.change(with_text(session.sheet, 0, 1, "0.8"))

        def choose_policy() -> None:
            part._policy.value = "ucb1"

        def choose_truth() -> None:
            part._truth.value = "loyal"

        def type_seed() -> None:
            part._seed.value = "1"
            (listener,) = [
                each for each in part._seed._event_listeners.values() if each.type == "change"
            ]
            part._seed._handle_event({"listener_id": listener.id, "args": {}})

        for change in (edit, choose_policy, choose_truth, type_seed):
            await part._play(1)
            assert said(part).startswith("t = 1 plays; ")
            assert said(part).endswith(" EUR.")
            change()
            assert part._run is None
            assert said(part) == NOT_BEGUN
            shown = (part._roll, part._models, part._counts, part._why, part._steps)
            assert [each.content for each in shown] == [""] * 5
            assert part._next.text == ""

    on_page(test())


def test_it_plays_by_itself_until_paused(on_page: OnPage) -> None:
    async def test() -> None:
        part = WatchPart(Session(PRICING))
        assert not part._timer.active
        await click("Go on by itself")
        assert part._timer.active
        await click("Pause")
        assert not part._timer.active
        await click("Go on by itself")
        assert part._speed.value == 5
        for speed, interval, plays in ((5, 1 / 5, 1), (1, 1.0, 1), (50, 1 / 10, 5), (5, 1 / 5, 1)):
            part._speed.value = speed
            assert part._timer.interval == pytest.approx(interval)
            callback: Any = part._timer.callback
            t = part._run.t if part._run else 0
            await callback()
            assert part._run is not None
            assert part._run.t == t + plays
        assert list(dict(part._speed.options).values()) == [
            "1 play per second",
            "5 plays per second",
            "50 plays per second",
        ]
        part._policy.value = "ucb1"
        assert not part._timer.active
        await click("Go on by itself")
        part._seed.value = "x"
        await click("Step")
        assert not part._timer.active
        assert said(part) == "the seed must be a whole number, not 'x'"
        assert part._run is None

    on_page(test())


def test_many_arms_are_a_list(on_page: OnPage) -> None:
    async def test() -> None:
        for arms in (12, 13):
            part = WatchPart(Session(Problem.bernoulli([[0.5] * arms])))
            buttons = [
                each.text for each in ElementFilter(kind=ui.button).within(instance=part._arms)
            ]
            names = [f"arm{number + 1}" for number in range(arms)]
            assert buttons == (names if arms == 12 else ["Play it"])
        (choice,) = ElementFilter(kind=ui.select).within(instance=part._arms)
        assert (choice.options, choice.value) == (names, "arm1")
        assert choice.props["use-input"]
        choice.value = "arm7"
        await click("Play it")
        assert part._run is not None
        assert [step.arm for step in part._run.steps] == ["arm7"]

    on_page(test())


@pytest.mark.parametrize("function", ["Run", "describe"])
def test_nothing_is_shown_while_the_lab_shuts_down(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """Then work in threads gives None."""

    async def until_then(work: Any, *given: Any) -> Any:
        return None if work.__name__ == function else work(*given)

    monkeypatch.setattr(watch, "run", SimpleNamespace(io_bound=until_then))

    async def test() -> None:
        part = WatchPart(Session(PRICING))
        await part._play(1)
        assert said(part) == "getting ready …"
        assert part._steps.content == ""

    on_page(test())


def test_an_error_of_a_run_that_was_dropped_is_not_shown(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        part = WatchPart(Session(PRICING))

        def fails(*given: Any) -> Any:
            part._forget()
            raise InputError("it is for another run")

        monkeypatch.setattr(watch, "Run", fails)
        await part._play(1)
        assert said(part) == NOT_BEGUN

    on_page(test())


def test_a_run_that_is_dropped_while_it_plays_is_not_shown(
    on_page: OnPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        part = WatchPart(Session(PRICING))

        def then_dropped(run: Run) -> str:
            part._forget()
            return "words"

        monkeypatch.setattr(watch, "describe", then_dropped)
        await part._play(1)
        assert said(part) == NOT_BEGUN
        assert part._steps.content == part._next.text == ""

    on_page(test())
