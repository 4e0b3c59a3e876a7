"""A wrong spread is noticed, and a right one hardly ever refuted."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from math import exp, gamma, inf, log, sqrt

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

from fpbandits import Agent, Problem
from fpbandits.agent.plausible import margins
from fpbandits.agent.spread import models_that_spread_so, spread_fits, spread_warning

WRONG = Problem.beta([[0.6, 0.5], [0.45, 0.5]], concentration=200)
NORMAL = Problem.gaussian([[1.0, 2.0], [2.0, 1.5]], deviation=1.5)
DISCRETE = Problem.discrete(
    [[[0.3, 0.4, 0.3], [0.2, 0.2, 0.6]], [[0.2, 0.6, 0.2], [0.5, 0.1, 0.4]]],
    support=[0, 2, 4],
    range=(0, 4),
)


def evidence_in_a_range(squares: float, expected: float) -> float:
    """ln of e^{λQ − (e^λ − 1)A}, mixed over x = e^λ from an exponential distribution."""

    def mixed(x: float) -> float:
        return exp(squares * log(x) - (x - 1) * expected - x)

    return log(quad(mixed, 0, inf)[0])


def evidence_of_normal(squares: float, n: float) -> float:
    """ln of the likelihood ratio of n rewards, mixed over precisions from Gamma(½, ½)."""

    def mixed(precision: float) -> float:
        ratio = exp(n / 2 * log(precision) + (1 - precision) * squares / 2)
        return ratio * exp(-precision / 2) * sqrt(0.5 / precision) / gamma(0.5)

    return log(quad(mixed, 0, inf)[0])


@pytest.mark.parametrize(
    ("problem", "plays", "evidence", "expected", "unit"),
    [
        (DISCRETE, [100, 75], evidence_in_a_range, 100 * 0.15 + 75 * 0.16, 1.0),
        (NORMAL, [20, 10], evidence_of_normal, 30, 0.25),  # their variance on [0, 1] is ¼
    ],
    ids=["discrete", "normal"],
)
def test_a_model_is_refuted_where_the_evidence_is_ten_thousand_to_one(
    problem: Problem,
    plays: list[int],
    evidence: Callable[[float, float], float],
    expected: float,
    unit: float,
) -> None:
    """Rewards that vary too little, and ones that vary too much; the first of two models."""
    n, means = np.array(plays), np.array(problem.rewards.unit_means)
    sums = n * (means[0] + [0.01, -0.02])

    def excess(squares: float) -> float:
        return evidence(squares, expected) - log(1e4)

    for start, end, is_upper in ((0.0, expected, False), (expected, 5 * expected, True)):
        edge = brentq(excess, start, end)
        for factor, beyond in ((1 - 1e-5, not is_upper), (1 + 1e-5, is_upper)):
            about_means = edge * factor * unit
            squares = about_means + 2 * means[0] @ sums - means[0] ** 2 @ n
            assert models_that_spread_so(problem, n, sums, squares)[0] == (not beyond)


def test_rewards_that_do_not_vary_at_all_are_refuted() -> None:
    """A variance of 13 is expected in all: e^13/14 is above 10^4, and e^13/14² is not."""
    n = np.array([13 / 0.15, 0])
    means = np.array(DISCRETE.rewards.unit_means)
    assert not models_that_spread_so(DISCRETE, n, n * means[0], float(n @ means[0] ** 2))[0]


@pytest.mark.parametrize(
    ("total", "squares", "fits"),
    [
        (280.0, 260.0, True),  # as the first model says, of mean 0.7 and variance 0.16
        (280.0, 222.0, False),  # as the second would, which is not plausible
        (20.0, 20.0, True),  # no model is plausible
        (20.0, 5000.0, True),
    ],
)
def test_rewards_must_spread_as_a_plausible_model_says(
    total: float, squares: float, fits: bool
) -> None:
    plays, sums = np.array([0, 400]), np.array([0, total])
    assert spread_fits(DISCRETE, plays, sums, squares) is fits
    if total == 280:
        assert models_that_spread_so(DISCRETE, plays, sums, squares).tolist() == [fits, True]


def test_a_model_that_barely_fits_is_plausible_too() -> None:
    plays = np.array([0, 400])

    def spare(total: float) -> float:
        return float(margins(DISCRETE, plays, np.array([0, total]), 1e-3)[0])

    total = brentq(lambda total: spare(total) - 0.5, 150, 280)
    # Rewards that do not vary: as no model says.
    assert not spread_fits(DISCRETE, plays, np.array([0, total]), total**2 / 400)
    beyond = brentq(lambda total: spare(total) + 0.5, 150, 280)
    assert spread_fits(DISCRETE, plays, np.array([0, beyond]), beyond**2 / 400)


def test_one_arm_has_a_spread() -> None:
    single, plays = Problem.gaussian([[0.0]], deviation=2), np.array([40])
    found = [models_that_spread_so(single, plays, np.zeros(1), x)[0] for x in (0, 10, 100)]
    assert found == [False, True, False]


def test_what_may_be_wrong_is_named() -> None:
    said = (
        "rewards do not spread as the models of {0} say: means fit, and {1} may not. The "
        "likelihood may settle on a wrong model. Give another {1}, or, for rewards in a range, "
        "likelihood=means"
    )
    for problem, name in (
        (WRONG, "concentration"),
        (NORMAL, "deviation"),
        (DISCRETE, "probabilities"),
    ):
        assert spread_warning(problem) == said.format(problem.name, name)


def test_squares_are_added_up_on_0_to_1() -> None:
    agent = Agent(DISCRETE)
    agent.observe("arm1", 2)
    assert agent.state()["squares"] == 0.25
    agent.tell(agent.ask(), 4)
    assert agent.state()["squares"] == 1.25


def first_refutations(problem: Problem, rewards: np.ndarray, arms: np.ndarray) -> list[int]:
    """Return, by run, after how many plays no model spreads like the rewards; −1 if never."""
    units, firsts = problem.rewards.to_unit(rewards), []
    for unit, arm in zip(units, arms, strict=True):
        first = -1
        for n in [5, 10, 20, 40, 80, 120, 160, 200, 250, 300]:
            by_arm = [unit[:n][arm[:n] == number] for number in range(2)]
            plays = np.array([seen.size for seen in by_arm])
            sums, squares = np.array([seen.sum() for seen in by_arm]), float((unit[:n] ** 2).sum())
            if not models_that_spread_so(problem, plays, sums, squares).any():
                first = n
                break
        firsts.append(first)
    return firsts


def test_a_wrong_concentration_is_found_within_300_plays() -> None:
    """Rewards of concentration 2 where the models say 200: in 95 % of runs; here in all of 200."""
    random = np.random.default_rng(0)
    arms = random.integers(0, 2, (200, 300))
    means = np.where(arms == 0, 0.6, 0.5)
    rewards = random.beta(2 * means, 2 * (1 - means))
    assert np.mean(np.array(first_refutations(WRONG, rewards, arms)) > 0) > 0.95


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_wrong_deviation_is_found(factor: float) -> None:
    random = np.random.default_rng(1)
    arms = random.integers(0, 2, (100, 300))
    rewards = random.normal(np.where(arms == 0, 1.0, 2.0), 1.5 * factor)
    assert np.mean(np.array(first_refutations(NORMAL, rewards, arms)) > 0) > 0.95


@pytest.mark.parametrize("problem", [WRONG, NORMAL, DISCRETE], ids=["beta", "normal", "discrete"])
def test_right_distributions_are_hardly_ever_refuted(problem: Problem) -> None:
    """By Ville's inequality at most 1 of 10⁴ runs at any look; of these 1,000 none.

    False with probability below .1.
    """
    random = np.random.default_rng(2)
    arms = random.integers(0, 2, (1000, 300))
    if problem is NORMAL:
        rewards = random.normal(np.where(arms == 0, 1.0, 2.0), 1.5)
    elif problem is WRONG:
        means = np.where(arms == 0, 0.6, 0.5)
        rewards = random.beta(200 * means, 200 * (1 - means))
    else:
        both = [
            random.choice([0, 2, 4], arms.shape, p=p) for p in ([0.3, 0.4, 0.3], [0.2, 0.2, 0.6])
        ]
        rewards = np.where(arms == 0, both[0], both[1]).astype(float)
    assert max(first_refutations(problem, rewards, arms)) == -1


def test_variances_are_those_of_scipy() -> None:
    shapes = np.array([[120, 100], [90, 100]])
    expected = np.asarray(stats.beta.var(shapes, 200 - shapes))
    np.testing.assert_allclose(np.array(WRONG.rewards.variances()), expected)
    variances = np.array(NORMAL.rewards.variances())
    np.testing.assert_allclose(variances * NORMAL.rewards.width**2, np.full((2, 2), 1.5**2))
    chances = [[0.3, 0.4, 0.3], [0.2, 0.2, 0.6], [0.2, 0.6, 0.2], [0.5, 0.1, 0.4]]
    of_scipy = [stats.rv_discrete(values=(range(3), each)).var() / 4 for each in chances]
    np.testing.assert_allclose(np.array(DISCRETE.rewards.variances()).ravel(), np.array(of_scipy))
    assert Problem.bernoulli([[0.5, 0.4]]).rewards.variances() is None


def test_an_agent_warns_once_of_a_wrong_concentration() -> None:
    """And goes on knowing about it after it was saved; with ``likelihood=means`` it need not."""
    random = np.random.default_rng(5)
    agent, warned = Agent(WRONG), False
    agent._warned = (0, 1)  # of blocked rewards of either arm: that is another matter
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(300):
            decision = agent.ask()
            mean = 0.6 if decision.arm == "arm1" else 0.5
            agent.tell(decision.id, random.beta(2 * mean, 2 * (1 - mean)))
            # It is looked at every twentieth time.
            warned = warned or (number % 20 == 0 and not agent.spread_fits)
            assert len(caught) == warned
    assert [str(each.message) for each in caught] == [spread_warning(WRONG)]
    assert caught[0].filename == __file__
    assert not agent.spread_fits
    assert not Agent.from_state(agent.state(), WRONG).spread_fits
    assert "squares" not in Agent(WRONG, "frugal:likelihood=means").state()
    assert "squares" not in Agent("paper:two").state()
    old = {key: value for key, value in agent.state().items() if key != "squares"}
    assert Agent.from_state(old, WRONG).spread_fits


@pytest.mark.filterwarnings("error")
def test_an_agent_says_nothing_of_right_distributions() -> None:
    random, agent = np.random.default_rng(6), Agent(NORMAL)
    for _ in range(200):
        decision = agent.ask()
        agent.tell(decision.id, random.normal(1.0 if decision.arm == "arm1" else 2.0, 1.5))
    assert agent.spread_fits
