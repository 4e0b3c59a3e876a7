"""The floor by each of its methods, and policies evaluated by belief in exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from by_belief import regret_by_belief

import fpbandits as fpb
from fpbandits.theory.floor import floor, floor_curve, is_known

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


def test_a_policy_is_evaluated_exactly_where_every_belief_is_on_the_grid() -> None:
    """Rewards halve the odds, double them, or settle everything; then the policy plays wrongly."""
    chances = np.array(
        [
            [[0.4, 0.2, 0.4, 0.0], [0.2, 0.6, 0.0, 0.2]],
            [[0.2, 0.4, 0.0, 0.4], [0.4, 0.3, 0.3, 0.0]],
        ]
    )
    problem = fpb.Problem.discrete(
        chances.tolist(), support=[0, 0.25, 0.5, 1], prior={"theta1": 2, "theta2": 3}
    )
    check_exactly(problem, chances)


def test_what_leaves_the_grid_counts_as_certain() -> None:
    """A success of an arm that all but never succeeds under a model moves log-odds by 31."""
    means = np.array([[1e-14, 0.5], [0.5, 1e-14]])
    check_exactly(fpb.Problem.bernoulli(means), np.stack([1 - means, means], axis=-1))


def check_exactly(problem: fpb.Problem, chances: np.ndarray) -> None:
    """Compare the regret after each play of a policy that is wrong where it is certain."""

    def decide(t: int, posterior: list[Fraction]) -> int:
        return int(posterior[0] < Fraction(41, 100) + Fraction(t, 50))

    found = regret_by_belief(
        problem, lambda t, p: (p[:, 0] < 0.41 + t / 50).astype(np.intp), horizon=6
    )
    exact = Exact(problem, chances)
    assert found == pytest.approx([float(exact.of(decide, time)) for time in range(1, 7)])


def test_a_policy_is_evaluated_on_some_thousands_of_points() -> None:
    """The finest step that allows 5,000, of steps a tenth apart; and on both certainties."""
    rows = set()

    def decide(t: int, posterior: np.ndarray) -> np.ndarray:
        rows.add(len(posterior))
        assert posterior[-2:].tolist() == [[1, 0], [0, 1]]
        return np.zeros(len(posterior), np.intp)

    lost = regret_by_belief(fpb.Problem.gaussian([[0, 1], [1, 0]], deviation=1), decide, 3)
    assert lost == pytest.approx([0.5, 1.0, 1.5])
    (points,) = rows
    assert 4_500 < points < 5_010


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


def test_where_a_floor_is_known() -> None:
    """For up to 2,000 models and a million plays, but not for revenue."""
    most = fpb.Problem.bernoulli(np.full((2_000, 1), 0.5))
    more = fpb.Problem.bernoulli(np.full((2_001, 1), 0.5))
    revenue = fpb.Problem.revenue([[0.5, 0.2], [0.1, 0.2]], [[30, 60], [30, 90]], shape=2)
    assert is_known(most, 10**6)
    assert not is_known(most, 10**6 + 1)
    assert not is_known(more, 1)
    assert not is_known(revenue, 1)
    with pytest.raises(fpb.InputError, match="be at most 1,000,000"):
        floor("paper:two", 10**6 + 1)


def test_counts_reach_as_far_as_a_million_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """With four kinds of rewards C(T + 4, 4) states: T = 67 is the last below a million.

    What is lost by then must be lost in more plays, too, where pairs of models prove less.
    """
    three = fpb.Problem.bernoulli([[0.5, 0.4], [0.5, 0.6], [0.3, 0.35]])
    asked: list[list[int]] = []
    shares: list[float] = []

    def count(problem: fpb.Problem, times: list[int], tell: Callable[[float], None]) -> object:
        asked.append(list(times))
        tell(1.0)
        return tuple(fpb.Floor(2.0 * time, 2.0 * time, "counts") for time in times)

    def pair(problem: fpb.Problem, times: list[int], tell: Callable[[float], None]) -> np.ndarray:
        asked.append(list(times))
        tell(0.0)
        tell(1 / 3)
        return np.array([133.0, 134.0, 140.0])

    monkeypatch.setattr("fpbandits.theory.floor._by_counts", count)
    monkeypatch.setattr("fpbandits.theory.floor.floor_by_pairs", pair)
    assert floor_curve(three, [10, 67, 68, 69, 1000], shares.append) == (
        fpb.Floor(20.0, 20.0, "counts"),
        fpb.Floor(134.0, 134.0, "counts"),
        fpb.Floor(134.0, None, "counts"),
        fpb.Floor(134.0, None, "pairs"),
        fpb.Floor(140.0, None, "pairs"),
    )
    assert asked == [[10, 67, 67], [68, 69, 1000]]
    assert shares == [0.25, 0.25, 0.5]
    assert floor_curve(three, [67], shares.append) == (fpb.Floor(134.0, 134.0, "counts"),)
    assert shares[3:] == [1.0]
    normal = fpb.Problem.gaussian([[0, 1e-3], [1e-3, 0], [0, 0]], deviation=1)
    monkeypatch.setattr("fpbandits.theory.floor.floor_by_pairs", lambda *_: np.array([1e-4]))
    assert floor(normal, 5) == fpb.Floor(1e-4, None, "pairs")


def test_of_two_models_a_third_of_the_work_is_the_lower_bound() -> None:
    shares: list[float] = []
    floor_curve("paper:two", [50, 100], shares.append)
    half = len(shares) // 2
    assert shares == sorted(shares)
    assert 1 / 6 in shares[:half]
    assert 1 / 3 in shares[:half]
    assert min(shares) > 0
    assert shares[-1] == 1
    assert 2 / 3 in shares[half:]


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
    apart = fpb.Problem.bernoulli([[[0.4, 0.5]], [[0.5, 0.4]]], contexts=["only"])
    for each in (problem, apart):
        with pytest.raises(fpb.InputError, match="two models without contexts"):
            regret_by_belief(each, lambda t, p: np.zeros(len(p), int), 10)


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
