"""Θ by level, against loops over every model and arm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from plans import random_problem

from fpbandits import Problem
from fpbandits.engine.compiling import prepare
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies import POLICIES
from fpbandits.policies.shared.levels import LIKELIHOOD, SQUARES, theta


@pytest.mark.parametrize("kind", [LIKELIHOOD, SQUARES])
def test_levels_by_plain_loops(kind: int) -> None:
    generator = np.random.default_rng(2)
    for _ in range(60):
        problem = random_problem(generator)
        means = problem.rewards.unit_means.tolist()
        found = theta(problem, kind)
        assert found.kind == kind
        for model, row in enumerate(means):
            best = [arm for arm, mean in enumerate(row) if mean >= max(row) - 1e-12]
            assert found.best[0, model] == best[0]
            assert found.top[0, model] == row[best[0]]
            assert np.flatnonzero(found.is_best[:, model]).tolist() == best
            for arm, mean in enumerate(row):
                code = found.codes[arm, model]
                assert found.levels[arm, code] == mean
                win = (1 - mean) ** 2 if kind == SQUARES else -math.log(mean)
                loss = mean**2 if kind == SQUARES else -math.log1p(-mean)
                assert found.win[arm, code] == pytest.approx(win, rel=1e-12)
                assert found.loss[arm, code] == pytest.approx(loss, rel=1e-12)
        for arm in range(len(problem.arms)):
            own = sorted({row[arm] for row in means})
            assert found.counts[arm] == len(own)
            assert found.levels[arm, : len(own)].tolist() == own


def test_what_a_model_rules_out_is_dear_but_finite() -> None:
    found = theta(Problem.bernoulli([[0.0, 1.0], [0.5, 0.5]]))
    zero, one = found.codes[0, 0], found.codes[1, 0]
    assert found.win[0, zero] == found.loss[1, one] == IMPOSSIBLE
    assert found.loss[0, zero] == found.win[1, one] == 0
    assert np.isfinite(found.win).all()
    assert np.isfinite(found.loss).all()


def test_there_is_room_for_every_model_and_level() -> None:
    problem = Problem.bernoulli([[0.1, 0.2], [0.3, 0.2], [0.5, 0.2]])
    for name in ("optimist", "ucb-s", "least-squares", "thompson-theta"):
        policy = POLICIES[name]()
        scratch = policy.scratch(prepare(policy, problem), 2)
        assert scratch.by_model.shape == (4, 3)
        assert scratch.by_level.shape == (3, 2, 3)
