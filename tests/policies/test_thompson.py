"""Thompson sampling: its draws, and those that a leap makes in their place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fpbandits import Thompson, load_problem
from fpbandits.policies import thompson
from fpbandits.policies.base import COUNTERS, Tally
from fpbandits.policies.compiling import compiled, prepare
from fpbandits.policies.ready import plan_once


def test_thompson_plays_the_largest_draw() -> None:
    """With the same stream, the arm is the argmax of NumPy's own Beta draws."""
    problem = load_problem("paper:grid")
    prepared = prepare(Thompson(), problem)
    scratch = Thompson().scratch(prepared, 4)
    generator = np.random.default_rng(1)
    for seed in range(200):
        plays = generator.integers(0, 50, 4)
        wins = generator.binomial(plays, 0.4).astype(float)
        tally = Tally(plays, wins, np.zeros(COUNTERS, np.int64), np.zeros(0))
        assert plan_once(prepared, tally, scratch, np.random.default_rng(seed)) == 1
        stream = np.random.default_rng(seed)
        draws = [stream.beta(1 + wins[i], 1 + plays[i] - wins[i]) for i in range(4)]
        assert scratch.cycle[0] == int(np.argmax(draws))


def test_thompson_rounds_rewards_at_random() -> None:
    """A reward of 0.3 is a success 3 times in 10. Seeds 0 … 3999; 5 standard errors."""
    problem = load_problem("paper:two")
    policy = Thompson()
    tally, prepared = policy.tally(problem), prepare(policy, problem)
    for seed in range(4000):
        policy.observe(prepared, tally, 0, 1, 0.3, np.random.default_rng(seed))
    assert tally.plays[0] == 4000
    assert tally.sums[0] == int(tally.sums[0])
    assert abs(tally.sums[0] / 4000 - 0.3) < 5 * math.sqrt(0.3 * 0.7 / 4000)


@compiled
def draw_above(a: float, b: float, y: float, chance: float, random: Any) -> float:
    return thompson._draw_above(a, b, y, chance, random)


@compiled
def upper_tail(a: float, b: float, y: float) -> float:
    return thompson._upper_tail(a, b, y)


@pytest.mark.parametrize(
    ("a", "b", "y"),
    [
        (1, 1, 0.95),
        (5, 1, 0.99),
        (1, 5, 0.7),
        (2, 2, 0.97),
        (40, 60, 0.55),
        (40, 60, 0.41),
        (9, 2, 0.9),
    ],
)
def test_tails_of_beta_laws(a: float, b: float, y: float) -> None:
    """Against SciPy; 3,000 draws, a K-S test at level 1e-5."""
    law = stats.beta(a, b)
    chance = float(law.sf(y))
    if y > a / (a + b):
        assert upper_tail(a, b, y) == pytest.approx(chance, rel=1e-10)
    generator = np.random.default_rng(7)
    draws = np.array([draw_above(a, b, y, chance, generator) for _ in range(3000)])
    assert draws.min() >= y
    assert stats.kstest(1 - law.sf(draws) / chance, "uniform").pvalue > 1e-5
