"""The floor by counts against all histories in fractions, and against a published optimum."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.theory.counts import CountProgram
from fpbandits.theory.floor import floor, floor_curve


def least(means: list[list[Fraction]], prior: list[Fraction], horizon: int) -> Fraction:
    """The least regret of Bernoulli arms, by all that can be seen."""
    gaps = [[max(row) - mean for mean in row] for row in means]

    @cache
    def value(weights: tuple[Fraction, ...], plays: int) -> Fraction:
        if plays == 0:
            return Fraction(0)
        found = []
        for arm in range(len(means[0])):
            won = tuple(w * row[arm] for w, row in zip(weights, means, strict=True))
            lost = tuple(w - v for w, v in zip(weights, won, strict=True))
            now = sum((w * g[arm] for w, g in zip(weights, gaps, strict=True)), Fraction(0))
            found.append(now + value(won, plays - 1) + value(lost, plays - 1))
        return min(found)

    return value(tuple(prior), horizon)


def test_the_least_of_all_histories() -> None:
    random = np.random.default_rng(7)
    for arms, models, horizon in ((2, 3, 9), (2, 5, 8), (3, 4, 6)):
        tenths = random.integers(0, 11, (models, arms))
        weights = random.integers(1, 6, models)
        problem = fpb.Problem.bernoulli(
            tenths / 10, prior={f"theta{k + 1}": int(w) for k, w in enumerate(weights)}
        )
        means = [[Fraction(int(m), 10) for m in row] for row in tenths]
        prior = [Fraction(int(w), int(weights.sum())) for w in weights]
        exact = float(least(means, prior, horizon))
        found = floor(problem, horizon)
        assert found == fpb.Floor(found.value, found.value, "counts")
        assert found.value == pytest.approx(exact, rel=1e-12, abs=1e-14)


def test_as_by_belief_with_contexts_and_rewards_of_several_values() -> None:
    chances = [
        [[[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], [[0.1, 0.4, 0.5], [0.1, 0.2, 0.7]]],
        [[[0.5, 0.3, 0.2], [0.3, 0.0, 0.7]], [[0.4, 0.5, 0.1], [0.1, 0.3, 0.6]]],
    ]
    problem = fpb.Problem.discrete(
        chances, support=[0, 0.4, 1], contexts=["a", "b"], shares=[0.3, 0.7], prior={"theta1": 2}
    )
    program = CountProgram.of(problem, 6)
    assert program is not None
    by_belief = floor(problem, 6)
    assert by_belief.method == "belief"
    assert program.values([6]) == pytest.approx([by_belief.value], abs=1e-7)


def test_a_published_optimum_is_approached() -> None:
    """Two arms with uniform means, T = 60: 38.562343 successes (Jacko, BinaryBandit).

    On k × k levels the mean of the larger of two levels is not that of two uniforms, and what can
    be earned is less by a term of 1/k²: at 7 and 11 levels, both known, so is the limit.
    """
    earned = {}
    for k in (7, 11):
        levels = (np.arange(k) + 0.5) / k
        means = np.array([[a, b] for a in levels for b in levels])
        earned[k] = 60 * means.max(axis=1).mean() - floor(fpb.Problem.bernoulli(means), 60).value
    limit = (121 * earned[11] - 49 * earned[7]) / (121 - 49)
    assert limit == pytest.approx(38.562343, abs=2e-3)
    assert earned[7] < earned[11] < limit


def test_a_curve_is_made_of_floors() -> None:
    problem = fpb.Problem.bernoulli([[0.5, 0.4], [0.5, 0.6], [0.3, 0.35]])
    curve = [each.value for each in floor_curve(problem, [1, 5, 12])]
    assert curve == pytest.approx([floor(problem, time).value for time in (1, 5, 12)], rel=1e-12)


def test_what_is_too_large_or_continuous_has_no_program() -> None:
    three = fpb.Problem.bernoulli([[0.5, 0.4], [0.5, 0.6], [0.3, 0.35]])
    assert CountProgram.of(three, 80) is not None
    assert CountProgram.of(three, 120) is None
    assert CountProgram.of(fpb.Problem.gaussian([[0, 1], [1, 0]], deviation=1), 5) is None
