"""The floor of two models, against dynamic programming over counts in exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.theory.floor import floor_by_belief, regret_by_belief

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

    def least(self, horizon: int) -> Fraction:
        """The least of all policies."""

        @cache
        def value(seen: Rewards, plays: int) -> Fraction:
            if plays == 0:
                return Fraction(0)
            arms = range(len(seen))
            return min(self.after(seen, arm, lambda s: value(s, plays - 1)) for arm in arms)

        return value(self.nothing, horizon)

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
def test_the_floor_is_a_lower_bound_and_tight(case: int) -> None:
    problem, chances = problems()[case]
    exact = float(Exact(problem, chances).least(6))
    assert exact * (1 - 1e-3) <= floor_by_belief(problem, 6) <= exact + 1e-12


@pytest.mark.parametrize("case", range(7))
def test_a_policy_by_posterior_and_time_is_evaluated(case: int) -> None:
    problem, chances = problems()[case]
    last = len(problem.arms) - 1

    def decide(t: int, posterior: list[Fraction]) -> int:
        return 0 if posterior[0] > Fraction(413, 1000) + Fraction(t, 23) else last

    exact = float(Exact(problem, chances).of(decide, 6))
    found = regret_by_belief(
        problem, lambda t, p: np.where(p[:, 0] > 0.413 + t / 23, 0, last), horizon=6
    )
    assert len(found) == 6
    assert found[-1] == pytest.approx(exact, rel=5e-2), "beliefs at the threshold are shared out"


def test_figures_of_the_papers_two_models() -> None:
    """As computed by another program, with another grid."""
    two = fpb.load_problem("paper:two")
    floors = [floor_by_belief(two, horizon) for horizon in (100, 1000)]
    assert floors == pytest.approx([0.707, 0.961], abs=1e-3)


@pytest.mark.parametrize(
    "problem",
    [
        fpb.load_problem("paper:permutations"),
        fpb.Problem.gaussian([[1, 0], [0, 1]], deviation=1),
        fpb.Problem.bernoulli([[[0.1, 0.2]], [[0.2, 0.1]]], contexts=["a"]),
    ],
    ids=["models", "values", "contexts"],
)
def test_other_problems_are_refused(problem: fpb.Problem) -> None:
    with pytest.raises(fpb.InputError, match="on a grid for two models, without contexts"):
        floor_by_belief(problem, 10)
