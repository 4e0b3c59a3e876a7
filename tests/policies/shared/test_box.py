"""Margins of models that fit arm by arm, against brute force."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
from plans import Stretch, random_problem

from fpbandits import Problem
from fpbandits.engine.contract import COUNTERS, Envelope, State
from fpbandits.policies.shared.box import Box, Margins, box_ahead, box_now, competitive, new_margins
from fpbandits.policies.shared.levels import theta


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


def draw_state(problem: Problem, generator: np.random.Generator) -> State:
    plays = generator.integers(0, 60, len(problem.arms))
    plays[0] += 1
    sums = plays * generator.random(len(problem.arms))
    return State(plays, sums, np.zeros(COUNTERS, np.int64))


def box_and_margins(problem: Problem, scale: float, offset: float = 0.0) -> tuple[Box, Margins]:
    levels = theta(problem)
    return Box(levels, scale, offset), new_margins(levels)


def test_margins_now() -> None:
    generator = np.random.default_rng(4)
    for _ in range(60):
        problem = random_problem(generator)
        state = draw_state(problem, generator)
        t = int(state.plays.sum()) + 1
        for offset in (0.0, 2.5):
            box, margins = box_and_margins(problem, 1.5, offset)
            box_now(box, state, margins, t)
            expected = [
                margin(row, state.plays, state.sums, 1.5, t, offset)
                for row in problem.rewards.unit_means.tolist()
            ]
            np.testing.assert_allclose(margins.now, expected, rtol=1e-12, atol=1e-14)


def test_competitive_arms_are_those_best_under_a_fitting_model() -> None:
    generator = np.random.default_rng(6)
    counts = []
    for _ in range(200):
        problem = random_problem(generator)
        (box, margins), state = box_and_margins(problem, 0.3), draw_state(problem, generator)
        t, marks = int(state.plays.sum()) + 1, np.zeros(len(problem.arms), np.int64)
        fitting = {
            int(box.theta.best[0, model])
            for model, row in enumerate(problem.rewards.unit_means.tolist())
            if margin(row, state.plays, state.sums, 0.3, t) >= 0
        }
        assert competitive(box, state, margins, marks, t) == (len(fitting) or -1)
        marked = set(np.flatnonzero(marks).tolist())
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
        state = draw_state(problem, generator)
        t, more = int(state.plays.sum()) + 1, int(generator.integers(0, 40))
        mean, spread = float(generator.random()), float(generator.choice([0.1, 2.0, math.inf]))
        offset = float(generator.choice([0.0, 1.5]))
        stretch = Stretch(int(state.plays[0]), float(state.sums[0]), mean, more, spread)
        box, margins = box_and_margins(problem, 1.0, offset)
        envelope = Envelope(np.full(len(problem.arms), mean), spread)
        box_ahead(box, state, margins, envelope, 0, t, more)
        low, high = margins.lowest, margins.highest
        for j in range(more + 1):
            # With nothing played yet nothing was added either.
            least, most = stretch.limits(j) if j else (0.0, 0.0)
            for total in (least, most, (least + most) / 2, generator.uniform(least, most)):
                n, S = state.plays.copy(), state.sums.copy()
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


def test_margins_ahead_allow_for_rounding() -> None:
    """Where sums are sure the limits are margins, and no rounding takes one beyond the other."""
    generator = np.random.default_rng(8)
    for _ in range(100):
        problem = Problem.bernoulli([[float(generator.integers(2)), 0.5]])
        mean = float(problem.means[0, 0])
        state = draw_state(problem, generator)
        state.plays[1] = 0
        state.sums[0] = round(state.sums[0] * 2**30) / 2**30  # a few more ones leave it exact
        t, more = int(state.plays.sum()) + 1, int(generator.integers(1, 40))
        box, margins = box_and_margins(problem, 1.0, 0.5)
        box_ahead(box, state, margins, Envelope(np.array([mean, 0.5]), 0.0), 0, t, more)
        n, total = int(state.plays[0]), float(state.sums[0])
        with mpmath.workdps(40):
            offs = [
                abs(mpmath.mpf(total + j * mean) / (n + j) - mpmath.mpf(mean)) for j in (0, more)
            ]
            inner = mpmath.sqrt((mpmath.log(t) + 0.5) / (n + more)) - max(offs)
            outer = mpmath.sqrt((mpmath.log(t + more) + 0.5) / n) - min(offs)
            assert 0 < inner - margins.lowest[0] < 4e-15
            assert 0 < margins.highest[0] - outer < 4e-15
