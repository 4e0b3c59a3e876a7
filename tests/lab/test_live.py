"""What the tab of a service shows, from made-up counts and from a store."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import closing
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nicegui import ElementFilter, ui
from stores import one, put

from fpbandits.core.markup import Strong, html_table
from fpbandits.errors import UnavailableError
from fpbandits.lab import live
from fpbandits.lab.following import Follower, Span, Summary
from fpbandits.lab.live import (
    LivePart,
    arms_table,
    counts_table,
    events_picture,
    models_table,
    rewards_picture,
    unit_table,
)
from fpbandits.lab.reports import (
    control_table,
    difference_picture,
    rewards_by_arm_table,
    rewards_by_model_table,
)
from fpbandits.report.figures import BLUE, ORANGE
from fpbandits.service.messages import Ask, Tell
from fpbandits.service.report import report
from fpbandits.service.store import Store

OnPage = Callable[[Coroutine[Any, Any, None]], None]

START = datetime(2026, 3, 4, 5, 6, 8)
FIRST = int(START.timestamp()) // 2
"""The first span of two seconds."""


@pytest.fixture
def follow(store: Store) -> Follower:
    """A follower of an experiment without events, which are made up by each test."""
    put(store)
    kept = store.experiment("e")
    assert kept is not None
    made = Follower(store, kept)
    made.seconds = 2.0
    return made


@pytest.mark.parametrize("misfits", [0, 3])
def test_the_numbers_of_an_experiment(follow: Follower, misfits: int) -> None:
    follow.events = Counter(decision=1234, observed=5, reward=1000, forgot=100, expired=34, late=7)
    follow.spans = {3: Span(Counter(), 600, 150.0), 9: Span(Counter(), 400, 100.0)}
    summary = Summary(
        units=2000,
        identified=Counter(x=1030, y=12),
        misfits=misfits,
        blocked=1500,
        verdicts=1100,
    )
    latest = "of 2,000 units with the latest events"
    last = Strong("Alarm: units that no model fits") if misfits else "units that no model fits"
    rows = [
        [Strong("mean reward"), "of 1,000 rewards that count", "0.25"],
        ["decisions", "", "1,234"],
        ["rewards inherited", "of an earlier experiment", "5"],
        ["decisions without a reward yet", "", "100"],
        ["rewards in time", "", "1,000"],
        ["rewards too late", "they do not count", "7"],
        ["rewards waiting for earlier ones", latest, "1,500"],
        ["units with one plausible model", latest, "1,042"],
        ["units with a verdict, at error 0.05", latest, "1,100"],
        [last, latest, str(misfits)],
    ]
    expected = html_table("How it is going", ["", "", ""], rows, text_columns=2)
    assert counts_table(follow, summary) == expected


def test_without_rewards_there_is_no_mean(follow: Follower) -> None:
    row = [Strong("mean reward"), "of 0 rewards that count", ""]
    table = html_table("", ["", "", ""], [row], text_columns=2).splitlines()
    assert table[2].partition("</thead>")[0] in counts_table(follow, Summary())


def test_arms_by_how_often_they_are_played(follow: Follower) -> None:
    follow.arms = Counter(rare=1, usual=1200, never=0)
    rows = [["usual", "1,200", "99.9%"], ["rare", "1", "0.1%"], ["never", "0", "0.0%"]]
    head = ["arm", "played", "share"]
    assert arms_table(follow) == html_table("Which arms are played", head, rows)
    follow.arms = Counter({f"arm{number}": 100 - number for number in range(40)})
    assert arms_table(follow).count("<tr") == 1 + 30
    assert ">arm29<" in arms_table(follow)


def test_models_by_the_units_that_they_fit() -> None:
    summary = Summary(units=4000, best_fits=Counter(y=1000, x=3000), identified=Counter(y=1004))
    rows = [["x", "3,000", "75.0%", "0"], ["y", "1,000", "25.0%", "1,004"]]
    head = ["model", "units that it fits best", "share", "units with no other plausible one"]
    above = ["Of the units with the latest events, 1,000 at the most."]
    assert models_table(summary) == html_table(
        "Which model fits which units", head, rows, above=above
    )
    summary.best_fits = Counter({f"m{number}": 100 - number for number in range(40)})
    assert models_table(summary).count("<tr") == 1 + 30


def test_a_unit_is_looked_up(store: Store, follow: Follower) -> None:
    assert unit_table(follow, "nobody") == html_table(
        "There is no unit 'nobody'", [], [], above=["there are none"]
    )
    one(store, follow.experiment, Ask("<u>"))
    follow.read()
    agent = follow.agent("<u>")
    assert agent is not None
    assert unit_table(follow, "<u>") == f"<h3>&lt;u&gt;</h3>{agent._repr_html_()}"
    assert unit_table(follow, "nobody") == html_table(
        "There is no unit 'nobody'", [], [], above=["the latest are '<u>'"]
    )


def bar(x: float, count: float, most: float, width: float, colour: str) -> str:
    """A bar on a line at 140."""
    height = 140 * count / most
    return (
        f'<rect x="{x:.1f}" y="{140 - height:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{colour}"/>'
    )


def test_decisions_and_rewards_are_bars_side_by_side(follow: Follower) -> None:
    assert events_picture(follow) == ""
    follow.spans = {
        FIRST: Span(Counter(decision=2000, reward=700, expired=300, late=9)),
        FIRST + 2: Span(Counter(decision=500)),
    }
    picture = events_picture(follow)
    # Three spans of 240: a bar takes 0.4 of one, and that of rewards begins at 0.45.
    bars = [
        bar(0, 2000, 2000, 96, BLUE),
        bar(108, 1000, 2000, 96, ORANGE),
        bar(480, 500, 2000, 96, BLUE),
        bar(588, 0, 2000, 96, ORANGE),
    ]
    assert "".join(bars) in picture
    begin, end = "2026-03-04 05:06:08", "2026-03-04 05:06:14"
    assert f"<title>decisions and rewards from {begin} to {end}</title>" in picture
    for words in ("2,000", begin, end):
        assert f">{words}</text>" in picture
    follow.spans = {FIRST: Span(Counter(late=1))}
    picture = events_picture(follow)
    assert bar(0, 0, 1, 288, BLUE) + bar(324, 0, 1, 288, ORANGE) in picture
    assert ">1</text>" in picture


def rewarded(*spans: int) -> dict[int, Span]:
    """Spans of two rewards each, the later the larger: half the number of the span."""
    return {span: Span(Counter(reward=2), 2, float(span)) for span in spans}


def test_the_mean_reward_is_a_line(follow: Follower) -> None:
    follow.spans = {FIRST: Span(Counter(decision=1))}
    assert rewards_picture(follow) == ("", "")
    follow.spans |= {
        FIRST + 3: Span(Counter(reward=4), 4, 3.0),
        FIRST + 1: Span(Counter(reward=4), 4, 1.0),
        FIRST + 2: Span(Counter(late=4)),
        FIRST + 4: Span(Counter(reward=2), 2, 1.0),
    }
    picture, words = rewards_picture(follow)
    # Five spans of 144, with 0.25, 0.75 and 0.5 at 1.5, 3.5 and 4.5 of them.
    path, dots = "216.0,140.0 504.0,0.0 648.0,70.0", [(216, 140), (504, 0), (648, 70)]
    assert (
        f'<polyline points="{path}" fill="none" stroke="{ORANGE}" stroke-width="2"/>'
        f'<g fill="{ORANGE}">'
        + "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in dots)
        + "</g>"
    ) in picture
    begin, end = "2026-03-04 05:06:08", "2026-03-04 05:06:18"
    assert f"<title>mean reward from {begin} to {end}</title>" in picture
    assert ">0.75</text>" in picture
    assert words == "Mean reward per 2 s, from 0.25 to 0.75."


def test_equal_means_are_in_the_middle(follow: Follower) -> None:
    follow.spans = {FIRST: Span(Counter(), 2, 1.0), FIRST + 1: Span(Counter(), 4, 2.0)}
    picture, words = rewards_picture(follow)
    assert 'points="180.0,70.0 540.0,70.0"' in picture
    assert words == "Mean reward per 2 s, from 0.5 to 0.5."


@pytest.mark.parametrize(
    ("first", "last", "width"), [(0, 29, 1), (0, 30, 2), (7, 96, 4), (0, 89, 3), (1, 60, 3)]
)
def test_a_line_has_at_most_thirty_points(
    follow: Follower, first: int, last: int, width: int
) -> None:
    """A point is in the middle of its spans, but not outside of all spans."""
    follow.seconds = 8.0
    follow.spans = rewarded(*range(first, last + 1))
    picture, words = rewards_picture(follow)
    expected = []
    for group in range(first // width, last // width + 1):
        of_group = [n for n in range(first, last + 1) if n // width == group]
        middle = min(max(group * width + width / 2, first), last + 1)
        expected.append(((middle - first) * 720 / (last + 1 - first), np_mean(of_group) / 2))
    assert len(expected) <= 30
    low, high = expected[0][1], expected[-1][1]
    points = [f"{x:.1f},{140 * (high - mean) / (high - low):.1f}" for x, mean in expected]
    assert f'points="{" ".join(points)}"' in picture
    assert words.startswith(f"Mean reward per {8 * width} s, from {low:.4g} to {high:.4g}")


def np_mean(numbers: list[int]) -> float:
    return sum(numbers) / len(numbers)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (119, "119 s"),
        (120, "2 min"),
        (7199, "120 min"),
        (7200, "2 h"),
        (1024, "17.1 min"),
        (65536, "18 h"),
    ],
)
def test_lengths_of_time(seconds: float, words: str) -> None:
    assert live._duration(seconds) == words


def said(part: LivePart) -> str:
    return str(part._notice._line.text)


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
        assert said(part) == "Looking for experiments …"
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
        assert part._events_words.text == ""
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


def test_everything_about_an_experiment_is_shown(
    on_page: OnPage, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fpbandits.lab.following._AT_ONCE", 5)
    experiment = put(store)
    for number in range(2):
        one(store, experiment, Ask("user"))
        one(store, experiment, Tell(("user", number), 1.0))
    one(store, experiment, Ask("other"))
    one(store, experiment, Ask("other"))

    async def test() -> None:
        part = LivePart(store)
        await part._look()
        pattern = r"e: ucb1 on 2 models; {} at \d\d:\d\d:\d\d"
        assert re.fullmatch(pattern.format("still reading the log"), said(part))
        await part._look()
        assert re.fullmatch(pattern.format("up to date"), said(part))
        follow = part._follower
        assert follow is not None
        summary = follow.summary()
        assert part._counts.content == counts_table(follow, summary)
        assert part._arms.content == arms_table(follow)
        assert part._models.content == models_table(summary)
        assert part._events.content == events_picture(follow) != ""
        shown = part._rewards.content, part._rewards_words.text
        assert shown == rewards_picture(follow) != ("", "")
        words = f"Decisions (blue) and rewards (orange) per {live._duration(follow.seconds)}."
        assert part._events_words.text == words
        assert part._name.props["_autocomplete"] == ["other", "user"]
        assert part._unit.content == ""
        part._name.value = " user "
        assert part._unit.content == unit_table(follow, "user")
        one(store, experiment, Ask("user"))
        await part._look()
        assert part._unit.content == unit_table(follow, "user")
        assert "3 asked" in part._unit.content
        part._name.value = None
        assert part._unit.content == ""

    on_page(test())


def test_another_experiment_is_shown_from_its_beginning(on_page: OnPage, store: Store) -> None:
    async def test() -> None:
        for name, asks in (("first", 1), ("second", 2)):
            experiment = put(store, name)
            for _ in range(asks):
                one(store, experiment, Ask("user"))
        part = LivePart(store)
        assert part._choice.options == []
        await part._look()
        assert part._choice.options == ["first", "second"]
        assert said(part).startswith("first: ")
        part._choice.value = "second"
        assert part._counts.content == ""
        await part._look()
        assert said(part).startswith("second: ")
        assert part._follower is not None
        assert part._follower.events.total() == 2
        put(store, "third")
        await part._look()
        assert part._choice.options == ["first", "second", "third"]
        assert said(part).startswith("second: ")

    on_page(test())


def test_what_another_experiment_is_chosen_for_is_not_shown(
    on_page: OnPage, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, control={"arm": "a", "share": 0.5})
    reports: list[str] = []

    async def test() -> None:
        part = LivePart(store)
        read = Follower.read

        def left_meanwhile(follow: Follower) -> bool:
            part._follower = None
            return read(follow)

        def left_by_now(store: Store, name: str, **limits: int) -> Any:
            part._follower = None
            reports.append(name)
            return report(store, name, **limits)

        monkeypatch.setattr(Follower, "read", left_meanwhile)
        monkeypatch.setattr(live, "report", left_by_now)
        await part._look()
        assert said(part) == "Looking for experiments …"
        assert part._counts.content == ""
        monkeypatch.setattr(Follower, "read", read)
        await part._look()
        assert part._counts.content != ""
        assert reports == ["e", "e"]
        assert not part._report.visible

    on_page(test())


def test_the_control_group_is_compared_every_half_minute(
    on_page: OnPage, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("first", "second"):
        put(store, name, control={"arm": "a", "share": 0.5})
    put(store, "third")
    clock = SimpleNamespace(now=0.5)
    clock.monotonic = lambda: clock.now
    made: list[tuple[float, str]] = []

    def noted(store: Store, name: str, most_units: int) -> Any:
        assert most_units == 1000
        made.append((clock.now, name))
        return report(store, name, most_units=most_units)

    monkeypatch.setattr(live, "time", clock)
    monkeypatch.setattr(live, "report", noted)

    async def test() -> None:
        part = LivePart(store)
        assert not part._report.visible
        for now, name in (
            (0.5, "first"),
            (30.4, "first"),
            (30.5, "first"),
            (30.6, "second"),
            (30.7, "third"),
        ):
            clock.now = now
            if part._choice.options:
                part._choice.value = name
                assert part._report.visible is (name == "first")
            await part._look()
            assert part._report.visible is (name != "third")
        assert made == [(0.5, "first"), (30.5, "first"), (30.6, "second")]
        latest = report(store, "second", most_units=1000)
        assert part._control.content == control_table(latest)
        shown = part._differences.content, part._differences_words.text
        assert shown == difference_picture(latest)
        assert part._by_arm.content == rewards_by_arm_table(latest)
        assert part._by_model.content == rewards_by_model_table(latest)

    on_page(test())


@pytest.mark.parametrize("function", ["experiments", "summary", "report"])
def test_nothing_is_shown_while_the_lab_shuts_down(
    on_page: OnPage, store: Store, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """Then work in threads gives None."""
    put(store, control={"arm": "a", "share": 0.5})

    async def until_then(work: Any, *given: Any, **named: Any) -> Any:
        return None if work.__name__ == function else work(*given, **named)

    monkeypatch.setattr(live, "run", SimpleNamespace(io_bound=until_then))

    async def test() -> None:
        part = LivePart(store)
        await part._look()
        assert (part._counts.content == "") is (function != "report")
        assert part._report.visible is (function == "summary")

    on_page(test())


def test_a_store_that_fails_is_looked_at_again(
    on_page: OnPage, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> Any:
        raise UnavailableError("the database is away")

    async def test() -> None:
        part = LivePart(store)
        monkeypatch.setattr(store, "experiments", fails)
        await part._look()
        assert said(part) == "the database is away; looking again in 2 s"
        monkeypatch.undo()
        (timer,) = ElementFilter(kind=ui.timer)
        assert timer.interval == 2

    on_page(test())
