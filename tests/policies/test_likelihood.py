"""Misfits, against plain Python."""

from __future__ import annotations

import numpy as np
import reference
from plans import random_problem

from fpbandits import Optimist


def test_misfits_are_those_of_plain_python() -> None:
    generator = np.random.default_rng(3)
    for _ in range(50):
        problem = random_problem(generator)
        tally = Optimist().tally(problem)
        tally.plays[:] = generator.integers(0, 50, len(problem.arms))
        tally.sums[:] = tally.plays * generator.choice([0, 0.25, 1], len(problem.arms))
        expected = reference.misfits(
            problem.rewards.unit_means.tolist(), tally.plays.tolist(), tally.sums.tolist()
        )
        np.testing.assert_allclose(
            Optimist(likelihood="means").misfits(problem, tally), expected, rtol=1e-9, atol=1e-9
        )
