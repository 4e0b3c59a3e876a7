"""Θ by level, against loops over every model and arm."""

from __future__ import annotations

import math

import numpy as np
import pytest
from plans import random_problem

from fpbandits import Problem
from fpbandits.families.information import IMPOSSIBLE
from fpbandits.policies.shared.levels import theta


def test_levels_by_plain_loops() -> None:
    generator = np.random.default_rng(2)
    for _ in range(60):
        problem = random_problem(generator)
        means = problem.rewards.unit_means.tolist()
        found = theta(problem)
        assert not found.by_law
        for model, row in enumerate(means):
            best = [arm for arm, mean in enumerate(row) if mean >= max(row) - 1e-12]
            assert found.best[0, model] == best[0]
            assert found.top[0, model] == row[best[0]]
            assert np.flatnonzero(found.is_best[:, model]).tolist() == best
            for arm, mean in enumerate(row):
                code = found.codes[arm, model]
                assert found.levels[arm, code] == mean
                assert found.win[arm, code] == pytest.approx(-math.log(mean), rel=1e-12)
                assert found.loss[arm, code] == pytest.approx(-math.log1p(-mean), rel=1e-12)
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
