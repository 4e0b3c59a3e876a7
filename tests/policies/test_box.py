"""Margins of models that fit arm by arm, against brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from plans import Stretch, random_problem

from fpbandits import Problem
from fpbandits.policies import UCBS
from fpbandits.policies.base import COUNTERS, Scratch, Tally
from fpbandits.policies.box import box_ahead, box_now
from fpbandits.policies.envelope import Envelope
from fpbandits.policies.levels import HIGH, LOW, NOW, Theta, theta


def margin(row: list[float], n: Any, S: Any, scale: float, t: int) -> float:
    """The least of √(scale·ln t/n_i) − |μ̂_i − μ_i(θ)| over the arms played."""
    return min(
        (
            math.sqrt(scale * math.log(t) / n[i]) - abs(S[i] / n[i] - row[i])
            for i in range(len(row))
            if n[i]
        ),
        default=math.inf,
    )


def some_tally(problem: Problem, generator: np.random.Generator) -> Tally:
    plays = generator.integers(0, 60, len(problem.arms))
    plays[0] += 1
    sums = plays * generator.random(len(problem.arms))
    return Tally(plays, sums, np.zeros(COUNTERS, np.int64), np.zeros(0))


def room(problem: Problem) -> tuple[Theta, Scratch]:
    policy = UCBS()
    return theta(problem), policy.scratch(policy.prepare(problem), len(problem.arms))


def test_margins_now() -> None:
    generator = np.random.default_rng(4)
    for _ in range(60):
        problem = random_problem(generator)
        (levels, scratch), tally = room(problem), some_tally(problem, generator)
        t = int(tally.plays.sum()) + 1
        box_now(levels, tally, scratch, 1.5, t)
        expected = [
            margin(row, tally.plays, tally.sums, 1.5, t)
            for row in problem.rewards.unit_means.tolist()
        ]
        np.testing.assert_allclose(scratch.by_model[NOW], expected, rtol=1e-12, atol=1e-14)


def test_margins_ahead_enclose_those_of_every_step_and_sum() -> None:
    """Sums at the envelope's edges, between them, and at a random place, after every step."""
    generator = np.random.default_rng(5)
    widths = []
    for _ in range(40):
        problem = random_problem(generator)
        rows = problem.rewards.unit_means.tolist()
        (levels, scratch), tally = room(problem), some_tally(problem, generator)
        t, more = int(tally.plays.sum()) + 1, int(generator.integers(0, 40))
        mean, spread = float(generator.random()), float(generator.choice([0.1, 2.0, math.inf]))
        stretch = Stretch(int(tally.plays[0]), float(tally.sums[0]), mean, more, spread)
        scratch.cycle[0] = 0
        envelope = Envelope(np.full(len(problem.arms), mean), spread)
        box_ahead(levels, tally, envelope, scratch, 1.0, t, more)
        low, high = scratch.by_model[LOW], scratch.by_model[HIGH]
        for j in range(more + 1):
            # With nothing played yet nothing was added either.
            least, most = stretch.limits(j) if j else (0.0, 0.0)
            for total in (least, most, (least + most) / 2, generator.uniform(least, most)):
                n, S = tally.plays.copy(), tally.sums.copy()
                n[0] += j
                S[0] += total
                for model, row in enumerate(rows):
                    found = margin(row, n, S, 1.0, t + j)
                    assert low[model] <= found + 1e-12
                    assert found <= high[model] + 1e-12
        if more == 0:
            np.testing.assert_allclose(low, high, atol=1e-12)
        widths.append(float((high - low).max()))
    assert min(widths) < 0.1, "not merely timid"
