"""Revenue, nothing or a gamma amount, against SciPy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from scipy.special import digamma

import fpbandits as fpb
from fpbandits.errors import InputError
from fpbandits.families import ESTIMATORS
from fpbandits.families.estimator import Rewards
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.families.revenue import RevenueEstimator

CHANCES = np.array([[0.3, 0.8, 0.5], [0.1, 0.8, 0.5]])
AMOUNTS = np.array([[40.0, 10.0, 20.0], [60.0, 12.0, 20.0]])
SHAPE = 2.5
PROBLEM = fpb.Problem.revenue(CHANCES, AMOUNTS, SHAPE)
REWARDS: Any = PROBLEM.rewards


def amount(model: int, arm: int) -> Any:
    return stats.gamma(SHAPE, scale=AMOUNTS[model, arm] / SHAPE)


def log_density(model: int, arm: int, reward: float) -> float:
    chance = CHANCES[model, arm]
    if reward == 0:
        return math.log(1 - chance)
    return math.log(chance) + float(amount(model, arm).logpdf(reward))


def test_means_and_units() -> None:
    np.testing.assert_allclose(PROBLEM.means, CHANCES * AMOUNTS)
    second = CHANCES * AMOUNTS**2 * (1 + 1 / SHAPE)
    assert REWARDS.width == pytest.approx(2 * np.sqrt(second - PROBLEM.means**2).max())
    part = REWARDS.reordered(np.array([1]), np.arange(3))
    assert part.width == REWARDS.width, "a model alone is measured as all are"


def test_draws_have_their_distribution() -> None:
    """Seed 1; a binomial, a Kolmogorov–Smirnov and a z-test at levels of 1e-6."""
    random = np.random.default_rng(1)
    law = REWARDS.law(0)
    statistics = np.zeros(3)
    draws = [REWARDS.draw_sum(law, 0, 1, random, statistics) for _ in range(20_000)]
    sample = np.array(draws) * REWARDS.width
    paid = sample[sample > 0]
    assert stats.binomtest(len(paid), 20_000, 0.3).pvalue > 1e-6
    assert stats.kstest(paid, amount(0, 0).cdf).pvalue > 1e-6
    assert statistics.tolist() == [len(paid), 20_000 - len(paid), pytest.approx(sum(draws))]
    sums = [REWARDS.draw_sum(law, 0, 50, random, np.zeros(3)) for _ in range(4000)]
    second = 0.3 * 40**2 * (1 + 1 / SHAPE)
    error = math.sqrt(50 * (second - 12**2) / 4000)
    assert abs(np.mean(sums) * REWARDS.width - 50 * 12) < 5 * error
    assert np.std(sums) * REWARDS.width == pytest.approx(math.sqrt(50 * (second - 144)), rel=0.06)


@pytest.mark.parametrize("arm", [0, 1, 2])
def test_costs_are_differences_of_log_likelihoods(arm: int) -> None:
    base, cost = REWARDS.costs()
    given = [0.0, 12.0, 0.0, 33.3, 0.01, 150.0]
    told = np.sum([REWARDS.statistics_of(arm, each / REWARDS.width) for each in given], axis=0)
    costs = len(given) * base[:, arm] + cost[:, arm] @ told
    by_scipy = [-sum(log_density(model, arm, each) for each in given) for model in (0, 1)]
    assert costs[1] - costs[0] == pytest.approx(by_scipy[1] - by_scipy[0], abs=1e-9)
    np.testing.assert_allclose(
        REWARDS.expected(0)[arm],
        [CHANCES[0, arm], 1 - CHANCES[0, arm], PROBLEM.means[0, arm] / REWARDS.width],
    )


def test_divergence_is_the_integral() -> None:
    found = REWARDS.divergence(0, np.array([0, 1]))
    assert found[0].tolist() == [0, 0, 0]
    for arm in range(3):
        chance = CHANCES[0, arm]

        def integrand(x: float, arm: int = arm, chance: float = chance) -> float:
            ratio = log_density(0, arm, x) - log_density(1, arm, x)
            return float(chance * amount(0, arm).pdf(x) * ratio)

        nothing = (1 - chance) * (log_density(0, arm, 0) - log_density(1, arm, 0))
        by_hand = nothing + integrate.quad(integrand, 0, 2000, limit=200)[0]
        assert found[1, arm] == pytest.approx(by_hand, rel=1e-6, abs=1e-12)
    assert [REWARDS.same_law(0, arm).tolist() for arm in range(3)] == [
        [True, False],
        [True, False],
        [True, True],
    ]


def test_what_a_model_rules_out() -> None:
    never = fpb.Problem.revenue([[0.0, 0.5], [0.5, 1.0]], [[5, 5], [5, 5]], 2).rewards
    assert never.divergence(1, np.array([0]))[0, 0] == math.inf
    costs: Any = never.costs()
    assert costs[1][0, 0, 0] >= IMPOSSIBLE
    assert costs[1][1, 1, 1] >= IMPOSSIBLE
    assert np.isfinite(never.divergence(0, np.array([0, 1]))).tolist()[0] == [True, True]


def test_a_file_is_read_and_written(tmp_path: Path) -> None:
    fpb.save_problem(PROBLEM, tmp_path / "shop.toml")
    again = fpb.load_problem(tmp_path / "shop.toml")
    assert again == PROBLEM
    assert repr(again).endswith("revenue rewards of 0 or an amount of shape 2.5)")
    text = 'reward = "revenue"\nshape = {}\narms = ["a", "b"]\n[models]\nx = {}\n'
    for shape, row, words in (
        (2, "[[0.5, 10], [1.5, 10]]", "model 'x', arm 'b': 1.5 is not a probability: a cell is"),
        (2, "[[0.5, 10], [0.5, 0]]", "arm 'b': the mean amount 0 must be above 0"),
        (2, "[[0.5, 1e101], [0.5, 1]]", "arm 'a': the mean amount 1e.101 must be above 0 and at"),
        (2, "[[-0.5, 1], [0.5, 1]]", "arm 'a': -0.5 is not a probability"),
        (2e6, "[[0.5, 10], [0.5, 10]]", "shape is 2000000.0: it must be between 0.001 and 1e.06"),
        (1e-4, "[[0.5, 10], [0.5, 10]]", "shape is 0.0001: it must be between 0.001 and 1e.06"),
        (2, "[[0.5, 10], [0.5]]", "arm 'b': 1 numbers for a chance and a mean amount"),
        (2, "[0.5, 0.5]", "arm 'a': expected a list of 2 numbers, not 0.5"),
        (2, "[[0, 1], [0, 1]]", "no arm ever pays under any model"),
        (0, "[[0.5, 10], [0.5, 10]]", "shape is 0: it must be between"),
    ):
        (tmp_path / "wrong.toml").write_text(text.format(shape, row))
        with pytest.raises(InputError, match=words):
            fpb.load_problem(tmp_path / "wrong.toml")
    with pytest.raises(InputError, match="revenue rewards have no range"):
        fpb.Problem.revenue(CHANCES, AMOUNTS, 2, range=(0, 5))
    with pytest.raises(InputError, match="expected numbers in chances"):
        fpb.Problem.revenue([["x"]], [[1]], 2)


def test_small_amounts_are_as_good_as_large_ones() -> None:
    """All in thousandths: the same distributions on their own scale."""
    small: Any = fpb.Problem.revenue(CHANCES, AMOUNTS / 1000, SHAPE).rewards
    np.testing.assert_allclose(small.law(1), REWARDS.law(1))
    np.testing.assert_allclose(small.means * 1000, REWARDS.means)
    for one, other in zip(small.costs(), REWARDS.costs(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert fpb.Problem.revenue([[1e-3, 1]], [[1e100, 1]], 1e6).rewards.width > 0
    assert fpb.Problem.revenue([[0.5]], [[1]], 1e-3).rewards.width > 0


def test_amounts_of_an_arm_that_never_pays_mean_nothing() -> None:
    never: Any = fpb.Problem.revenue([[0, 0.5], [0, 0.5], [0.1, 0.5]], [[5, 5], [7, 5], [7, 5]], 2)
    assert never.rewards.same_law(0, 0).tolist() == [True, True, False]
    assert never.rewards.same_law(2, 0).tolist() == [False, False, True]
    assert never.rewards.divergence(0, np.array([1]))[0, 0] == 0
    base, cost = never.rewards.costs()
    assert base.tolist() == [[0, 0]] * 3
    # Both count with the amount of the third model.
    assert (cost[:, 0, 2] == 2 * never.rewards.unit / 7).all()
    nowhere: Any = fpb.Problem.revenue([[0, 0.5], [0, 0.5]], [[5, 5], [7, 5]], 2).rewards
    assert (nowhere.costs()[1][0] == nowhere.costs()[1][1]).all()
    assert np.isfinite(nowhere.costs()[1]).all()


def test_contexts() -> None:
    problem = fpb.Problem.revenue(
        [CHANCES, CHANCES[::-1]], [AMOUNTS, AMOUNTS[::-1]], 2, contexts=["x", "y"]
    )
    np.testing.assert_allclose(problem.means[1], (CHANCES * AMOUNTS)[::-1])


def test_policies_play_it_and_theory_knows_it() -> None:
    case = fpb.analyze(PROBLEM).cases[0]
    assert case.best_arm == "arm1"
    policies = ["frugal", "thompson-theta", "thompson", "ucb1"]
    result = fpb.simulate(PROBLEM, policies, truth="theta1", horizon=2000, runs=20, seed=1)
    # Means of 12, 8 and 10: uniform play loses 2 per decision, 4,000 in all.
    for name, most in zip(policies, (200, 200, 3000, 3500), strict=True):
        assert result.mean_regret(name)[-1] < most
        # Play by play, but for UCB1's first cycle of three.
        assert (result.plans[name] >= 1998).all()
    with pytest.raises(InputError, match="means alone do not make revenue"):
        fpb.simulate(PROBLEM, "frugal", truth=[1, 2, 3])


def test_an_agent_follows_bayes_rule() -> None:
    agent = fpb.Agent(PROBLEM, "frugal")
    for reward in (0, 55.0, 0, 0, 80.0):
        agent.observe("arm1", reward)
    state = fpb.Agent.from_state(agent.state(), PROBLEM)
    assert state.plays == {"arm1": 5, "arm2": 0, "arm3": 0}
    with pytest.raises(InputError, match="outside the range"):
        agent.observe("arm1", -1.0)


def estimator_of(values: Any, **given: Any) -> Any:
    values = np.asarray(values, float)
    rewards = Rewards(values, np.zeros(len(values), np.int32), ("a", "b"), None, ("a", "b"))
    return ESTIMATORS["revenue"].of_log(rewards, given)


def test_the_likeliest_rates_are_those_of_scipy() -> None:
    """Two arms with one shape: five numbers, by the simplex method on SciPy's densities."""
    random = np.random.default_rng(2)
    arms = [
        np.where(random.random(400) < chance, random.gamma(3, mean / 3, 400), 0)
        for chance, mean in ((0.3, 40.0), (0.6, 15.0))
    ]
    estimator = estimator_of(np.concatenate(arms))
    plays = np.array([[400.0], [400.0]])
    sums = np.stack([estimator.statistics_of(arm).sum(axis=0)[np.newaxis] for arm in arms])
    found, common = estimator.maximise(plays, sums, estimator.begin)

    def by_scipy(odds: Any, logs: Any, log_shape: float) -> float:
        total = 0.0
        for arm, odd, log in zip(arms, odds, logs, strict=True):
            p, k, m = 1 / (1 + math.exp(-odd)), math.exp(log_shape), math.exp(log)
            paid = arm[arm > 0]
            total -= len(paid) * math.log(p) + (400 - len(paid)) * math.log1p(-p)
            total -= stats.gamma(k, scale=m / k).logpdf(paid).sum()
        return float(total)

    options = {"maxiter": 10_000, "xatol": 1e-8, "fatol": 1e-9}
    minimize: Any = optimize.minimize
    best = minimize(
        lambda x: by_scipy(x[:2], x[2:4], x[4]),
        np.array([0, 0, 3.0, 3.0, 0]),
        method="Nelder-Mead",
        options=options,
    )
    base, cost = estimator.laws(found, common)
    assert (plays * base).sum() + (sums * cost).sum() == pytest.approx(best.fun, abs=1e-6)
    rows = estimator.rows(found, common)[:, 0]
    np.testing.assert_allclose(rows[:, 1], np.exp(best.x[2:4]), rtol=1e-4)
    assert estimator.fields(common)["shape"] == pytest.approx(math.exp(best.x[4]), rel=1e-4)
    known = estimator_of(arms[0], shape=2)
    assert known.fields(known.begin) == {"shape": 2}


