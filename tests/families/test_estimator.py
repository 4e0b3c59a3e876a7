"""Every family's estimator has the textbook's likelihood, and finds where it is largest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from logs import log_density, shape_of

from fpbandits.core.arrays import Floats
from fpbandits.errors import InputError
from fpbandits.families import ESTIMATORS, FAMILIES
from fpbandits.families.bernoulli import BernoulliEstimator
from fpbandits.families.estimator import Estimator, Rewards
from fpbandits.problem.problem import Problem

ARMS = ("a", "b")


def rewards(values: Any, pairs: Any = None, range: Any = None) -> Rewards:
    values = np.asarray(values, float)
    pairs = np.zeros(len(values), np.int32) if pairs is None else np.asarray(pairs, np.int32)
    return Rewards(values, pairs, ARMS, range, ARMS)


SAMPLES: dict[str, Floats] = {
    "bernoulli": np.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0]),
    "gaussian": np.array([3.0, 4.5, 2.25, 3.5, 5.0, -1.0]),
    "beta": np.array([0.2, 0.7, 0.55, 0.31, 0.9, 0.42]),
    "revenue": np.array([0.0, 30.0, 0.0, 12.5, 41.0, 0.0, 9.0, 22.0]),
    "discrete": np.array([0.0, 2.0, 2.0, 5.0, 0.0, 2.0, 5.0, 0.0]),
}


def sums_of(family: str) -> tuple[Estimator, Floats, Floats]:
    """An estimator, and the plays and sums of a sample split over two arms."""
    values = SAMPLES[family]
    pairs = np.arange(len(values), dtype=np.int32) % 2
    estimator = ESTIMATORS[family].of_log(rewards(values, pairs), {})
    statistics = estimator.statistics_of(values)
    plays = np.array([[float((pairs == pair).sum())] for pair in (0, 1)])
    sums = np.stack([statistics[pairs == pair].sum(axis=0)[np.newaxis] for pair in (0, 1)])
    return estimator, plays, sums


def cost(estimator: Estimator, plays: Floats, sums: Floats, where: Floats, common: Floats) -> float:
    base, slope = estimator.laws(where, common)
    return float((plays * base).sum() + (sums * slope).sum())


def test_every_family_can_be_fitted() -> None:
    assert set(ESTIMATORS) == set(FAMILIES) == set(SAMPLES)


@pytest.mark.parametrize("family", SAMPLES)
def test_laws_are_by_pair_and_type(family: str) -> None:
    estimator, plays, sums = sums_of(family)
    where, common = estimator.maximise(plays, sums, estimator.begin)
    three = np.repeat(where, 3, axis=1)
    base, slope = estimator.laws(three, common)
    assert (base.shape, slope.shape) == ((2, 3), (2, 3, sums.shape[2]))
    one_base, one_slope = estimator.laws(where, common)
    np.testing.assert_array_equal(base, np.repeat(one_base, 3, axis=1))
    np.testing.assert_array_equal(slope, np.repeat(one_slope, 3, axis=1))


@pytest.mark.parametrize("family", ["bernoulli", "gaussian", "beta"])
def test_the_likelihood_is_the_textbook_s(family: str) -> None:
    estimator, plays, sums = sums_of(family)
    common = estimator.begin + 0.3
    where = np.array([[[0.4]], [[-0.7]]])
    means = estimator.means(where, common)[:, 0]
    shape = shape_of(estimator, common)
    wanted = -sum(
        log_density(family, float(reward), float(means[place % 2]), shape)
        for place, reward in enumerate(SAMPLES[family])
    )
    assert cost(estimator, plays, sums, where, common) == pytest.approx(wanted, rel=1e-10)


def test_the_likelihood_of_discrete_rewards() -> None:
    estimator, plays, sums = sums_of("discrete")
    where = np.array([[[0.4, -1.0]], [[-0.7, 0.2]]])
    laws = estimator.rows(where, np.zeros(0))[:, 0]
    np.testing.assert_allclose(laws.sum(axis=1), 1)
    places = {0.0: 0, 2.0: 1, 5.0: 2}
    wanted = -sum(
        math.log(laws[place % 2, places[float(reward)]])
        for place, reward in enumerate(SAMPLES["discrete"])
    )
    assert cost(estimator, plays, sums, where, np.zeros(0)) == pytest.approx(wanted)
    means = estimator.means(where, np.zeros(0))[:, 0]
    np.testing.assert_allclose(means, laws @ np.array([0, 2, 5]))


@pytest.mark.parametrize("family", SAMPLES)
def test_no_step_away_from_the_maximum_is_likelier(family: str) -> None:
    estimator, plays, sums = sums_of(family)
    common = estimator.begin
    for _ in range(12):
        where, common = estimator.maximise(plays, sums, common)
    least = cost(estimator, plays, sums, where, common)
    for place in np.ndindex(where.shape):
        for step in (-1e-3, 1e-3):
            moved = where.copy()
            moved[place] += step
            assert cost(estimator, plays, sums, moved, common) > least
    for number in range(len(common)):
        for step in (-1e-3, 1e-3):
            moved = common.copy()
            moved[number] += step
            assert cost(estimator, plays, sums, where, moved) > least


@pytest.mark.parametrize("family", SAMPLES)
def test_what_is_found_makes_a_problem(family: str) -> None:
    estimator, plays, sums = sums_of(family)
    where, common = estimator.maximise(plays, sums, estimator.begin)
    fields = estimator.fields(common)
    naming = {"range": fields.pop("range")} if "range" in fields else {}
    rows = np.swapaxes(estimator.rows(where, common), 0, 1)
    problem = Problem.of_family(family, rows, fields, **naming)
    np.testing.assert_allclose(problem.means, estimator.means(where, common).T)


GIVEN: dict[str, dict[str, Any]] = {
    "bernoulli": {"value": [1, 1]},
    "gaussian": {"deviation": 2.0},
    "beta": {"concentration": 3},
    "revenue": {"shape": 2.0},
    "discrete": {"support": [0, 2, 5]},
}


@pytest.mark.parametrize("family", SAMPLES)
def test_what_an_estimator_says_of_itself_is_true(family: str) -> None:
    estimator, _, sums = sums_of(family)
    assert estimator.statistics == sums.shape[2]
    statistics = estimator.statistics_of(SAMPLES[family])
    assert estimator.integer == bool((statistics == np.rint(statistics)).all())
    common = 0 if family in ("bernoulli", "discrete") else 1
    assert estimator.begin.shape == (common,)
    known = ESTIMATORS[family].of_log(rewards(SAMPLES[family]), GIVEN[family])
    assert known.begin.shape == (0,)
    assert set(GIVEN[family]) == set(estimator.given)
    assert estimator.maximise(*sums_of(family)[1:], estimator.begin)[1].shape == (common,)


def test_a_given_deviation_is_that_of_the_likelihood() -> None:
    values = SAMPLES["gaussian"]
    estimator = ESTIMATORS["gaussian"].of_log(rewards(values), {"deviation": 2.5})
    where = np.array([[[0.4]]])
    mean = float(estimator.means(where, np.zeros(0))[0, 0])
    assert mean == pytest.approx(values.mean() + 0.4 * values.std())
    sums = estimator.statistics_of(values).sum(axis=0)[np.newaxis, np.newaxis]
    wanted = -sum(log_density("gaussian", float(reward), mean, 2.5) for reward in values)
    found = cost(estimator, np.array([[6.0]]), sums, where, np.zeros(0))
    assert found == pytest.approx(wanted)
    fitted = ESTIMATORS["gaussian"].of_log(rewards(values), {})
    sigma = fitted.fields(np.array([0.5]))["deviation"]
    assert sigma == pytest.approx(math.exp(0.5) * values.std(), rel=1e-5)


REVENUE, DISCRETE, OTHERS = (
    "--family revenue (0 or an amount that varies)",
    "--family discrete (one of a few values)",
    "--family beta (a range) or gaussian (no limits)",
)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0, 1, *np.arange(2, 50)], OTHERS),  # one of 50 is 0, and that is not more than 2 %
        ([0, 0, *np.arange(2, 50)], REVENUE),
        ([0, 0, *np.arange(-48, 0)], OTHERS),
        (np.arange(-20, 0), DISCRETE),
        (np.arange(-20, 1), OTHERS),
        ([0, 0, 0.5], f"{REVENUE} or {DISCRETE}"),
    ],
)
def test_other_families_are_suggested(values: Any, words: str) -> None:
    assert rewards(values).suggest_families() == words


@pytest.mark.parametrize(
    ("values", "given", "range", "words"),
    [
        (
            [0, 1] * 100 + [0.5],
            {},
            None,
            "the reward 0.5 is neither 0 nor 1, as are 1 of 201 rewards: correct it, or use "
            f"{REVENUE} or {DISCRETE}",
        ),
        (
            [0.5] + [0, 1] * 49 + [0],
            {},
            None,
            "the reward 0.5 is neither 0 nor 1, as are 1 of 100 rewards: use "
            f"{REVENUE} or {DISCRETE}",
        ),
        (
            [2, 5, 3],
            {},
            (2.0, 5.0),
            "the reward 3 is neither end of the range [2, 5], as are 1 of 3 rewards: use "
            f"{DISCRETE}",
        ),
        (
            [0, 9, 4, 9],
            {"value": [9, 12]},
            None,
            "the reward 4 is neither 0 nor what its arm pays otherwise, as are 1 of 4 rewards: use "
            f"{REVENUE} or {DISCRETE}",
        ),
        (
            [0, 1],
            {"value": [9, 12]},
            None,
            "the reward 1 is a sale, not what was paid: with value, give what was paid, or 0",
        ),
        ([0, 1], {"value": [9]}, (0.0, 9.0), "value says what each arm can pay: leave out the"),
        ([0, 1], {"value": [9]}, None, "value has 1 number for 2 arms"),
        ([0, 6], {}, (0.0, 5.0), "the reward 6 is outside the range [0, 5]"),
    ],
)
def test_what_bernoulli_rewards_cannot_be(values: Any, given: Any, range: Any, words: str) -> None:
    with pytest.raises(InputError) as caught:
        BernoulliEstimator.of_log(rewards(values, range=range), given)
    assert caught.value.reason.startswith(words)
    assert len(caught.value.reason) == len(words) or words.endswith("the")


def test_bernoulli_rewards_in_a_range() -> None:
    estimator = BernoulliEstimator.of_log(rewards([2, 5, 5, 2, 5], range=(2.0, 5.0)), {})
    assert estimator.statistics_of(np.array([2.0, 5.0])).tolist() == [[0], [1]]
    where = np.full((2, 1, 1), math.log(3))
    assert estimator.means(where, np.zeros(0)).ravel().tolist() == pytest.approx([4.25, 4.25])
    np.testing.assert_array_equal(
        estimator.rows(where, np.zeros(0)), estimator.means(where, np.zeros(0))
    )
    assert estimator.fields(np.zeros(0)) == {"range": [2, 5]}
    twos = BernoulliEstimator.of_log(rewards([0, 2, 2], [0, 0, 1]), {})
    assert twos.fields(np.zeros(0)) == {"range": [0, 2]}
    assert BernoulliEstimator(0.0, np.ones(1)).fields(np.zeros(0)) == {"range": [0, 1]}
    paid = BernoulliEstimator.of_log(rewards([0, 9, 12], [0, 0, 1]), {})
    assert paid.rows(where, np.zeros(0)).ravel().tolist() == pytest.approx([0.75, 0.75])


def test_of_arms_that_never_paid_four_are_named() -> None:
    arms = tuple("abcdefg")
    log = Rewards(np.array([5.0, 6, 0]), np.arange(3, dtype=np.int32), arms, None, arms)
    with pytest.raises(InputError, match=r"^'c', 'd', 'e', 'f', … never paid"):
        BernoulliEstimator.of_log(log, {})


def test_hints_at_rewards_outside_a_range() -> None:
    log = rewards([0.0, 1.0, 1.5, -0.5])
    log.refuse_outside((-0.5, 1.5))
    for limits in ((0.0, 2.0), (-1.0, 1.0)):
        with pytest.raises(InputError, match=r"\]; for other units give a range, as 0,15$"):
            log.refuse_outside(limits)
    with pytest.raises(InputError, match=r"is outside the range \[0, 2\]$"):
        rewards([3.0], range=(0.0, 2.0)).refuse_outside((0.0, 2.0))


def test_rewards_are_at_most_1e15() -> None:
    rewards([1e15, -1e15]).refuse_huge()
    for huge in (1.001e15, -1.001e15):
        with pytest.raises(InputError, match=r"is beyond 1e15: scale the rewards"):
            rewards([huge]).refuse_huge()


def test_rewards_that_are_no_normal_ones() -> None:
    of_log = ESTIMATORS["gaussian"].of_log
    for fine in ([0, 1, 2, 3, 4], [0, 0, 0, -1], [1e-20, 2e-20], [1e9, 1e9 + 1]):
        of_log(rewards(fine), {})
    with pytest.raises(InputError, match=r"^40% of rewards are 0, and none is below: they are"):
        of_log(rewards([0, 0, 5, 2, 3]), {})
    with pytest.raises(InputError, match="all rewards are the same"):
        of_log(rewards([1e9, 1e9 + 1e-5]), {})


def test_discrete_rewards_with_and_without_a_range() -> None:
    of_log = ESTIMATORS["discrete"].of_log
    assert len(of_log(rewards(np.arange(100.0)), {}).fields(np.zeros(0))["support"]) == 100
    two = of_log(rewards([3, -1, 3]), {})
    assert two.fields(np.zeros(0)) == {"support": [-1, 3], "range": [-1, 3]}
    ranged = of_log(rewards([3, -1, 3], range=(-2.0, 5.0)), {"support": [3, 0, -1]})
    assert ranged.fields(np.zeros(0)) == {"support": [-1, 0, 3], "range": [-2, 5]}
    with pytest.raises(InputError, match=r"outside the range \[0, 5\]"):
        of_log(rewards([3, -1, 3], range=(0.0, 5.0)), {})
    rows = two.rows(np.array([[[1000.0]], [[-1000.0]]]), np.zeros(0))
    assert rows.tolist() == [[[0, 1]], [[1, 0]]]


def test_a_value_of_each_arm_is_what_it_paid_most_often() -> None:
    values, pairs = [0, 9, 9, 0, 12, 0, 12], [0, 0, 0, 1, 1, 1, 1]
    estimator = BernoulliEstimator.of_log(rewards(values, pairs), {})
    assert estimator.fields(np.zeros(0)) == {"value": [9.0, 12.0]}
    with pytest.raises(InputError, match="the reward 8 is neither 0 nor") as caught:
        BernoulliEstimator.of_log(rewards([*values, 8], [*pairs, 0]), {})
    assert caught.value.place == (("index", 7),)


def test_an_arm_that_never_paid_has_the_value_of_most() -> None:
    estimator = BernoulliEstimator.of_log(rewards([0, 5, 0], [0, 0, 1]), {})
    assert estimator.fields(np.zeros(0)) == {"range": [0.0, 5.0]}


def priced(value: list[float] | None = None) -> BernoulliEstimator:
    """Prices of 9, 12 and 15 in two contexts: 12 never sold in the second, 15 in none."""
    values = np.array([9.0, 0, 12, 0, 0, 9, 0, 0])
    pairs = np.array([0, 0, 1, 1, 2, 3, 4, 5], np.int32)
    names = [f"{context}: {arm}" for context in "xy" for arm in (9, 12, 15)]
    log = Rewards(values, pairs, names, None, ("9", "12", "15"))
    return BernoulliEstimator.of_log(log, {} if value is None else {"value": value})


def test_the_value_of_an_arm_that_never_paid_is_not_invented() -> None:
    with pytest.raises(InputError, match=r"^'15' never paid in this log, so its value is unknown"):
        priced()
    given: list[float] = [9, 12, 15]
    assert priced(given).fields(np.zeros(0)) == {"value": [*given, *given]}
    with pytest.raises(InputError, match="value has 2 numbers for 3 arms"):
        priced([9, 12])
    with pytest.raises(InputError, match="value must be a list"):
        priced(9)  # type: ignore[arg-type]


def test_contexts_tell_each_other_what_an_arm_pays() -> None:
    names = ("x: 9", "x: 12", "y: 9", "y: 12")
    log = Rewards(np.array([9.0, 12, 9, 0]), np.arange(4, dtype=np.int32), names, None, ("9", "12"))
    estimator = BernoulliEstimator.of_log(log, {})
    assert estimator.fields(np.zeros(0)) == {"value": [9, 12, 9, 12]}
    problem = Problem.bernoulli(
        [[[0.5, 0.4], [0.3, 0.2]]], contexts=["x", "y"], value=[9, 12, 9, 12]
    )
    assert str(problem.rewards) == "bernoulli rewards of 0 or 9, 12"


@pytest.mark.parametrize(
    ("family", "values", "given", "words", "where"),
    [
        ("bernoulli", [0, 1, 0.5], {}, "the reward 0.5 is neither 0 nor 1", 2),
        ("beta", [0.5, 1.5], {}, r"1.5 is outside the range \[0, 1\]", 1),
        (
            "beta",
            [0.5, 0.0],
            {},
            "the reward 0 is an end of the range, and so are 50% of all",
            ("index", 1),
        ),
        ("beta", [0.5, 0.4], {"concentration": -1}, "above 0", "concentration"),
        ("gaussian", [0.5, 1e16], {}, "beyond 1e15", 1),
        ("gaussian", [2.0, 2.0], {}, "all rewards are the same", None),
        ("gaussian", [2.0, 3.0], {"deviation": 0}, "above 0", "deviation"),
        ("discrete", [1.0, 1.0], {}, "all rewards are the same", None),
        (
            "discrete",
            [1.0, 3.0],
            {"support": [1, 2]},
            "the reward 3 is not in the support",
            ("index", 1),
        ),
        ("discrete", np.arange(101.0), {}, "101 different rewards", None),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(
    family: str, values: Any, given: dict[str, Any], words: str, where: Any
) -> None:
    with pytest.raises(InputError, match=words) as caught:
        ESTIMATORS[family].of_log(rewards(values), given)
    place = ("index", where) if isinstance(where, int) else where
    assert caught.value.place == (() if place is None else (place,))


@pytest.mark.parametrize(
    ("family", "given", "key"),
    [
        ("gaussian", {"deviation": 2.0}, "deviation"),
        ("beta", {"concentration": 3}, "concentration"),
    ],
)
def test_what_is_given_stays(family: str, given: dict[str, Any], key: str) -> None:
    estimator = ESTIMATORS[family].of_log(rewards(SAMPLES[family]), given)
    assert len(estimator.begin) == 0
    assert estimator.fields(estimator.begin)[key] == given[key]


def test_a_beta_reward_at_an_end_is_half_as_far_as_the_nearest() -> None:
    values = np.array([*np.linspace(0.1, 0.9, 40), 0.98, 1.0])
    estimator = ESTIMATORS["beta"].of_log(rewards(values), {})
    statistics = estimator.statistics_of(values)
    np.testing.assert_allclose(np.exp(statistics[-1]), [1, 0.01], rtol=1e-9)


def test_a_range_is_for_those_that_have_one() -> None:
    with pytest.raises(InputError, match="have no range"):
        ESTIMATORS["gaussian"].of_log(rewards([1, 2], range=(0, 5)), {})
    with pytest.raises(InputError, match=r"outside the range \[0, 5\]"):
        ESTIMATORS["bernoulli"].of_log(rewards([0, 7], range=(0.0, 5.0)), {})
    with pytest.raises(InputError, match="neither end of the range"):
        ESTIMATORS["bernoulli"].of_log(rewards([0, 3], range=(0.0, 5.0)), {})


def test_pooled_laws_lean_on_all_arms_where_one_was_never_played() -> None:
    estimator = ESTIMATORS["bernoulli"].of_log(rewards([0, 1]), {})
    pooled = estimator.pooled(np.array([8.0, 0.0]), np.array([[2.0], [0.0]]), None)
    np.testing.assert_allclose(pooled, [[0.25], [0.25]])


def test_pooled_laws_are_nearer_to_the_mean_where_there_is_little() -> None:
    """Half a reward of the mean, 5 of 20, is added to each."""
    estimator = ESTIMATORS["bernoulli"].of_log(rewards([0, 1]), {})
    pooled = estimator.pooled(np.array([16.0, 4.0]), np.array([[2.0], [3.0]]), None)
    np.testing.assert_allclose(pooled[:, 0], [(2 + 0.125) / 16.5, (3 + 0.125) / 4.5])


def test_the_spread_of_pooled_gaussian_laws_is_that_within_cells() -> None:
    estimator, plays, sums = sums_of("gaussian")
    # Without cells it is that of the log, which is 1 on the scale of the estimator.
    pooled = estimator.pooled(plays[:, 0], sums[:, 0], None)
    np.testing.assert_allclose(pooled[:, 1] - pooled[:, 0] ** 2, 1)
    pooled = estimator.pooled(plays[:, 0], sums[:, 0], np.array([0.0, 24.0]))
    np.testing.assert_allclose(pooled[:, 1] - pooled[:, 0] ** 2, 1e-9, rtol=1e-6)
    pooled = estimator.pooled(plays[:, 0], sums[:, 0], np.array([6.0, 24.0]))
    np.testing.assert_allclose(pooled[:, 1] - pooled[:, 0] ** 2, 0.25)
