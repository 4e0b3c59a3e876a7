"""What policies would have earned, beside what is known to be true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import fpbandits as fpb
from fpbandits.errors import InputError

ROLES: Any = {"unit": "user", "arm": "arm", "reward": "paid"}
PROBLEM = fpb.Problem.bernoulli(
    [[0.9, 0.5, 0.1], [0.1, 0.2, 0.5]], arms=["a", "b", "c"], prior={"theta1": 3, "theta2": 2}
)
SKEWED = np.array([[0.5, 0.2, 0.3], [0.5, 0.3, 0.2]])


def drawn(seed: int, units: int = 400, rows: int = 15, skewed: bool = False) -> dict[str, Any]:
    """Draw a log; a skewed one likes a, and goes by the reward before. Units who like a are paid
    more: who took rows as they come would find them too often."""
    random = np.random.default_rng(seed)
    kinds = (random.random(units) >= 0.6).astype(int)
    before = np.zeros(units, int)
    parts: list[list[Any]] = [[], [], [], []]
    for _ in range(rows):
        chances = np.full((units, 3), 1 / 3)
        if skewed:
            chances = SKEWED[before]
        arm = (random.random((units, 1)) > chances.cumsum(axis=1)).sum(axis=1).clip(max=2)
        before = (random.random(units) < PROBLEM.means[kinds, arm]).astype(int)
        values = np.arange(units), np.array(PROBLEM.arms)[arm], before, chances[range(units), arm]
        for part, value in zip(parts, values, strict=True):
            part += value.tolist()
    return dict(zip(("user", "arm", "paid", "p"), parts, strict=True))


def truth(least: float, rows: int = 15) -> float:
    """What frugal earns per decision, by 20,000 users of plain simulation."""
    how: Any = {"horizon": rows, "times": range(1, rows + 1), "runs": 20_000, "leap": False}
    regret = fpb.simulate(PROBLEM, "frugal", truth="prior", **how).mean_regret("frugal")
    earned = 0.6 * 0.9 + 0.4 * 0.5 - np.diff(regret, prepend=0.0)
    counts = np.random.default_rng(0).binomial(rows, least, 10**6)
    reached = (counts[:, np.newaxis] > np.arange(rows)).mean(axis=0)
    return float(reached @ earned / reached.sum())


@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_hold_the_truth(skewed: bool) -> None:
    """Of 40 logs the interval misses two on average, and more than seven once in 1,000."""
    how: Any = {"propensity": "p"} if skewed else {"uniform": True}
    mean = truth(0.2 if skewed else 1 / 3)
    missed = 0
    for seed in range(40):
        found = fpb.evaluate(drawn(seed, 150, skewed=skewed), PROBLEM, **ROLES, **how)
        earned = found.policies["frugal"]
        missed += not earned.mean.low <= mean <= earned.mean.high
        assert found.least_propensity == pytest.approx(0.2 if skewed else 1 / 3)
    assert missed <= 7


def test_what_it_says() -> None:
    found = fpb.evaluate(drawn(0), PROBLEM, ["frugal", "thompson"], uniform=True, **ROLES)
    log = drawn(0)
    assert found.log.value == pytest.approx(np.mean(log["paid"]))
    assert (found.units, found.events, found.usable) == (400, 6000, 6000)
    frugal, blind = (found.policies[name] for name in ("frugal", "thompson"))
    assert frugal.mean.low > blind.mean.high > found.log.high
    assert frugal.difference.value == pytest.approx(frugal.mean.value - found.log.value)
    assert frugal.difference.low > 0
    assert 1850 < frugal.decisions < 2150
    content = found.as_dict()
    assert content["policies"]["thompson"]["interval"] == list(blind.mean.interval)
    assert repr(found).startswith("the log: reward per decision of 400 units, models of problem\n")
    assert fpb.evaluate(pd.DataFrame(log), PROBLEM, "frugal", uniform=True, **ROLES).policies == {
        "frugal": frugal
    }, "alone or beside others, bit for bit"


def test_propensities_make_up_for_what_the_log_liked() -> None:
    found = fpb.evaluate(drawn(1, skewed=True), PROBLEM, propensity="p", **ROLES)
    assert found.usable == pytest.approx(6000 * 0.6, rel=0.1), "0.2 of each of three arms"
    assert found.policies["frugal"].decisions == pytest.approx(1200, rel=0.15)


def test_contexts() -> None:
    random = np.random.default_rng(2)
    means = np.array([[[0.9, 0.1], [0.2, 0.7]], [[0.1, 0.8], [0.6, 0.1]]])
    problem = fpb.Problem.bernoulli(means, contexts=["x", "y"], arms=["a", "b"])
    user, on, arm = (random.integers(most, size=4000) for most in (200, 2, 2))
    log = {
        "user": user,
        "on": np.array(["x", "y"])[on],
        "arm": np.array(["a", "b"])[arm],
        "paid": random.random(4000) < means[user % 2, on, arm],
    }
    found = fpb.evaluate(log, problem, uniform=True, context="on", **ROLES)
    # Whoever knew the type would earn 0.75.
    assert 0.6 < found.policies["frugal"].mean.value < 0.75
    with pytest.raises(InputError, match="unknown context 'z': known are 'x', 'y'"):
        fpb.evaluate({**log, "on": ["z"] * 4000}, problem, uniform=True, context="on", **ROLES)
    with pytest.raises(InputError, match="has contexts: say which column"):
        fpb.evaluate(log, problem, uniform=True, **ROLES)


@pytest.mark.parametrize(
    ("change", "how", "words"),
    [
        ({}, {}, "how were the log's arms chosen"),
        ({}, {"uniform": True, "propensity": "p"}, "give one of them"),
        ({}, {"propensity": "q"}, "unknown column 'q'"),
        ({}, {"propensity": 3}, "must be a column's name, not 3"),
        ({"p": [1.0] * 6000}, {"propensity": "p"}, "the log always knew what to play"),
        ({"p": [0.0] + [0.3] * 5999}, {"propensity": "p"}, "row 0, .*: the propensity 0 is not"),
        ({"p": [0.9] * 6000}, {"propensity": "p"}, "the propensities do not fit the log"),
        ({"p": [1e-5] + [1 / 3] * 5999}, {"propensity": "p"}, "too few to tell"),
        ({"arm": ["d"] + ["a"] * 5999}, {"uniform": True}, "row 0, .*: unknown arm 'd'"),
        ({"arm": ["a"] * 6000}, {"uniform": True}, "the log: arms were not chosen uniformly"),
        ({"user": [1] * 6000}, {"uniform": True}, "of 1 unit were decided alike: too few"),
        ({"paid": [2] + [1] * 5999}, {"uniform": True}, "row 0, .*'[abc]': the reward 2.0 is out"),
        ({}, {"uniform": True, "context": "p"}, "has no contexts: leave out the column 'p'"),
        ({}, {"uniform": 1}, "uniform must be True or False"),
    ],
)
def test_what_a_log_cannot_answer(change: Any, how: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        fpb.evaluate({**drawn(3), **change}, PROBLEM, **ROLES, **how)


def test_few_rows_are_too_few() -> None:
    log = {name: column[:60] for name, column in drawn(4).items()}
    with pytest.raises(InputError, match=r"of 60 rows 60 could be used .* 0\.33.*too few to tell"):
        fpb.evaluate(log, PROBLEM, uniform=True, **ROLES)


def test_one_arm_leaves_nothing_to_decide() -> None:
    with pytest.raises(InputError, match="has one arm, 'a'"):
        fpb.evaluate(drawn(5), fpb.Problem.bernoulli([[0.5]], arms=["a"]), uniform=True, **ROLES)


def test_an_interval_without_width_is_not_trusted() -> None:
    found = fpb.evaluate({**drawn(6), "paid": [1] * 6000}, PROBLEM, uniform=True, **ROLES)
    assert "all rewards of frugal's decisions are the same" in found.warnings[0]
    assert "Note: all rewards of frugal's" in found.table()