@pytest.mark.parametrize("shape", [2e-3, 0.05, 0.4, 1.0, 3.0, 50.0, 1e5])
def test_expected_statistics_bring_the_distribution_back(shape: float) -> None:
    """The likelihood of expected sums is largest at the distribution that they come from."""
    chances, amounts = np.array([[0.2], [0.9]]), np.array([[40.0], [8.0]])
    plays, scale = np.array([[3.0], [5.0]]), 10.0
    log = digamma(shape) - math.log(shape) + np.log(amounts / scale)  # E[ln x] of a gamma law
    sums = (plays * chances)[..., np.newaxis] * np.stack(
        [np.ones_like(log), amounts / scale, log], axis=-1
    )
    for given in (None, 7.0):
        estimator = RevenueEstimator(scale, given)
        where, common = estimator.maximise(plays, sums, estimator.begin)
        rows = estimator.rows(where, common)
        np.testing.assert_allclose(rows, np.stack([chances, amounts], axis=-1), rtol=1e-12)
        np.testing.assert_allclose(estimator.means(where, common), chances * amounts, rtol=1e-12)
        if given is None:
            assert math.exp(common[0]) == pytest.approx(shape, rel=1e-12 + 1e-11 * shape)
            fitted = estimator.fields(common)["shape"]
            assert fitted == pytest.approx(shape, rel=1e-5)
        else:
            assert len(common) == 0
            assert estimator.fields(common) == {"shape": 7}


