"""The floor of two models against programs that share nothing with it."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from by_belief import posterior
from scipy.special import expit

import fpbandits as fpb
from fpbandits.core.arrays import Floats
from fpbandits.theory.beliefs import Beliefs
from fpbandits.theory.floor import floor, floor_curve
from fpbandits.theory.ratios import Atoms, log_ratio


def bracket(problem: fpb.Problem, horizon: int) -> tuple[float, float]:
    found = floor(problem, horizon)
    assert found.upper is not None
    return found.value, found.upper


class Tree:
    """All histories of a problem in fractions, for two models and any contexts."""

    def __init__(self, chances: Floats, values: list[float], prior: list[float]) -> None:
        self.chances = [
            [[[Fraction(c).limit_denominator(1000) for c in arm] for arm in row] for row in model]
            for model in chances
        ]
        whole = [Fraction(value).limit_denominator(1000) for value in values]
        means = [
            [
                [sum((c * v for c, v in zip(arm, whole, strict=True)), Fraction(0)) for arm in row]
                for row in model
            ]
            for model in self.chances
        ]
        self.gaps = [[[max(row) - mean for mean in row] for row in model] for model in means]
        self.prior = tuple(Fraction(share).limit_denominator(1000) for share in prior)

    def least(self, horizon: int, shares: list[Fraction]) -> Fraction:
        @cache
        def value(weights: tuple[Fraction, ...], plays: int) -> Fraction:
            """Regret times the probability of what was seen."""
            if plays == 0 or 0 in weights:
                return Fraction(0)
            lost = Fraction(0)
            for context, share in enumerate(shares):
                arms = range(len(self.gaps[0][context]))
                lost += share * min(after(weights, context, arm, plays) for arm in arms)
            return lost

        def after(weights: tuple[Fraction, ...], context: int, arm: int, plays: int) -> Fraction:
            models = list(zip(weights, self.chances, self.gaps, strict=True))
            now = sum((w * gaps[context][arm] for w, _, gaps in models), Fraction(0))
            rewards = range(len(self.chances[0][context][arm]))
            return now + sum(
                (
                    value(tuple(w * law[context][arm][r] for w, law, _ in models), plays - 1)
                    for r in rewards
                ),
                Fraction(0),
            )

        return value(self.prior, horizon)


def test_the_bracket_holds_the_least_of_all_histories() -> None:
    random = np.random.default_rng(5)
    for number in range(5):
        arms, contexts = int(random.integers(2, 4)), 1 + number % 2
        horizon = 10 if arms * contexts == 2 else 6
        means = random.integers(0, 21, (2, contexts, arms)) / 20
        prior = {"theta1": 3, "theta2": int(random.integers(1, 9))}
        named = {"contexts": ["a", "b"], "shares": [0.25, 0.75]} if contexts == 2 else {}
        table = means if contexts == 2 else means[:, 0]
        problem = fpb.Problem.bernoulli(table, prior=prior, **named)  # type: ignore[arg-type]
        tree = Tree(np.stack([1 - means, means], axis=-1), [0, 1], list(problem.prior or ()))
        shares = [Fraction(1)] if contexts == 1 else [Fraction(1, 4), Fraction(3, 4)]
        exact = float(tree.least(horizon, shares))
        low, high = bracket(problem, horizon)
        assert low - 1e-12 <= exact <= high + 1e-12
        assert high - low <= 1e-6


def test_a_reward_that_one_model_rules_out_ends_the_matter() -> None:
    chances = np.array([[[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]], [[0.2, 0.3, 0.5], [0.5, 0.25, 0.25]]])
    problem = fpb.Problem.discrete(chances.tolist(), support=[0, 0.5, 1])
    tree = Tree(chances[:, np.newaxis], [0, 0.5, 1], [0.5, 0.5])
    low, high = bracket(problem, 7)
    exact = float(tree.least(7, [Fraction(1)]))
    assert low - 1e-12 <= exact <= high + 1e-12
    assert high - low <= 1e-6


def lattice(p: float, horizon: int, prior: float) -> float:
    """The least regret of (p, 1 − p) against (1 − p, p), on the lattice of their log-odds.

    Wins less losses of the first arm, losses less wins of the second, are all that matters.
    """
    steps = np.arange(-horizon, horizon + 1)
    first = expit(np.log(prior / (1 - prior)) + steps * np.log(p / (1 - p)))
    value = np.zeros(len(steps))
    for _ in range(horizon):
        up = first * p + (1 - first) * (1 - p)
        ahead = up * np.append(value[1:], 0) + (1 - up) * np.insert(value[:-1], 0, 0)
        value = (2 * p - 1) * np.minimum(first, 1 - first) + ahead
    return float(value[horizon])


@pytest.mark.parametrize(("p", "horizon"), [(0.55, 300), (0.62, 2000), (0.7, 2000)])
def test_as_another_program_says(p: float, horizon: int) -> None:
    problem = fpb.Problem.bernoulli([[p, 1 - p], [1 - p, p]], prior={"theta1": 7, "theta2": 3})
    low, high = bracket(problem, horizon)
    exact = lattice(p, horizon, 0.7)
    assert low - 1e-9 <= exact <= high + 1e-9
    assert high - low <= 1e-6


def smooth(problem: fpb.Problem, density: object, rewards: Floats, horizon: int) -> float:
    """The least regret by cubic splines in p and a fine sum over rewards: no bound, but close."""
    from scipy.interpolate import CubicSpline

    grid = np.concatenate([[0], 1 / (1 + np.exp(-np.linspace(-14, 14, 601))), [1]])
    laws = density(rewards)  # type: ignore[operator]  # [model, arm, reward]
    gaps = problem.means.max(axis=1, keepdims=True) - problem.means
    value = np.zeros(len(grid))
    for _ in range(horizon):
        spline = CubicSpline(grid, value)
        each = []
        for arm in range(len(problem.arms)):
            joint = (1 - grid)[:, None] * laws[0, arm], grid[:, None] * laws[1, arm]
            total = joint[0] + joint[1]
            after = np.divide(joint[1], total, out=np.zeros_like(total), where=total > 0)
            ahead = (total * spline(after)).sum(axis=1)
            each.append((1 - grid) * gaps[0, arm] + grid * gaps[1, arm] + ahead)
        value = np.min(each, axis=0)
    return float(CubicSpline(grid, value)(problem.prior[1] if problem.prior else 0.5))


def test_normal_rewards_against_a_sum_over_them() -> None:
    means = np.array([[0.3, 0.0, 0.1], [0.0, 0.4, 0.1]])
    problem = fpb.Problem.gaussian(means, deviation=0.7, prior={"theta1": 2, "theta2": 1})
    rewards = np.linspace(-5, 5, 301)

    def density(at: Floats) -> Floats:
        laws = np.exp(-((at - means[..., None]) ** 2) / (2 * 0.7**2))
        return np.asarray(laws / laws.sum(axis=-1, keepdims=True))

    low, high = bracket(problem, 15)
    assert low - 1e-6 <= smooth(problem, density, rewards, 15) <= high + 1e-6
    assert high - low <= 1e-3 * high


def test_beta_rewards_against_a_sum_over_them() -> None:
    from scipy.stats import beta

    means = np.array([[0.5, 0.4], [0.35, 0.5]])
    problem = fpb.Problem.beta(means, concentration=6)
    edges = np.linspace(0, 1, 801)

    def density(at: Floats) -> Floats:
        shapes = 6 * means[..., None], 6 * (1 - means[..., None])
        laws = np.asarray(beta.pdf(at, *shapes))
        return np.asarray(laws / laws.sum(axis=-1, keepdims=True))

    low, high = bracket(problem, 15)
    assert low - 1e-5 <= smooth(problem, density, (edges[1:] + edges[:-1]) / 2, 15) <= high + 1e-5
    assert high - low <= 2e-3 * high


def test_concave_in_the_prior_and_growing_in_time() -> None:
    def low(share: float) -> Floats:
        prior = {"theta1": 1 - share, "theta2": share}
        problem = fpb.Problem.bernoulli([[0.6, 0.5, 0.2], [0.4, 0.5, 0.55]], prior=prior)
        found = floor_curve(problem, range(1, 201, 3))
        return np.array([each.value for each in found])

    curves = np.array([low(share) for share in np.linspace(0.05, 0.95, 10)])
    assert (np.diff(curves, axis=1) >= -1e-9).all()
    assert (np.diff(curves, n=2, axis=0) <= 1e-7).all()


def test_nothing_is_lost_where_one_arm_is_best_or_one_model_possible() -> None:
    same = fpb.Problem.bernoulli([[0.6, 0.5], [0.7, 0.5]])
    certain = fpb.Problem.bernoulli([[0.6, 0.5], [0.4, 0.5]], prior={"theta1": 1, "theta2": 0})
    for problem in (same, certain):
        assert floor(problem, 1000) == fpb.Floor(0.0, 0.0, "belief")


def test_models_that_nothing_tells_apart_cost_what_the_better_guess_does() -> None:
    problem = fpb.Problem.discrete(
        [[[0.5, 0, 0.5], [0.5, 0, 0.5]]] * 2, support=[0, 0.5, 1], prior={"theta1": 3, "theta2": 1}
    )
    assert floor(problem, 50).upper == 0
    hard = fpb.Problem.bernoulli([[0.5005, 0.5], [0.4995, 0.5]], prior={"theta1": 3, "theta2": 1})
    found = floor(hard, 100)
    assert found.value == pytest.approx(100 * 0.25 * 0.0005, rel=1e-3)


def test_a_scale_of_rewards_is_a_scale_of_regret() -> None:
    means = np.array([[0.6, 0.5], [0.4, 0.5]])
    one = floor(fpb.Problem.bernoulli(means), 100)
    ten = floor(fpb.Problem.bernoulli(10 * means, range=(0, 10)), 100)
    assert ten.value == pytest.approx(10 * one.value, rel=1e-9)


def test_a_curve_has_the_floors_of_its_times() -> None:
    problem = fpb.load_problem("paper:two")
    curve = floor_curve(problem, [10, 100, 1000])
    for horizon, found in zip([10, 100, 1000], curve, strict=True):
        assert found == floor(problem, horizon)


def laid_by_the_words(
    problem: fpb.Problem, horizon: int, budget: float, most_points: float
) -> tuple[float, int, int]:
    """The step of a grid, and its points below and above the prior's, by loops over candidates."""
    ratios = [log_ratio(problem.rewards, pair) for pair in range(problem.pairs)]
    atoms = [ratio for ratio in ratios if isinstance(ratio, Atoms)]
    deviation = max(ratio.deviation for ratio in ratios)
    end = 16 + max(0.0, math.log(horizon * min(deviation**2, 1)))

    def finest(multiplications: float) -> float:
        for number in range(60):
            step = 0.001 * 250 ** (number / 59)
            points = 2 * end / step
            weights = sum(ratio.count_weights(step) for ratio in ratios)
            tried = points * horizon * weights / len(problem.arms)
            if points <= most_points and tried <= multiplications:
                return float(step)
        return 0.25

    def added(step: float) -> float:
        return sum(float(atom.added_variance(np.array([step]))[0]) for atom in atoms)

    only_atoms = len(atoms) == len(ratios)
    step = finest(budget if only_atoms else 4 * budget)
    hard = 0 < deviation / 4 < step
    if hard:
        step = max(deviation / 4, finest(10 * min(budget, 2e8)))
    if only_atoms:
        candidates = [step * 4 ** (number / 599) for number in range(600)]
        for atom in atoms:
            candidates += [abs(ratio) / n for ratio in atom.ratio for n in range(1, 65)]
        candidates = [each for each in candidates if step * (1 - 1e-12) <= each <= 4 * step]
        least = min(map(added, candidates))
        most = max(1.05 * least, 0.01 if hard else 1e-9)
        step = max(each for each in candidates if added(each) <= most)
    prior = problem.prior or (0.5, 0.5)
    at = math.log(prior[1] / prior[0])
    below, above = (math.ceil(max(end + side * at, 0) / step) + 1 for side in (1, -1))
    return step, below, above


