"""What `verify` counts, and how it says what differs. On both stores: tests/helpers/stores.py."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from stores import one, put, served

from fpbandits.errors import InputError, UnknownError
from fpbandits.service.adopt import adopt
from fpbandits.service.messages import Ask, Forget, Tell
from fpbandits.service.store import Store, open_store
from fpbandits.service.verify import Verification, _same_probability, experiments_of, verify

Alter = Callable[[str], None]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        yield store


@pytest.fixture
def alter(tmp_path: Path) -> Alter:
    def run(statement: str) -> None:
        with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as connection:
            connection.execute(statement)

    return run


def test_it_counts_what_there_is_and_tells_how_far_it_is(store: Store) -> None:
    first, second = put(store), put(store, "f", policy="thompson-theta", reward_wait=1000)
    assert verify(store) == Verification()
    for number in range(3):
        served(store, first, [Ask("u"), Ask("v")])
        served(store, first, [Tell(("u", number), 1.0)])
    one(store, first, store.find_events((first.id, "v")))
    served(store, second, [Ask("u"), Ask("u"), Forget(("u", 0))])
    progress: list[int] = []
    # 3 decisions and 3 rewards of u, the tombstone of v, and 2 decisions and an end of f's u.
    assert verify(store, None, progress.append) == Verification(
        decisions=5, units=3, erased=1, events=10
    )
    assert progress == [6, 7, 10]
    assert verify(store, "f") == Verification(decisions=2, units=1, events=3)


def test_of_many_differences_the_first_are_shown_and_all_counted(
    store: Store, alter: Alter
) -> None:
    experiment = put(store)
    served(store, experiment, [Ask(f"u{n:02}") for n in range(25)])
    alter("UPDATE units SET state = '{}'")
    found = verify(store)
    assert found.differences == 25
    assert found.shown == [f"e: u{n:02}: its state does not follow from the log" for n in range(20)]
    assert found.impossible == 0


def test_units_whose_events_are_gone_are_missed_wherever_they_were(
    store: Store, alter: Alter
) -> None:
    experiment = put(store)
    served(store, experiment, [Ask(name) for name in "abcd"])
    alter("DELETE FROM events WHERE unit IN (SELECT id FROM units WHERE name IN ('b', 'd'))")
    alter("INSERT INTO units (experiment, name, steps) VALUES (1, 'asked in vain', 0)")
    lost = [f"e: {name}: 1 events are kept, and none is logged" for name in "bd"]
    assert verify(store).shown == lost
    alter("DELETE FROM units WHERE name IN ('a', 'b')")
    alter("UPDATE events SET unit = (SELECT id FROM units WHERE name = 'c') WHERE unit = 1")
    assert "e: c: event 2 is numbered 1" in verify(store).shown


def test_a_state_that_is_gone_is_missed(store: Store, alter: Alter) -> None:
    experiment = put(store)
    served(store, experiment, [Ask("u"), Ask("v")])
    alter("UPDATE units SET state = NULL WHERE name = 'u'")
    assert verify(store).shown == ["e: u: its state does not follow from the log"]


def test_events_that_cannot_have_happened_are_counted(store: Store, alter: Alter) -> None:
    experiment = put(store)
    served(store, experiment, [Ask("u"), Ask("u")])
    alter("UPDATE units SET steps = 4")
    columns = "experiment, unit, step, kind, number, reward, time, version, revision"
    for step, kind, number in ((3, "reward", 7), (4, "dreamt", 0)):
        values = f"1, 1, {step}, '{kind}', {number}, 1.0, 0.0, '', 1"
        alter(f"INSERT INTO events ({columns}) VALUES ({values})")
    found = verify(store)
    assert (found.decisions, found.events, found.differences, found.impossible) == (2, 4, 2, 1)
    impossible, unknown = found.shown
    assert impossible.startswith("e: 7@u: reward cannot be (")
    assert unknown == "e: u: unknown event 'dreamt'"


def test_events_before_a_tombstone_are_found(store: Store, alter: Alter) -> None:
    experiment = put(store)
    served(store, experiment, [Ask("u"), Ask("u")])
    one(store, experiment, store.find_events((1, "u")))
    assert verify(store).shown == []
    columns = "experiment, unit, step, kind, number, arm, probability, time, version, revision"
    alter(f"INSERT INTO events ({columns}) VALUES (1, 1, 1, 'decision', 0, 'a', 1.0, 0.0, '', 1)")
    assert verify(store).shown == ["e: u: it was erased, and has earlier events"]


def test_a_probability_that_is_gone_is_missed(store: Store, alter: Alter) -> None:
    experiment = put(store)
    one(store, experiment, Ask("u"))
    alter("UPDATE events SET probability = NULL")
    assert verify(store).shown == ["e: 0@u: logged with probability None, and now it is 1.0"]
    assert _same_probability(None, None)
    assert not _same_probability(0.5, None)
    assert _same_probability(0.5, 0.5 + 4e-10)
    assert not _same_probability(0.5, 0.5 + 6e-10)


def test_decisions_of_another_revision_are_counted_and_their_states_not_compared(
    store: Store, alter: Alter
) -> None:
    experiment = put(store)
    served(store, experiment, [Ask("u"), Ask("u")])
    alter("UPDATE experiments SET revision = 7")
    alter("UPDATE events SET revision = 7, arm = 'b' WHERE number = 0")
    alter("UPDATE units SET state = '{}'")
    found = verify(store)
    assert (found.decisions, found.unchecked, found.shown) == (2, 1, [])


def test_an_experiment_that_is_adopted_meanwhile_is_verified_as_it_is_now(
    store: Store, alter: Alter
) -> None:
    for name in "ef":
        one(store, put(store, name), Ask("u"))
    alter("UPDATE experiments SET revision = 7")

    def change(events: int) -> None:
        if events == 1:  # while e is verified, f is not yet
            adopt(store, "f")
            alter("UPDATE units SET state = '{}' WHERE experiment = 2")

    assert verify(store, None, change).shown == ["f: u: its state does not follow from the log"]


def test_the_control_group_is_verified_by_its_arm(store: Store, alter: Alter) -> None:
    experiment = put(store, control={"arm": "b", "share": 0.5})
    served(store, experiment, [Ask(f"u{n}") for n in range(20)])
    assert verify(store) == Verification(decisions=20, units=20, events=20)
    unit = next(f"u{n}" for n in range(20) if experiment.control_arm(f"u{n}"))
    alter(f"UPDATE events SET arm = 'a' WHERE unit = (SELECT id FROM units WHERE name = '{unit}')")
    assert f"e: 0@{unit}: logged a, and now it is b (0@{unit})" in verify(store).shown


def test_an_experiment_is_found_by_its_name(store: Store) -> None:
    with pytest.raises(UnknownError, match="unknown experiment 'e': the store has none"):
        experiments_of(store, "e")
    assert experiments_of(store, None) == []
    put(store, "e")
    put(store, "f")
    with pytest.raises(InputError, match="unknown experiment 'g'"):
        experiments_of(store, "g")
    assert [each.name for each in experiments_of(store, "f")] == ["f"]
    assert [each.name for each in experiments_of(store, None)] == ["e", "f"]
