from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from stores import CONTEXTS, PROBLEM, ahead, one, put

from fpbandits.lab import following
from fpbandits.lab.chart import HEIGHT
from fpbandits.lab.following import Follower, Span, Summary
from fpbandits.lab.live import events_picture, unit_table
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import Ask, Forget, Tell
from fpbandits.service.migrate import migrate
from fpbandits.service.store import Store


def follower(store: Store, experiment: Experiment) -> Follower:
    kept = store.experiment(experiment.name)
    assert kept is not None
    return Follower(store, kept)


def play(store: Store, experiment: Experiment, unit: str, chances: dict[str, float]) -> None:
    """Let a unit be asked and told sixty times."""
    random = np.random.default_rng(len(unit))
    for number in range(60):
        arm = one(store, experiment, Ask(unit))["arm"]
        one(store, experiment, Tell((unit, number), float(random.random() < chances[arm])))


def test_units_turn_out_to_be_what_they_are(store: Store) -> None:
    experiment = put(store, policy="ucb1")
    follow = follower(store, experiment)
    assert not follow.read()
    assert follow.summary().units == 0
    play(store, experiment, "first", {"a": 1.0, "b": 0.5})
    play(store, experiment, "other", {"a": 0.0, "b": 0.5})
    assert not follow.read()
    assert follow.events == Counter(decision=120, reward=120)
    assert follow.pending == 0
    summary = follow.summary()
    assert summary.units == 2
    assert summary.identified == Counter(x=1, y=1)
    assert summary.best_fits == Counter(x=1, y=1)
    assert summary.verdicts == 2


def test_what_is_open_forgotten_and_waiting_is_counted(store: Store) -> None:
    experiment = put(store, policy="ucb1")
    follow = follower(store, experiment)
    for _ in range(4):
        one(store, experiment, Ask("u"))
    one(store, experiment, Forget(("u", 0)))
    one(store, experiment, Tell(("u", 3), 1.0))
    follow.read()
    assert follow.pending == 2
    summary = follow.summary()
    # Arms in turn: decisions 1 and 3 are of one arm, and 3 waits for 1.
    assert summary.blocked == 1
    one(store, experiment, Tell(("u", 1), 1.0))
    follow.read()
    assert follow.summary().blocked == 0
    assert follow.pending == 1


