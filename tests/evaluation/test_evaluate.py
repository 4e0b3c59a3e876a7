"""What policies would have earned, beside what is known to be true."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

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


@pytest.fixture(scope="module")
def earned_by_play() -> Any:
    """What frugal earns in each of 15 plays, by 20,000 users of plain simulation."""
    how: Any = {"horizon": 15, "times": range(1, 16), "runs": 20_000, "leap": False}
    regret = fpb.simulate(PROBLEM, "frugal", truth="prior", **how).mean_regret("frugal")
    return 0.6 * 0.9 + 0.4 * 0.5 - np.diff(regret, prepend=0.0)


@pytest.mark.parametrize("skewed", [False, True])
def test_intervals_hold_the_truth(skewed: bool, earned_by_play: Any) -> None:
    """Of 40 logs the interval misses two on average, and more than seven once in 1,000.

    The truth is the mean of a user's first decisions: of 15 rows, Binomial(15, c) are accepted.
    """
    how: Any = {"propensity": "p"} if skewed else {"uniform": True}
    reached = binom.sf(np.arange(15), 15, 0.2 if skewed else 1 / 3)
    mean = reached @ earned_by_play / reached.sum()
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
    assert found.log.mean.value == pytest.approx(np.mean(log["paid"]))
    assert (found.units, found.events, found.usable) == (400, 6000, 6000)
    frugal, blind = (found.policies[name] for name in ("frugal", "thompson"))
    assert frugal.mean.low > blind.mean.high > found.log.mean.high
    more = found.difference("frugal", "the log")
    assert more.value == pytest.approx(frugal.mean.value - found.log.mean.value)
    assert more.low > 0
    assert 1850 < frugal.decisions < 2150
    content = found.as_dict()
    assert content["policies"]["thompson"]["interval"] == list(blind.mean.interval)
    assert repr(found).startswith("the log: reward per decision of 400 units, models of problem\n")
    alone = fpb.evaluate(pd.DataFrame(log), PROBLEM, "frugal", uniform=True, **ROLES)
    assert alone.policies["frugal"].mean == frugal.mean, "alone or beside others, bit for bit"


def test_the_best_single_arm_stands_beside_the_policies() -> None:
    """By the prior a pays 0.58, b 0.38 and c 0.26: a baseline is its rows, weighted by nothing."""
    log = drawn(0)
    found = fpb.evaluate(log, PROBLEM, ["frugal", "ucb1"], uniform=True, **ROLES)
    assert list(found.rows) == ["the log", "always a", "frugal", "ucb1"]
    paid = np.array(log["paid"])[np.array(log["arm"]) == "a"]
    assert found.baselines["always a"].mean.value == pytest.approx(paid.mean())
    assert found.baselines["always a"].decisions == len(paid)
    above = found.as_dict()["policies"]["frugal"]["above"]
    assert list(above) == ["the log", "always a", "ucb1"]
    less = found.difference("ucb1", "frugal")
    assert above["ucb1"]["interval"] == pytest.approx([-less.high, -less.low])
    with pytest.raises(InputError, match="unknown policy 'frugle': did you mean 'frugal'"):
        found.difference("frugle", "ucb1")


def test_paired_differences_are_those_of_units() -> None:
    """A bootstrap over units, in place of linearisation, has the same interval to 15 %."""
    log = drawn(7, 200)
    found = fpb.evaluate(log, PROBLEM, ["frugal", "thompson-theta"], uniform=True, **ROLES)
    one, two = (found.policies[name].ratio for name in ("frugal", "thompson-theta"))
    more = found.difference("frugal", "thompson-theta")
    random = np.random.default_rng(0)
    weights = random.multinomial(200, [1 / 200] * 200, 4000)
    # Of a ratio, to first order: its residuals, summed as units are drawn.
    spread = np.std(weights @ (one.residuals - two.residuals))
    assert more.high - more.low == pytest.approx(2 * 1.97 * spread, rel=0.15)
    assert more.high - more.low < 0.8 * sum(np.ptp(each.estimate().interval) for each in (one, two))


def test_units_that_the_models_know_are_warned_of() -> None:
    log = drawn(0)
    known = fpb.fit(log, types=2, **ROLES).problem
    (said,) = fpb.evaluate(log, known, uniform=True, **ROLES).warnings
    assert said.startswith("about 100% of these units are among those that the models were fitted")
    others = {**log, "user": [f"new {user}" for user in log["user"]]}
    assert fpb.evaluate(others, known, uniform=True, **ROLES).warnings == ()
    # A full sketch whose hashes are smaller than that of any unit tells nothing.
    full = replace(known, fitted_units=tuple(f"{number:012x}" for number in range(256)))
    (said,) = fpb.evaluate(log, full, uniform=True, **ROLES).warnings
    assert said.startswith("too few units to tell whether the models were fitted to some of them")


def test_rows_are_taken_by_time() -> None:
    log = drawn(0)
    order = np.random.default_rng(1).permutation(6000)
    mixed = {name: np.array(column)[order] for name, column in log.items()}
    when = np.datetime64("2026-11-18") + order.astype("m8[s]")
    in_order = fpb.evaluate(log, PROBLEM, uniform=True, **ROLES).policies["frugal"].mean
    for time in (order, order / 7, when, when.astype(str)):
        found = fpb.evaluate({**mixed, "at": time}, PROBLEM, uniform=True, time="at", **ROLES)
        assert found.policies["frugal"].mean.value == in_order.value
    found = fpb.evaluate(mixed, PROBLEM, uniform=True, **ROLES)
    assert found.policies["frugal"].mean != in_order


def test_an_arm_that_was_never_drawn_is_no_contradiction() -> None:
    """Thompson sampling on Θ never plays b, which is best under no model."""
    random = np.random.default_rng(3)
    user, rows = np.arange(300), 12
    kinds = (random.random(300) >= 0.6).astype(int)
    parts: dict[str, list[Any]] = {name: [] for name in ("user", "arm", "paid", "p")}
    agents = [fpb.Agent(PROBLEM, "thompson-theta:change_rate=0.3", seed=int(u)) for u in user]
    for _ in range(rows):
        for unit, agent in enumerate(agents):
            decision = agent.ask()
            paid = float(random.random() < PROBLEM.means[kinds[unit], "abc".index(decision.arm)])
            agent.tell(decision, paid)
            row = unit, decision.arm, paid, decision.probability
            for name, value in zip(parts, row, strict=True):
                parts[name].append(value)
    assert "b" not in parts["arm"]
    found = fpb.evaluate(parts, PROBLEM, ["frugal", "thompson-theta"], propensity="p", **ROLES)
    assert list(found.baselines) == ["always a"]
    assert found.warnings == ()
    # To play a alone earns 0.58; to know the types 0.74.
    always = found.baselines["always a"].mean
    assert always.low < 0.58 < always.high
    assert 0.58 < found.policies["frugal"].mean.high < 0.74
    blind = fpb.evaluate(parts, PROBLEM, "ucb1", propensity="p", **ROLES)
    assert "ucb1 asked for 'b', which the log never played, in " in blind.warnings[0]


def test_propensities_make_up_for_what_the_log_liked() -> None:
    found = fpb.evaluate(drawn(1, skewed=True), PROBLEM, propensity="p", **ROLES)
    assert found.usable == pytest.approx(6000 * 0.6, rel=0.1), "0.2 of each of three arms"
    assert found.policies["frugal"].decisions == pytest.approx(1200, rel=0.15)


def test_usable_rows_are_drawn_by_the_seed() -> None:
    log = drawn(1, units=60, skewed=True)
    cases: Any = ({}, 0), ({"seed": 4}, 4)
    for how, seed in cases:
        found = fpb.evaluate(log, PROBLEM, "ucb1", propensity="p", **how, **ROLES)
        coins = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, 0))).random(900)
        usable = coins * np.array(log["p"]) < found.least_propensity
        assert found.seed == found.as_dict()["seed"] == seed
        assert found.usable == usable.sum()
        of_a = usable & (np.array(log["arm"]) == "a")
        assert found.baselines["always a"].decisions == of_a.sum()
        assert found.baselines["always a"].mean.value == pytest.approx(
            np.array(log["paid"])[of_a].mean()
        )


def test_progress_is_told_by_policy_and_of_all() -> None:
    told: list[Any] = []
    policies = ["frugal", "ucb1"]
    fpb.evaluate(
        drawn(1, units=60),
        PROBLEM,
        policies,
        uniform=True,
        progress=lambda *said: told.append(said),
        **ROLES,
    )
    first = told[0][1]
    assert 0 < first < 1
    assert told == [
        (name, share, (place + share) / 2)
        for place, name in enumerate(policies)
        for share in (first, 1.0)
    ]


def test_a_log_less_its_cost_is_of_profit() -> None:
    """A warning where nothing tells whether the models are, too: normal rewards may be anything."""
    log = drawn(1, units=60)
    revenue = {**log, "paid": 9 * np.array(log["paid"])}
    two_point = fpb.Problem.bernoulli(PROBLEM.means, arms=PROBLEM.arms, value=[9] * 3, cost=4)
    normal = fpb.Problem.gaussian(5 * PROBLEM.means, 2.0, arms=PROBLEM.arms)
    how: Any = {"uniform": True, **ROLES}
    for problem, words in ((two_point, ()), (normal, ("rewards are less their cost: are the mo",))):
        found = fpb.evaluate(revenue, problem, "ucb1", cost=4, **how)
        assert found.log.mean.value == pytest.approx(5 * np.mean(log["paid"]))
        assert tuple(warning[:39] for warning in found.warnings) == words
    assert fpb.evaluate(revenue, normal, "ucb1", **how).warnings == ()


def test_rows_that_lack_something_are_counted() -> None:
    log = drawn(1, units=60)
    gaps = {**log, "paid": [None, None, *log["paid"][2:]]}
    found = fpb.evaluate(gaps, PROBLEM, "ucb1", uniform=True, missing="drop", **ROLES)
    assert found.warnings == ("2 rows left out: something is missing",)
    assert found.events == found.log.decisions == 898


def test_models_of_one_arm_are_refused() -> None:
    one = fpb.Problem.bernoulli([[0.5], [0.2]], arms=["a"], name="shop")
    with pytest.raises(InputError, match="shop has one arm, 'a': every policy would have done as"):
        fpb.evaluate(drawn(1, units=60), one, uniform=True, **ROLES)


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


def test_a_column_of_eligible_arms() -> None:
    """The interval holds what agents earn who decide among the same sets, by the same numbers.

    Five standard errors on either side: a false alarm once in 10^6.
    """
    problem = fpb.Problem.bernoulli([[0.9, 0.5, 0.2], [0.1, 0.3, 0.7]], arms=["a", "b", "c"])
    random, units, rows = np.random.default_rng(5), 300, 20
    sets = ["a|b|c", "a|b", "b|c", "a|c"]

    def paid(unit: int, arm: str) -> float:
        return float(random.random() < problem.means[unit % 2]["abc".index(arm)])

    log: dict[str, list[Any]] = {"unit": [], "arm": [], "paid": [], "among": []}
    for unit in range(units):
        for _ in range(rows):
            among = str(random.choice(sets))
            arm = str(random.choice(among.split("|")))
            values = unit, arm, paid(unit, arm), among
            for column, value in zip(log.values(), values, strict=True):
                column.append(value)
    columns: Any = {name: np.array(column) for name, column in log.items()}
    naming: Any = {"unit": "unit", "arm": "arm", "reward": "paid", "among": "among"}
    found = fpb.evaluate(columns, problem, ["frugal", "thompson"], uniform=True, **naming)
    assert list(found.baselines) == ["best eligible arm"]
    for policy in ("frugal", "thompson"):
        earned = []
        for unit in range(1000):
            agent = fpb.Agent(problem, policy, seed=unit)
            for _ in range(random.binomial(rows, 1 / 3)):
                decision = agent.ask(among=str(random.choice(sets)).split("|"))
                reward = paid(unit, decision.arm)
                agent.tell(decision, reward)
                earned.append(reward)
        estimate = found.policies[policy].ratio.estimate()
        error = (estimate.high - estimate.low) / 3.92
        assert abs(estimate.value - np.mean(earned)) < 5 * error
    with pytest.raises(fpb.InputError, match="ossb cannot decide among some of the arms"):
        fpb.evaluate(columns, problem, "ossb", uniform=True, **naming)


def test_rows_of_control_units_are_left_out_and_it_says_so() -> None:
    log = drawn(0)
    of_control = np.array(log["user"]) % 10 == 0
    for flags in (of_control, [str(each) for each in of_control]):
        found = fpb.evaluate({**log, "control": flags}, PROBLEM, uniform=True, **ROLES)
        assert (found.units, found.events) == (360, 5400)
        assert found.warnings == ("600 rows of control units left out: their arm was not drawn",)
    every = {**log, "control": np.ones(6000, bool)}
    with pytest.raises(InputError, match="all units are control units: expected a row per reward"):
        fpb.evaluate(every, PROBLEM, uniform=True, **ROLES)


@pytest.mark.parametrize("values", [[0, 1], ["yes", "no"], ["true", ""], [True, None]])
def test_another_column_named_control_is_not_looked_at(values: list[Any]) -> None:
    """An exported log has true or false in every row."""
    log = {**drawn(0), "control": np.resize(np.array(values, object), 6000)}
    found = fpb.evaluate(log, PROBLEM, uniform=True, **ROLES)
    assert (found.units, found.events, found.warnings) == (400, 6000, ())


def test_a_column_named_control_may_have_a_role() -> None:
    log = drawn(0, skewed=True)
    log["control"] = log.pop("p")
    assert fpb.evaluate(log, PROBLEM, propensity="control", **ROLES).events == 6000
    log["reward"] = log.pop("control")
    assert fpb.evaluate(log, PROBLEM, propensity="reward", **ROLES).events == 6000


def test_the_best_eligible_arm_is_that_of_the_context() -> None:
    """It earns .9, all else .1; about 2,000 rows play it, so .8 is 15 standard errors less."""
    means = np.array([[[0.9, 0.5, 0.1], [0.1, 0.5, 0.9]], [[0.8, 0.6, 0.2], [0.3, 0.5, 0.7]]])
    problem = fpb.Problem.bernoulli(means, contexts=["x", "y"], arms=["a", "b", "c"])
    random, order = np.random.default_rng(7), {"x": "abc", "y": "cba"}
    log: dict[str, list[Any]] = {"user": [], "arm": [], "paid": [], "on": [], "among": []}
    for row in range(4000):
        among, on = str(random.choice(["ab", "bc", "ac"])), str(random.choice(["x", "y"]))
        arm = str(random.choice(list(among)))
        chance = 0.9 if arm == min(among, key=order[on].index) else 0.1
        values = row % 200, arm, float(random.random() < chance), on, "|".join(among)
        for column, value in zip(log.values(), values, strict=True):
            column.append(value)
    columns: Any = {name: np.array(column) for name, column in log.items()}
    how: Any = {"context": "on", "among": "among", "uniform": True, **ROLES}
    found = fpb.evaluate(columns, problem, "ucb1", **how)
    assert found.baselines["best eligible arm"].mean.value > 0.8