GRIDS: dict[str, tuple[fpb.Problem, int, float, float]] = {
    "several values": (
        fpb.Problem.bernoulli([[0.62, 0.5], [0.4, 0.57]], prior={"theta1": 3, "theta2": 1}),
        500,
        1e7,
        math.inf,
    ),
    "one value of each arm": (fpb.load_problem("paper:two"), 1000, 1e6, math.inf),
    "few plays": (fpb.Problem.bernoulli([[0.7, 0.6], [0.4, 0.5]]), 3, 1e9, math.inf),
    "few points": (fpb.Problem.bernoulli([[0.7, 0.6], [0.4, 0.5]]), 50, 1e9, 700),
    "nothing to spend": (fpb.Problem.bernoulli([[0.7, 0.6], [0.4, 0.5]]), 50, 1.0, math.inf),
    "hard": (fpb.Problem.bernoulli([[0.51, 0.5], [0.49, 0.5]]), 5000, 1e6, math.inf),
    "hard, and much to spend": (
        fpb.Problem.bernoulli([[0.505, 0.5], [0.495, 0.51]]),
        10**5,
        1e9,
        math.inf,
    ),
    "hard, at its own step": (
        fpb.Problem.bernoulli([[0.55, 0.5], [0.45, 0.52]]),
        300,
        1e5,
        math.inf,
    ),
    "normal": (fpb.Problem.gaussian([[0, 0.5], [0.4, 0]], deviation=0.7), 100, 1e6, math.inf),
    "normal and hard": (
        fpb.Problem.gaussian([[0, 0.5], [0.02, 0.49]], deviation=0.7),
        1000,
        1e5,
        math.inf,
    ),
    "normal, of which one tells nothing": (
        fpb.Problem.gaussian([[0, 0.3], [0.5, 0.3]], deviation=0.7),
        100,
        1e6,
        math.inf,
    ),
    "contexts": (
        fpb.Problem.bernoulli(
            [[[0.7, 0.5], [0.3, 0.4]], [[0.6, 0.65], [0.45, 0.38]]],
            contexts=["a", "b"],
            shares=[0.3, 0.7],
        ),
        200,
        1e6,
        math.inf,
    ),
    "all but certain": (
        fpb.Problem.bernoulli([[0.7, 0.6], [0.4, 0.5]], prior={"theta1": 1e12, "theta2": 1}),
        10,
        1e6,
        math.inf,
    ),
    "all but certain of the other": (
        fpb.Problem.bernoulli([[0.7, 0.6], [0.4, 0.5]], prior={"theta1": 1, "theta2": 1e12}),
        10,
        1e6,
        math.inf,
    ),
}


