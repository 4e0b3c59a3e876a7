"""Experiments: what they are made of, and the agents of their units. Refusals: test_http."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from stores import CONTEXTS, PROBLEM, THREE_ARMS

from fpbandits import errors
from fpbandits.agent.agent import Agent
from fpbandits.errors import Error, InputError, UnknownError
from fpbandits.service.experiment import Experiment, Kept, checked_experiment


def test_a_definition_says_it_all() -> None:
    body = {"problem": PROBLEM, "policy": "fp-ucb:slack=0.05", "seed": 3, "reward_wait": 60}
    wanted = checked_experiment("e", body)
    kept = Experiment.from_kept(Kept(7, "e", wanted.definition, "open", 1, 2, 0, 1.0))
    assert (kept.id, kept.name, str(kept.policy), kept.seed) == (7, "e", "fp-ucb:slack=0.05", 3)
    assert (kept.late, kept.reward_wait, kept.default_reward) == ("in-order", 60.0, None)
    assert kept.problem == wanted.problem
    assert json.loads(kept.definition) == {
        **body,
        "late": "in-order",
        "default_reward": None,
        "explore": 0.0,
        "control": None,
    }


def test_a_share_of_decisions_explores_and_says_how_likely_each_was() -> None:
    """Of 400 first decisions about 100 explore, half of them with the other arm: 50 ± 25."""
    experiment = checked_experiment("e", {"problem": PROBLEM, "explore": 0.25})
    first = [experiment.agent(f"u{place}").ask() for place in range(400)]
    planned = checked_experiment("e", {"problem": PROBLEM}).agent("u").ask().arm
    assert 25 <= sum(each.arm != planned for each in first) <= 75
    assert {(each.arm == planned, each.probability) for each in first} == {
        (True, 0.875),
        (False, 0.125),
    }
    for share in (-0.1, 1.1, "x"):
        with pytest.raises(InputError, match="explore"):
            checked_experiment("e", {"problem": PROBLEM, "explore": share})
    with pytest.raises(InputError, match="cannot tell how likely"):
        checked_experiment("e", {"problem": PROBLEM, "policy": "thompson", "explore": 0.1})


def test_units_draw_each_for_themselves_and_always_the_same() -> None:
    body = {"problem": PROBLEM, "policy": "thompson-theta", "seed": 1}
    experiment = checked_experiment("e", body)
    first = [experiment.agent(f"u{place}").ask().arm for place in range(40)]
    # Alike, or all of one kind, with a chance of 2^-39 if the posterior of either arm is 1/2.
    assert len(set(first)) == 2
    assert first == [experiment.agent(f"u{place}").ask().arm for place in range(40)]
    other = checked_experiment("e", {**body, "seed": 2})
    assert first != [other.agent(f"u{place}").ask().arm for place in range(40)]


def test_a_unit_is_an_agent_with_a_seed_of_its_own() -> None:
    experiment = checked_experiment("e", {"problem": CONTEXTS, "policy": "thompson", "seed": 5})
    ours = experiment.agent("user-17")
    plain = Agent(experiment.problem, "thompson", seed=experiment.seed_of("user-17"))
    for number in range(30):
        context = "here" if number % 3 else "there"
        assert ours.ask(context) == plain.ask(context)
        for agent in (ours, plain):
            agent.tell(number, number % 2)
        ours = experiment.agent("user-17", ours.own_state())
    assert ours.state() == plain.state()


def test_names_stand_in_addresses() -> None:
    for name in ("a/b", "", " a", "a\n", "a" * 201):
        with pytest.raises(InputError, match="the experiment: its name"):
            checked_experiment(name, {"problem": PROBLEM})


def test_an_unknown_context_is_refused_without_looking_for_similar_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With 200 contexts that took 19 ms, on the event loop, for each request of a list."""
    experiment = checked_experiment("e", {"problem": CONTEXTS, "policy": "ucb1"})
    plain = checked_experiment("e", {"problem": PROBLEM, "policy": "ucb1"})
    monkeypatch.setattr(errors, "SequenceMatcher", pytest.fail)
    experiment.check_context("here")
    plain.check_context(None)
    with pytest.raises(
        UnknownError, match="unknown context 'her': known are 'here', 'there'"
    ) as no:
        experiment.check_context("her")
    assert no.value.path == ["context", "her"]
    with pytest.raises(InputError, match="say which one this is for"):
        experiment.check_context(None)
    with pytest.raises(InputError, match="has no contexts"):
        plain.check_context("here")