def test_shapes_and_amounts_have_limits() -> None:
    estimator = RevenueEstimator(10.0, None)
    for log, limit in ((-1000.0, 1e-3), (1000.0, 1e6)):
        assert estimator.fields(np.array([log])) == {"shape": limit}
    for logs, limit in ((0.0, 1e6), (-5000.0, 1e-3)):  # of two amounts whose mean is 1
        sums = np.array([[[2.0, 2.0, logs], [0, 0, 0]]])
        where, common = estimator.maximise(np.array([[2.0, 3.0]]), sums, estimator.begin)
        assert math.exp(common[0]) == pytest.approx(limit)
        assert estimator.means(where, common)[0, 1] < 1e-20, "it never paid"
        assert np.isfinite(estimator.laws(where, common)[1]).all()


def test_a_shape_that_is_given_is_that_of_the_likelihood() -> None:
    estimator, amount_law = RevenueEstimator(10.0, 2.0), stats.gamma(2, scale=15)
    where, none = np.array([[[math.log(3), math.log(3.0)]]]), np.zeros(0)
    base, cost = estimator.laws(where, none)
    for reward in (0.0, 0.5, 8.0, 90.0):
        statistics = estimator.statistics_of(np.array([reward]))[0]
        chance = 0.25 if reward == 0 else 0.75 * float(amount_law.pdf(reward))
        found = base[0, 0] + cost[0, 0] @ statistics
        assert found == pytest.approx(-math.log(chance))


@pytest.mark.parametrize(
    ("values", "given", "words"),
    [
        ([0.0, -1.0], {}, "the reward -1 is below 0: revenue is 0 or an amount"),
        ([0.0, 1e16], {}, "is beyond 1e15"),
        ([0.0, 0.0], {}, "all rewards are 0"),
        ([0.0, 1.0], {"shape": -1}, "shape is -1"),
    ],
)
def test_what_is_no_revenue(values: Any, given: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        estimator_of(values, **given)


@pytest.mark.parametrize("family", ["bernoulli", "beta", "gaussian"])
def test_other_families_say_that_it_is_revenue(family: str) -> None:
    random = np.random.default_rng(3)
    values = np.where(random.random(200) < 0.4, random.gamma(2, 0.1, 200).clip(0, 1), 0)
    rewards = Rewards(values, np.zeros(200, np.int32), ("a", "b"), None, ("a", "b"))
    with pytest.raises(InputError, match=r"--family revenue .0 or an amount that varies"):
        ESTIMATORS[family].of_log(rewards, {})