@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_is_as_fine_as_it_may_be(name: str) -> None:
    problem, horizon, budget, most_points = GRIDS[name]
    step, below, above = laid_by_the_words(problem, horizon, budget, most_points)
    grid = Beliefs.of(problem, horizon, budget, most_points)
    assert grid.step == pytest.approx(step, rel=1e-9)
    assert (grid.start, len(grid.log_odds)) == (below, below + 1 + above)
    prior = problem.prior or (0.5, 0.5)
    assert np.diff(grid.log_odds) == pytest.approx(grid.step)
    assert grid.log_odds[below] == pytest.approx(math.log(prior[1]) - math.log(prior[0]))
    odds = [math.exp(x) for x in grid.log_odds]
    assert posterior(grid) == pytest.approx(np.array([[1 / (1 + u), u / (1 + u)] for u in odds]))
    assert grid.prior.tolist() == list(prior)
    assert grid.shares.tolist() == list(problem.shares or (1.0,))
    farthest = [
        max(map(abs, [*t.shifts.tolist(), *(t.shifts + t.widths).tolist()]), default=0)
        for t in grid.transitions
    ]
    assert grid.margin == max(farthest)
    assert grid.decay == pytest.approx([math.exp(-grid.step * (k + 1)) for k in range(grid.margin)])


def test_a_grid_of_rewards_that_settle_everything_has_no_margin() -> None:
    """A wrong first play costs 1 with probability ½, and there is no second one."""
    sure = fpb.Problem.bernoulli([[1.0, 0.0], [0.0, 1.0]])
    assert Beliefs.of(sure, 10).margin == 0
    assert floor(sure, 10) == fpb.Floor(0.5, 0.5, "belief")
