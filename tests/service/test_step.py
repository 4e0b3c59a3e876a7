"""The step itself: events, times, probabilities. What it answers: tests/helpers/stores.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stores import PROBLEM

from fpbandits import __version__
from fpbandits.errors import ConflictError, InputError, UnknownError
from fpbandits.service.experiment import checked_experiment
from fpbandits.service.messages import (
    Ask,
    Erase,
    Expire,
    Forget,
    Tell,
    decision_name,
    decision_of,
)
from fpbandits.service.step import Event, Unit


def new_unit(state: str | None = None, **fields: Any) -> Unit:
    body = {"problem": PROBLEM, "policy": "ucb1", **fields}
    return Unit(checked_experiment("e", body), "u", 0, state, {}, lambda number: ())


def test_an_event_says_what_decided_it() -> None:
    unit = new_unit()
    unit.step(Ask("u", "k"), 10.0)
    unit.step(Tell(("u", 0), 0.5), 11.0)
    assert unit.events == [
        Event(1, "decision", 0, "k", "a", None, 1.0, None, 10.0, __version__, 1),
        Event(2, "reward", 0, None, None, None, None, 0.5, 11.0, __version__, 1),
    ]
    unit.step(Ask("u", None, None, ["b"]), 12.0)
    assert (unit.events[2].among, unit.events[2].eligible) == ('["b"]', ["b"])
    assert unit.steps == 3


def test_how_likely_a_decision_was_is_the_posterior_mass_of_its_arm() -> None:
    unit = new_unit(policy="thompson-theta")
    means = {"x": np.array([0.9, 0.5]), "y": np.array([0.2, 0.5])}
    mass = {"x": 1.0, "y": 1.0}
    random = np.random.default_rng(1)
    for number in range(12):
        arm = unit.step(Ask("u"), 0.0)["arm"]
        likely = mass["x" if arm == "a" else "y"] / (mass["x"] + mass["y"])
        assert unit.events[-1].probability == pytest.approx(likely, rel=1e-9)
        reward = float(random.integers(2))
        unit.step(Tell(("u", number), reward), 0.0)
        for model in mass:
            mean = means[model]["ab".index(arm)]
            mass[model] *= mean if reward else 1 - mean


def test_a_policy_that_cannot_tell_how_likely_says_nothing() -> None:
    unit = new_unit(policy="thompson")
    unit.step(Ask("u"), 0.0)
    assert unit.events[0].probability is None


def test_decisions_expire_in_their_order_and_by_the_time_that_is_given() -> None:
    unit = new_unit(reward_wait=10, default_reward=0)
    for time in (0.0, 4.0, 5.0):
        unit.step(Ask("u"), time)
    assert unit.due == 10.0
    unit.step(Tell(("u", 0), 1.0), 9.99)
    assert unit.due == 14.0
    again = new_unit(unit.pack(), reward_wait=10, default_reward=0)
    assert again.due == 14.0
    again.step(Ask("u"), 14.5)
    assert [(event.kind, event.number, event.time) for event in again.events] == [
        ("expired", 1, 14.5),
        ("decision", 3, 14.5),
    ]
    assert again.due == 15.0


@pytest.mark.parametrize("unit", ["user-17", "a@b", "@", "3@x", "é", " "])
def test_a_decision_is_known_by_its_name(unit: str) -> None:
    assert decision_of(decision_name(unit, 12)) == (unit, 12)


@pytest.mark.parametrize("name", ["", "3", "@u", "3@", "-1@u", "x@u", "٣@u", "9" * 19 + "@u"])
def test_what_is_no_decision_is_unknown(name: str) -> None:
    with pytest.raises(UnknownError, match="unknown decision"):
        decision_of(name)


def test_a_clock_may_go_back_by_up_to_a_second_without_a_remark() -> None:
    for back, kinds in ((0.9, ["decision"] * 2), (1.1, ["decision", "clock", "decision"])):
        unit = new_unit(reward_wait=10)
        unit.step(Ask("u"), 100.0)
        unit.step(Ask("u"), 100.0 - back)
        assert [event.kind for event in unit.events] == kinds
        assert unit.due == (110.0 if back < 1 else 110.0 - back)


def test_small_steps_of_the_clock_add_up() -> None:
    unit = new_unit(reward_wait=10.0)
    for number in range(40):
        unit.step(Ask("u", None), 100.0 - 0.9 * number)
    assert {event.kind for event in unit.events} == {"decision", "clock"}
    assert unit.due is not None
    assert unit.due <= 100.0 - 0.9 * 39 + 10.0 + 1.0


def test_a_late_reward_is_refused_as_one_in_time_would_be() -> None:
    unit = new_unit(reward_wait=10.0)
    unit.step(Ask("u", None), 0.0)
    refused = []
    for now in (1.0, 20.0):
        for reward in (1.5, float("nan")):
            with pytest.raises(InputError) as caught:
                unit.step(Tell(("u", 0), reward), now)
            refused.append(str(caught.value))
    assert refused[:2] == refused[2:]
    assert "range = [0, 1.5]" in refused[0]


def test_a_clock_that_goes_back_is_an_event_with_a_number_of_its_own() -> None:
    unit = new_unit(reward_wait=10)
    for time in (100.0, 101.0, 50.0):
        unit.step(Ask("u"), time)
    nothing = None, None, None, None, None
    assert unit.events[2:] == [
        Event(3, "clock", 3, *nothing, 50.0, __version__, 1),
        Event(4, "decision", 2, None, "a", None, 1.0, None, 50.0, __version__, 1),
    ]
    unit.step(Expire("u"), 60.0)
    assert [(each.kind, each.number) for each in unit.events[4:]] == [
        ("expired", 0),
        ("expired", 1),
        ("expired", 2),
    ]
    assert unit.due is None


def test_names_of_arms_are_logged_as_they_are() -> None:
    unit = new_unit(problem=PROBLEM.replace('"b"', '"été"'))
    unit.step(Ask("u", None, None, ["été"]), 0.0)
    assert unit.events[0].among == '["été"]'
    row = {"arm": "été", "context": None, "reward": 1.0, "time": 0.0, "propensity": 0.5}
    other = new_unit(problem=PROBLEM.replace('"b"', '"été"'))
    other.observe({**row, "among": ["été"]}, 0)
    other.observe({**row, "among": None}, 1)
    assert [each.among for each in other.events] == ['["été"]', None]
    decided = Event(1, "observed", 0, None, "été", None, 0.5, 1.0, 0.0, __version__, 1, '["été"]')
    assert other.events[0] == decided


def full(unit: Unit, now: float = 0.0) -> bool:
    """Whether a unit has as many pending decisions as it may have; if not, it has one more."""
    try:
        unit.step(Ask("u"), now)
    except ConflictError as error:
        return "'u' has 2 pending decisions, the most there may be" in str(error)
    return False


def limited(**fields: Any) -> Unit:
    """A unit that may have two pending decisions."""
    body = {"problem": PROBLEM, "policy": "ucb1", **fields}
    experiment = checked_experiment("e", body).with_most_pending(2)
    return Unit(experiment, "u", 0, None, {}, lambda number: ())


def test_pending_decisions_are_counted_whatever_becomes_of_them() -> None:
    unit = limited(reward_wait=10)
    assert [full(unit) for _ in range(3)] == [False, False, True]
    unit.step(Tell(("u", 0), 1.0), 0.0)
    assert [full(unit) for _ in range(2)] == [False, True]
    unit.step(Forget(("u", 1)), 0.0)
    assert [full(unit, 5.0) for _ in range(2)] == [False, True]
    # One of them expires, and then both.
    assert [full(unit, 10.0) for _ in range(2)] == [False, True]
    assert [full(unit, 30.0) for _ in range(3)] == [False, False, True]
    unit.step(Erase("u", [1, 2], 2), 31.0)
    assert unit.due is None
    assert [full(unit, 31.0) for _ in range(3)] == [False, False, True]


@pytest.mark.parametrize("policy", ["frugal", "thompson-theta"])
def test_a_unit_that_knows_nothing_is_erased_if_it_has_events(policy: str) -> None:
    """Of a decision that was given up its events are left, and its key is in these."""
    unit = new_unit(policy=policy)
    unit.step(Ask("u", "k"), 0.0)
    unit.step(Forget(("u", 0)), 0.0)
    answer = {"unit": "u", "status": "erased"}
    assert unit.step(Erase("u", [1, 2], 2), 1.0) == answer
    nothing = None, None, None, None, None
    assert unit.events == [
        Event(3, "erased", 1, *nothing, 1.0, __version__, unit.events[0].revision)
    ]
    # Its tombstone alone is no reason to erase it again; events behind it are, though the request
    # was made before them.
    tombstone = unit.events[0]
    for newer in (0, 2):
        again = Unit(unit.experiment, "u", 3, unit.pack(), {}, lambda number: [tombstone])
        if newer:
            again.step(Ask("u", "another"), 2.0)
            again.step(Forget(("u", 1)), 2.0)
            again = Unit(unit.experiment, "u", 5, again.pack(), {}, lambda number: [])
        request = Erase("u", [3], 3)
        assert again.step(request, 3.0) == answer
        assert again.erasure == (request if newer else None)
        assert [event.kind for event in again.events] == ["erased"] * bool(newer)
    assert again.step(Ask("u", "k"), 3.0)["decision"] == "2@u"


@pytest.mark.parametrize("policy", ["frugal", "thompson-theta"])
def test_what_came_after_a_tombstone_is_erased_in_the_same_transaction(policy: str) -> None:
    """The store does not have these events yet, and the agent knows nothing of them any more."""
    unit = new_unit(policy=policy)
    unit.step(Ask("u"), 0.0)
    unit.step(Erase("u", [1], 1), 1.0)
    again = Unit(unit.experiment, "u", unit.steps, unit.pack(), {}, lambda number: ())
    again.step(Ask("u", "k"), 2.0)
    again.step(Forget(("u", 1)), 2.0)
    again.step(Erase("u", [unit.steps], unit.steps), 2.0)
    assert [event.kind for event in again.events] == ["erased"]
    assert again.step(Ask("u", "k"), 3.0)["decision"] == "2@u"


def test_other_events_of_the_same_number_do_not_resolve_a_decision() -> None:
    unit = new_unit(reward_wait=10)
    for _ in range(4):
        unit.step(Ask("u"), 100.0)
    unit.step(Erase("u", [1, 2, 3, 4], 4), 101.0)
    clock = Event(3, "clock", 3, None, None, None, None, None, 50.0, __version__, 1)
    unit.begin({}, lambda number: [clock] if number == 3 else [])
    with pytest.raises(ConflictError, match=r"decision '3@u' was erased"):
        unit.step(Tell(("u", 3), 1.0), 102.0)
    assert unit.events == []