def test_the_log_is_read_some_at_a_time_and_the_latest_units_looked_at(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_AT_ONCE", 7)
    monkeypatch.setattr(following, "MOST_UNITS", 5)
    experiment = put(store)
    for unit in range(12):
        one(store, experiment, Ask(f"unit-{unit}"))
    follow = follower(store, experiment)
    assert follow.read()
    assert not follow.read()
    assert follow.events == Counter(decision=12)
    assert follow.summary().units == 5


def test_a_unit_that_cannot_be_read_concerns_no_other(store: Store, tmp_path: Path) -> None:
    experiment = put(store)
    for unit in ("good", "bad"):
        one(store, experiment, Ask(unit))
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute("UPDATE units SET state = '{}' WHERE name = 'bad'")
    follow = follower(store, experiment)
    follow.read()
    assert follow.summary().units == 1
    assert "not the whole state of an agent" in unit_table(follow, "bad")


def test_spans_grow_with_time_and_lose_nothing(store: Store) -> None:
    experiment = put(store)
    one(store, experiment, Ask("u"))
    follow = follower(store, experiment)
    (logged,) = store.log(experiment.id, 0, 10)
    begun = logged.event.time
    for hours in range(100):
        follow._count(logged.event._replace(time=begun + 3600 * hours))
    assert sum(span.events["decision"] for span in follow.spans.values()) == 100
    assert len(follow.spans) <= 120
    assert follow.seconds == 4096  # the least power of two that 120 spans cover 99 hours with


def test_how_it_is_going_is_the_mean_reward_and_the_shares_of_arms(store: Store) -> None:
    """What was inherited is counted, and is no reward of this experiment."""
    old = put(store, "old", policy="ucb1", reward_wait=100, default_reward=0.0)
    for number, reward in enumerate((1.0, 0.0, 1.0)):
        one(store, old, Ask("u"))
        one(store, old, Tell(("u", number), reward))
    one(store, old, Ask("u"))
    with ahead(store, 200):
        one(store, old, Ask("u"))
    migrate(store, "old", "new", {})
    for name, inherited, rewards, total, arms in (
        ("old", 0, 4, 2.0, Counter(a=3, b=2)),
        ("new", 4, 0, 0.0, Counter()),
    ):
        kept = store.experiment(name)
        assert kept is not None
        follow = Follower(store, kept)
        follow.read()
        assert follow.events["observed"] == inherited
        assert (follow.overall.rewards, follow.overall.total) == (rewards, total)
        assert follow.arms == arms
        assert (follow.spans == {}) == (name == "new")
        assert follow.latest_units == ["u"]
        assert follow.agent("nobody") is None
        agent = follow.agent("u")
        assert agent is not None
        assert sum(agent.plays.values()) == 4


def test_the_bar_of_rewards_takes_in_those_that_expired(store: Store) -> None:
    follow = follower(store, put(store))
    follow.spans = {7: Span(Counter(decision=4, reward=2, expired=1, late=1))}
    heights = re.findall(r'<rect [^>]*height="([\d.]+)"', events_picture(follow))
    assert [float(height) / HEIGHT for height in heights] == [1, 3 / 4]


def test_a_follower_begins_with_nothing(store: Store) -> None:
    follow = follower(store, put(store))
    assert not follow.read()
    assert (follow.seconds, follow.spans, follow.latest_units) == (1.0, {}, [])
    assert (follow.overall.rewards, follow.overall.total) == (0, 0.0)
    assert follow.summary() == Summary(0, Counter(), Counter(), 0, 0, 0)
    assert (follow.pending, follow.arms, follow.agent("u")) == (0, Counter(), None)


def test_what_happens_to_the_experiment_is_not_counted(store: Store) -> None:
    experiment = put(store)
    one(store, experiment, Ask("u"))
    kept = store.experiment("e")
    assert kept is not None
    store.change_experiment(kept, "closed", kind="closed")
    follow = follower(store, experiment)
    assert not follow.read()
    assert follow.events == Counter(decision=1)
    assert follow.latest_units == ["u"]


def test_a_unit_of_which_little_is_known_has_no_verdict(store: Store) -> None:
    experiment = put(store)
    one(store, experiment, Ask("u"))
    follow = follower(store, experiment)
    follow.read()
    summary = follow.summary()
    assert (summary.units, summary.verdicts, summary.misfits) == (1, 0, 0)
    assert summary.identified == Counter()
    assert summary.best_fits == Counter(x=1), "the first, where all fit as well"


def test_a_unit_that_no_model_fits_is_counted(store: Store) -> None:
    """Arm a pays half of the time, and not 0.9 or 0.2 of it."""
    experiment = put(store, policy="fp-ucb")
    for number in range(150):
        arm = one(store, experiment, Ask("odd"))["arm"]
        reward = float(number % 4 in (1, 2)) if arm == "a" else 1.0
        one(store, experiment, Tell(("odd", number), reward))
    one(store, experiment, Ask("usual"))
    follow = follower(store, experiment)
    follow.read()
    assert follow.summary().misfits == 1


def test_a_verdict_is_needed_in_every_context(store: Store) -> None:
    experiment = put(store, problem=CONTEXTS)
    for unit, contexts in (("both", ("here", "there")), ("one", ("here",))):
        for number, context in enumerate(contexts * 25):
            arm = one(store, experiment, Ask(unit, context=context))["arm"]
            pays = {"here": {"a": 0.9, "b": 0.5}, "there": {"a": 0.3, "b": 0.4}}[context][arm]
            reward = float((number * 7919) % 10 < 10 * pays)
            one(store, experiment, Tell((unit, number), reward))
    follow = follower(store, experiment)
    follow.read()
    agents = [follow.agent(unit) for unit in ("both", "one")]
    expected = [
        agent is not None
        and all(agent.verdict(0.05, context) is not None for context in ("here", "there"))
        for agent in agents
    ]
    assert expected[0]
    assert follow.summary().verdicts == sum(expected)


def test_where_the_truth_moves_there_are_no_verdicts(store: Store) -> None:
    moving = f"{PROBLEM}[transitions]\nx = {{x = 0.9, y = 0.1}}\ny = {{x = 0.1, y = 0.9}}\n"
    experiment = put(store, problem=moving, policy="frugal")
    one(store, experiment, Ask("u"))
    follow = follower(store, experiment)
    follow.read()
    summary = follow.summary()
    assert (summary.units, summary.verdicts) == (1, 0)
