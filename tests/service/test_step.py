"""The step itself: events, times, probabilities. What it answers: tests/helpers/stores.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from stores import PROBLEM

from fpbandits import __version__
from fpbandits.errors import UnknownError
from fpbandits.service.experiment import checked_experiment
from fpbandits.service.messages import Ask, Tell, decision_name, decision_of
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
