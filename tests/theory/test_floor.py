"""The floor by each of its methods, and policies evaluated by belief in exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.theory.floor import floor, floor_curve, regret_by_belief

Rewards = tuple[tuple[int, ...], ...]
"""How often each arm paid each reward."""


class Exact:
    """Bayes regret by all that can be seen, for two models with chances[model][arm][reward]."""

    def __init__(self, problem: fpb.Problem, chances: np.ndarray) -> None:
        whole = [[[Fraction(c).limit_denominator(100) for c in arm] for arm in m] for m in chances]
        self.chances = whole
        values = [Fraction(v).limit_denominator(100) for v in problem.rewards.possible]  # type: ignore[union-attr]  # finitely many
        means = [[sum(c * v for c, v in zip(arm, values, strict=True)) for arm in m] for m in whole]
        self.gaps = [[max(row) - mean for mean in row] for row in means]
        self.prior = [Fraction(p).limit_denominator(100) for p in problem.prior or (0.5, 0.5)]
        self.nothing: Rewards = tuple((0,) * len(values) for _ in problem.arms)

    def posterior(self, seen: Rewards) -> list[Fraction]:
        """By Bayes' rule."""
        weights = []
        for share, model in zip(self.prior, self.chances, strict=True):
            for arm, counts in zip(model, seen, strict=True):
                for chance, count in zip(arm, counts, strict=True):
                    share *= chance**count
            weights.append(share)
        return [weight / sum(weights) for weight in weights]

    def after(self, seen: Rewards, arm: int, left: Callable[[Rewards], Fraction]) -> Fraction:
        """What a play loses on average, then and later."""
        p = self.posterior(seen)
        lost = sum((share * gap[arm] for share, gap in zip(p, self.gaps, strict=True)), Fraction(0))
        for reward in range(len(seen[arm])):
            chance = sum(
                share * model[arm][reward] for share, model in zip(p, self.chances, strict=True)
            )
            if chance:
                own = list(seen[arm])
                own[reward] += 1
                lost += chance * left((*seen[:arm], tuple(own), *seen[arm + 1 :]))
        return lost

    def of(self, decide: Callable[[int, list[Fraction]], int], horizon: int) -> Fraction:
        """Of one policy."""

        @cache
        def value(seen: Rewards, t: int) -> Fraction:
            if t > horizon:
                return Fraction(0)
            return self.after(seen, decide(t, self.posterior(seen)), lambda s: value(s, t + 1))

        return value(self.nothing, 1)


def problems() -> list[tuple[fpb.Problem, np.ndarray]]:
    generator = np.random.default_rng(3)
    found = []
    for _ in range(6):
        means = generator.integers(1, 20, (2, int(generator.integers(2, 4)))) / 20
        weight = int(generator.integers(1, 10))
        problem = fpb.Problem.bernoulli(means, prior={"theta1": weight, "theta2": 10 - weight})
        found.append((problem, np.stack([1 - means, means], axis=-1)))
    # A reward that only one model allows settles it.
    chances = np.array([[[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]], [[0.2, 0.3, 0.5], [0.5, 0.25, 0.25]]])
    found.append((fpb.Problem.discrete(chances.tolist(), support=[0, 0.5, 1]), chances))
    return found


@pytest.mark.parametrize("case", range(7))
def test_a_policy_by_posterior_and_time_is_evaluated(case: int) -> None:
    problem, chances = problems()[case]
    last = len(problem.arms) - 1

    def decide(t: int, posterior: list[Fraction]) -> int:
        return 0 if posterior[0] > Fraction(407, 1000) + Fraction(t, 23) else last

    exact = float(Exact(problem, chances).of(decide, 6))
    found = regret_by_belief(
        problem, lambda t, p: np.where(p[:, 0] > 0.407 + t / 23, 0, last), horizon=6
    )
    assert len(found) == 6
    assert found[-1] == pytest.approx(exact, rel=5e-2), "beliefs near a threshold are shared out"