def test_a_truth_that_moves_is_served() -> None:
    """Each unit's rewards count at the time of their decisions, also after a state was stored."""
    chain = "[transitions]\nx = { x = 0.9, y = 0.1 }\ny = { y = 0.8, x = 0.2 }\n"
    problem = f'arms = ["a", "b"]\n[models]\nx = [0.9, 0.5]\ny = [0.2, 0.5]\n{chain}'
    body = {"problem": problem, "default_reward": 0, "reward_wait": 9}
    experiment = checked_experiment("e", body)
    plain, unit = Agent(experiment.problem), experiment.agent("u")
    plain = plain.another(seed=experiment.seed_of("u"))
    for number in range(12):
        assert unit.ask() == plain.ask()
        if number % 3 == 2:  # three at a time, the last of them first
            for each in (number, number - 2, number - 1):
                unit.tell(each, each % 2)
                plain.tell(each, each % 2)
        unit = experiment.agent("u", unit.own_state())
        assert unit.posterior() == plain.posterior()
    with pytest.raises(InputError, match="in the order of decisions: leave out late='any'"):
        checked_experiment("e", {**body, "late": "any"})


def test_what_was_asked_for_is_in_no_store_and_open() -> None:
    wanted = checked_experiment("e", {"problem": PROBLEM, "policy": "ucb1"})
    assert (wanted.id, tuple(wanted.stamp)) == (0, (0, 0.0, 0))
    assert (wanted.status, wanted.revision, wanted.rule) == ("open", 1, "ucb1@1")
    assert (wanted.seed, wanted.explore, wanted.control, wanted.late) == (0, 0.0, None, "in-order")
    assert wanted.is_current
    wanted.check_serving()
    kept = Kept(7, "e", wanted.definition, "closed", 1, wanted.states, 3, 1.5)
    assert tuple(kept.changed("open")) == tuple(kept._replace(status="open", edition=4))
    adopted = kept._replace(states=1).changed("open", 2)
    assert tuple(adopted) == (7, "e", wanted.definition, "open", 2, wanted.states, 4, 1.5)
    stored = wanted.as_kept(kept)
    assert (stored.id, tuple(stored.stamp), stored.status) == (7, (7, 1.5, 3), "closed")
    with pytest.raises(InputError, match="'e' is closed: it takes rewards, no new decisions"):
        stored.check_open()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"status": "deleting"}, "'e' is being deleted"),
        ({"status": "migrating"}, "'e' is migrating, and takes requests when that is done"),
        ({"status": "adopting"}, "'e' is adopting, and takes requests when that is done"),
        ({"revision": 7}, "'e' is decided by ucb1@7, and this server has ucb1@1: adopt that"),
        ({"states": 1}, "the states of 'e' are of an earlier version: stop its servers and run"),
        ({"states": 1, "revision": 7}, "'e' is decided by ucb1@7"),
        ({"states": 1, "status": "closed"}, "the states of 'e' are of an earlier version"),
    ],
)
def test_why_an_experiment_is_not_served(changes: dict[str, Any], words: str) -> None:
    experiment = checked_experiment("e", {"problem": PROBLEM, "policy": "ucb1"})
    changed = replace(experiment, **changes)
    assert changed.is_current == ("status" in changes and "states" not in changes)
    with pytest.raises(Error) as error:
        changed.check_serving()
    assert str(error.value).startswith(words)


def test_a_unit_has_the_same_seed_for_ever() -> None:
    """The first six bytes of SHA-256 of "5 user-17" and "0 é", by sha256sum."""
    seeds = []
    for seed, unit in ((5, "user-17"), (0, "é")):
        experiment = checked_experiment("e", {"problem": PROBLEM, "policy": "ucb1", "seed": seed})
        seeds.append(f"{experiment.seed_of(unit):012x}")
    assert seeds == ["bc4faca11a98", "5d77c4941d09"]


def test_the_control_group_has_its_arm_where_that_is_eligible() -> None:
    body = {"problem": THREE_ARMS, "policy": "ucb1", "control": {"arm": "b", "share": 0.5}}
    experiment = checked_experiment("e", body)
    names = [f"u{n}" for n in range(40)]
    assert experiment.control is not None
    group = {name for name in names if experiment.control.has(name)}
    assert 0 < len(group) < 40
    for among, arm in ((None, "b"), (["a", "b"], "b"), (["b"], "b"), (["a", "c"], None)):
        arms = {name: experiment.control_arm(name, among) for name in names}
        assert arms == {name: arm if name in group else None for name in names}
    plain = checked_experiment("e", {"problem": PROBLEM})
    assert plain.control_arm("u", ["a"]) is None


def test_eligible_arms_are_in_the_problems_order() -> None:
    experiment = checked_experiment("e", {"problem": THREE_ARMS})
    assert experiment.eligible(["c", "a", "c"]) == ["a", "c"]
    assert experiment.eligible(["c", "b", "a"]) is None
    with pytest.raises(UnknownError, match="unknown arm 'd': known are 'a', 'b', 'c'") as unknown:
        experiment.eligible(["a", "d"])
    assert unknown.value.path == ["arm", "d"]
