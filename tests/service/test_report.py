"""A report, number by number, against a plain reading of the log. On both stores: stores.py."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stores import ahead, events, one, put, served

from fpbandits.service.comparison import error_at, half_width
from fpbandits.service.experiment import Experiment
from fpbandits.service.messages import Ask, Expire, Forget, Request, Tell
from fpbandits.service.report import Report, report
from fpbandits.service.store import Store, Wanted, open_store
from fpbandits.service.unit_state import unpack_unit

PROBLEM = """
arms = ["a", "b"]
range = [-2, 6]
reward = "beta"
concentration = 3.0
[models]
x = [4.0, 1.0]
y = [-1.0, 1.0]
"""
LOW, HIGH = -2.0, 6.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(open_store(str(tmp_path / "a.db"), make=True)) as store:
        yield store


def sums(found: list[tuple[int, float | None]]) -> Report:
    """Of decisions, each with the reward that counts in the log: how many, and their mean."""
    rewards = [reward for _, reward in found if reward is not None]
    mean = pytest.approx(np.mean(rewards)) if rewards else None
    return {"decisions": len(found), "rewards": len(rewards), "mean_reward": mean}


def played(store: Store, experiment: Experiment, rounds: int, units: int) -> None:
    """Serve units, whose rewards are uniform, and forget a few decisions."""
    random = np.random.default_rng(1)
    for number in range(rounds):
        served(store, experiment, [Ask(f"u{n}") for n in range(units)])
        answers: list[Request] = [
            Forget((f"u{n}", number))
            if (n, number) in ((3, 1), (4, 1), (5, 2))
            else Tell((f"u{n}", number), float(random.uniform(LOW, HIGH)))
            for n in range(units)
        ]
        served(store, experiment, answers)


@pytest.mark.parametrize("share", [None, 0.4])
def test_a_report_is_what_the_log_and_the_states_say(store: Store, share: float | None) -> None:
    control = None if share is None else {"arm": "b", "share": share}
    options: dict[str, Any] = {"reward_wait": 1000, "default_reward": 0.5, "policy": "ucb1"}
    put(store, "another")
    experiment = put(store, problem=PROBLEM, control=control, **options)
    played(store, experiment, 6, 30)
    # Two expire, and a reward comes late; some of those that follow are blocked.
    with ahead(store, -2000):
        served(store, experiment, [Ask("u1"), Ask("u2")])
    served(store, experiment, [Expire("u1"), Expire("u2")])
    one(store, experiment, Tell(("u1", 6), 3.0))
    served(store, experiment, [Ask("u0") for _ in range(4)])
    served(store, experiment, [Tell(("u0", n), 1.0) for n in (7, 8, 9)])
    one(store, experiment, store.find_events((experiment.id, "u9")))
    found = report(store, "e")

    decided: dict[tuple[str, int], str] = {}
    counts: dict[tuple[str, int], float] = {}
    kinds, told = Counter[str](), list[tuple[float, str, float]]()
    for unit, event in events(store, experiment):
        kinds[event.kind] += 1
        assert unit is not None
        if event.kind == "decision":
            decided[unit, event.number] = str(event.arm)
        elif event.kind in ("reward", "expired"):
            assert event.reward is not None
            counts[unit, event.number] = event.reward
            told.append((event.time, unit, event.reward))
    all_of_it = [(arm, unit, counts.get((unit, n))) for (unit, n), arm in decided.items()]

    def those(wanted: Any) -> Report:
        return sums([(0, reward) for arm, unit, reward in all_of_it if wanted(arm, unit)])

    states = {}
    with store.history(experiment.id) as history:
        for unit, _, state in history.states():
            states[unit] = unpack_unit(experiment, unit, state)[0]
    posteriors = {unit: agent.posterior() for unit, agent in states.items()}
    likeliest = {
        unit: max(found, key=lambda each: found[each]) for unit, found in posteriors.items()
    }
    over_time, last = found.pop("over_time"), found.pop("control")
    assert kinds["late"] == 1
    assert found == {
        "experiment": "e",
        "status": "open",
        "units": 29,  # and one that was erased
        **those(lambda arm, unit: True),
        "pending": 1,
        "expired": 2,
        "forgotten": 3,
        "late": 1,
        "erased": 1,
        "arms": {arm: those(lambda each, unit, arm=arm: each == arm) for arm in "ab"},
        "looked_at": 30,
        "misfits": sum(agent.misfits for agent in states.values()),
        "blocked": sum(
            each.rewards for agent in states.values() for each in agent.blocked.values()
        ),
        "models": {
            model: {
                "units": list(likeliest.values()).count(model),
                **those(lambda arm, unit, model=model: likeliest[unit] == model),
            }
            for model in "xy"
        },
    }
    assert found["blocked"] > 0
    looks = [100, 125, 156]
    assert [(each["rewards"], each["time"]) for each in over_time] == [
        (count, max(time for time, _, _ in told[:count])) for count in looks
    ]
    if share is None:
        assert last is None
        means = [np.mean([reward for _, _, reward in told[:count]]) for count in looks]
        assert [each["mean_reward"] for each in over_time] == pytest.approx(means)
        return
    group = {unit for unit in states if experiment.control_arm(unit)}
    for look, (count, point) in enumerate(zip(looks, over_time, strict=True), 1):
        sides = []
        for inside in (False, True):
            rewards = dict[str, list[float]]()
            for unit in states:  # in the order of enrolment
                own = [each for _, name, each in told[:count] if name == unit]
                if own and (unit in group) is inside:
                    rewards[unit] = own
            sides.append(list(rewards.values()))
        policy, other = (float(np.mean(np.concatenate(side))) for side in sides)
        scaled = [
            (
                np.array([float(len(own)) for own in side]),
                np.array([sum((each - LOW) / 8 for each in own) for own in side]),
            )
            for side in sides
        ]
        width = 8 * half_width(scaled, error_at(look, 0.05))
        assert {**point, "rewards": 0, "time": 0} == {
            "rewards": 0,
            "time": 0,
            "policy": pytest.approx(policy),
            "control": pytest.approx(other),
            "difference": pytest.approx(policy - other),
            "interval": pytest.approx(
                [max(-8, policy - other - width), min(8, policy - other + width)]
            ),
        }
    ratio = last.pop("sample_ratio")
    assert last == {
        "arm": "b",
        "policy": {"units": 30 - len(group), **those(lambda arm, unit: unit not in group)},
        "control": {"units": len(group), **those(lambda arm, unit: unit in group)},
        "difference": over_time[-1]["difference"],
        "interval": over_time[-1]["interval"],
        "as_of": 156,
        "error": 0.05,
    }
    assert (ratio["share"], ratio["fits"]) == (0.4, True)


def test_a_wider_error_is_a_narrower_interval_within_all_differences(store: Store) -> None:
    experiment = put(store, problem=PROBLEM, control={"arm": "b", "share": 0.4})
    played(store, experiment, 9, 60)
    widths = []
    for error in (1e-9, 0.05, 0.5):
        found = report(store, "e", error=error)["control"]
        assert found["error"] == error
        low, high = found["interval"]
        assert -8 <= low <= found["difference"] <= high <= 8
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == 3


def test_a_share_that_cannot_be_by_chance_does_not_fit(store: Store) -> None:
    """Eight units, all in a control group of a tenth: p = 9 · 0.1⁸."""
    experiment = put(store, control={"arm": "b", "share": 0.1})
    names = [f"u{n}" for n in range(400) if experiment.control_arm(f"u{n}")][:8]
    served(store, experiment, [Ask(name) for name in names[:2]])
    with store.transaction(Wanted([experiment.stamp], [(experiment.id, names[2])])):
        """A unit whose first request fails has a row in the store, and no events."""
    ratio = report(store, "e")["control"]["sample_ratio"]
    assert ratio == {"share": 0.1, "p_value": pytest.approx(3 * 0.1**2), "fits": True}
    served(store, experiment, [Ask(name) for name in names[2:]])
    found = report(store, "e")
    ratio = found["control"]["sample_ratio"]
    assert ratio == {"share": 0.1, "p_value": pytest.approx(9 * 0.1**8), "fits": False}
    assert found["control"]["policy"] == {"units": 0, **sums([])}
    assert (found["over_time"], found["control"]["difference"]) == ([], None)
    # Nor is there a difference as long as only one group has had rewards.
    for _ in range(13):
        served(store, experiment, [Ask(name) for name in names])
    told: list[Request] = [Tell((name, n), 1.0) for name in names for n in range(13)]
    served(store, experiment, told)
    (point,) = report(store, "e")["over_time"]
    nothing = dict.fromkeys(("policy", "control", "difference", "interval"))
    assert point == {"rewards": 100, "time": point["time"], **nothing}


def test_rewards_without_bounds_have_means_and_no_interval(store: Store) -> None:
    gaussian = PROBLEM.replace("range = [-2, 6]\n", "").replace("beta", "gaussian")
    gaussian = gaussian.replace("concentration = 3.0", "deviation = 2.0")
    experiment = put(store, problem=gaussian, control={"arm": "b", "share": 0.4})
    played(store, experiment, 5, 25)
    (point,) = report(store, "e")["over_time"]
    assert point["difference"] == pytest.approx(point["policy"] - point["control"])
    assert point["interval"] is None


def test_states_of_another_revision_are_not_read(store: Store, tmp_path: Path) -> None:
    experiment = put(store)
    served(store, experiment, [Ask("u"), Ask("v")])
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as other:
        other.execute("UPDATE experiments SET revision = 7")
    found = report(store, "e")
    assert (found["units"], found["decisions"], found["looked_at"]) == (2, 2, 0)
