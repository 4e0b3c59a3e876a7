"""Margins of models that fit arm by arm, against brute force."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from plans import Stretch, random_problem

from fpbandits import Problem
from fpbandits.engine.envelope import Envelope
from fpbandits.engine.policy import COUNTERS, Scratch, Tally
from fpbandits.policies import UCBS
from fpbandits.policies.shared.box import box_ahead, box_now, competitive
from fpbandits.policies.shared.levels import HIGH, LOW, NOW, Theta, theta


def margin(row: list[float], n: Any, S: Any, scale: float, t: int, offset: float = 0.0) -> float:
    """The least of √((scale·ln t + offset)/n_i) − |μ̂_i − μ_i(θ)| over the arms played."""
    return min(
        (
            math.sqrt((scale * math.log(t) + offset) / n[i]) - abs(S[i] / n[i] - row[i])
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
        for offset in (0.0, 2.5):
            box_now(levels, tally, scratch, 1.5, t, offset)
            expected = [
                margin(row, tally.plays, tally.sums, 1.5, t, offset)
                for row in problem.rewards.unit_means.tolist()
            ]
            np.testing.assert_allclose(scratch.by_model[NOW], expected, rtol=1e-12, atol=1e-14)


def test_competitive_arms_are_those_best_under_a_fitting_model() -> None:
    generator = np.random.default_rng(6)
    counts = []
    for _ in range(200):
        problem = random_problem(generator)
        (levels, scratch), tally = room(problem), some_tally(problem, generator)
        t = int(tally.plays.sum()) + 1
        fitting = {
            int(levels.best[0, model])
            for model, row in enumerate(problem.rewards.unit_means.tolist())
            if margin(row, tally.plays, tally.sums, 0.3, t) >= 0
        }
        assert competitive(levels, tally, scratch, 0.3, t) == (len(fitting) or -1)
        marked = set(np.flatnonzero(scratch.marks[0]).tolist())
        assert marked == (fitting or set(range(len(problem.arms))))
        counts.append(len(fitting))
    assert min(counts) == 0
    assert max(counts) > 1


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
        offset = float(generator.choice([0.0, 1.5]))
        stretch = Stretch(int(tally.plays[0]), float(tally.sums[0]), mean, more, spread)
        scratch.cycle[0] = 0
        envelope = Envelope(np.full(len(problem.arms), mean), spread)
        box_ahead(levels, tally, envelope, scratch, 1.0, t, more, offset)
        low, high = scratch.by_model[LOW], scratch.by_model[HIGH]
        for j in range(more + 1):
            # With nothing played yet nothing was added either.
            least, most = stretch.limits(j) if j else (0.0, 0.0)
            for total in (least, most, (least + most) / 2, generator.uniform(least, most)):
                n, S = tally.plays.copy(), tally.sums.copy()
                n[0] += j
                S[0] += total
                for model, row in enumerate(rows):
                    found = margin(row, n, S, 1.0, t + j, offset)
                    assert low[model] <= found + 1e-12
                    assert found <= high[model] + 1e-12
        if more == 0:
            np.testing.assert_allclose(low, high, atol=1e-12)
        widths.append(float((high - low).max()))
    assert min(widths) < 0.1, "not merely timid"