def test_figures_of_the_papers_two_models() -> None:
    """As computed by another program, with another grid."""
    found = floor_curve("paper:two", [100, 1000, 10_000])
    assert [each.value for each in found] == pytest.approx([0.707, 0.961, 1.213], abs=5e-4)


def test_each_method_where_it_applies() -> None:
    two = fpb.Problem.bernoulli([[0.5, 0.4], [0.5, 0.6]])
    three = fpb.Problem.bernoulli([[0.5, 0.4], [0.5, 0.6], [0.3, 0.35]])
    normal = fpb.Problem.gaussian([[0, 1], [1, 0], [2, 0]], deviation=1)
    assert [floor(each, 10).method for each in (two, three, normal)] == [
        "belief",
        "counts",
        "pairs",
    ]
    assert floor(three, 1000).method == "pairs"


def test_models_that_the_prior_rules_out_do_not_count() -> None:
    means = [[0.5, 0.4], [0.9, 0.1], [0.5, 0.6]]
    prior = {"theta1": 1, "theta2": 0, "theta3": 3}
    among = fpb.Problem.bernoulli(means, prior=prior, truth="theta2")
    alone = fpb.Problem.bernoulli(means[::2], prior={"theta1": 1, "theta2": 3})
    assert floor(among, 100) == floor(alone, 100)


def test_words() -> None:
    assert str(fpb.Floor(1.25, None, "pairs")) == "at least 1.25"
    assert str(fpb.Floor(1.25, 1.25, "counts")) == "1.25"
    assert str(fpb.Floor(1.25, 1.5, "belief")) == "between 1.25 and 1.5"


@pytest.mark.parametrize(
    ("times", "words"),
    [([], "must increase"), ([10, 10], "must increase"), ([0], "horizon"), ([1e7], "horizon")],
)
def test_times_that_are_refused(times: list[float], words: str) -> None:
    with pytest.raises(fpb.InputError, match=words):
        floor_curve("paper:two", times)


def test_too_many_models_are_refused() -> None:
    means = np.random.default_rng(0).random((2_001, 3))
    with pytest.raises(fpb.InputError, match="at most 2,000 models, not for 2,001"):
        floor(fpb.Problem.bernoulli(means), 10**4)


def test_floors_of_revenue_are_refused() -> None:
    revenue = fpb.Problem.revenue([[0.5, 0.2], [0.1, 0.2]], [[30, 60], [30, 90]], shape=2)
    with pytest.raises(fpb.InputError, match="floors of revenue rewards are not known"):
        floor(revenue, 20)


def test_other_problems_are_not_evaluated_by_belief() -> None:
    problem = fpb.load_problem("paper:permutations")
    with pytest.raises(fpb.InputError, match="two models without contexts"):
        regret_by_belief(problem, lambda t, p: np.zeros(len(p), int), 10)


RANDOM = np.random.default_rng(11)
FAMILIES = {
    "bernoulli": lambda m: fpb.Problem.bernoulli(m, prior={"theta1": 2}),
    "values": lambda m: fpb.Problem.bernoulli(m, value=[3.0, 5.0, 1.0][: m.shape[1]]),
    "gaussian": lambda m: fpb.Problem.gaussian(m, deviation=0.4),
    "beta": lambda m: fpb.Problem.beta(m, concentration=3),
    "discrete": lambda m: fpb.Problem.discrete(
        np.stack([1 - m, m * 0.3, m * 0.7], axis=-1).tolist(), support=[0, 0.5, 1]
    ),
}


@pytest.mark.parametrize("models", [2, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_no_policy_is_below_the_floor(family: str, models: int) -> None:
    """By three standard errors of 400 runs: a false alarm in 700, and the seed is fixed."""
    problem = FAMILIES[family](RANDOM.uniform(0.1, 0.9, (models, 3)))
    least = floor(problem, 200)
    result = fpb.simulate(
        problem, ["frugal", "thompson-theta"], truth="prior", horizon=200, runs=400, seed=3
    )
    for policy in result.policies:
        regret = result.final_regret(policy)
        assert least.value <= regret.mean() + 3 * regret.std() / 20
