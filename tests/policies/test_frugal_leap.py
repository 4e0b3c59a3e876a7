"""Leaps of the default: they end where another arm becomes worth its cost, to the play.

That no rewards within the envelope break a leap is in ``tests/engine/test_envelope.py``.
"""

from __future__ import annotations

import numpy as np
import pytest

from fpbandits import Problem, simulate

SILENT = Problem.bernoulli([[0.5, 0.4], [0.5, 0.6]], prior={"theta1": 0.97, "theta2": 0.03})
"""Arm 1 tells nothing, so that the posterior stands still until arm 2 is worth its cost."""


@pytest.mark.parametrize("kappa", [1e-2, 1e-3])
def test_a_leap_ends_where_another_arm_is_worth_its_cost(kappa: float) -> None:
    word = f"frugal:kappa={kappa}"
    at = np.unique(np.geomspace(1, 10**6, 4000).astype(int)).tolist()
    leaping, stepping = (
        simulate(SILENT, word, truth="theta1", horizon=10**6, runs=1, times=at, leap=leap)
        for leap in (True, False)
    )
    first = [int((each.pulls[word][0, :, 1] > 0).argmax()) for each in (leaping, stepping)]
    assert first[0] == first[1] > 0
    # V·h ≥ c: .03·.97·.1·D/(1 + D) of arm 2, D = kl(.4, .6), for .97·.1 of expected loss.
    D = 0.4 * np.log(0.4 / 0.6) + 0.6 * np.log(0.6 / 0.4)
    value = 0.03 * 0.1 * 0.97 * D / (1 + D)
    t = (0.97 * 0.1 / value / kappa) ** (1 / 1.1)
    assert at[first[0] - 1] < np.ceil(t) <= at[first[0]]
    assert leaping.plans[word][0] < len(at) + 100 < stepping.plans[word][0]


def test_leaping_and_stepwise_runs_have_the_same_law_with_ties() -> None:
    """Two of three models hold two arms for best; mean pulls of 300 runs of each kind.

    Within 4.5 standard errors for each of three arms: false with probability below 1e-4.
    """
    problem = Problem.bernoulli([[0.4, 0.5, 0.2], [0.5, 0.5, 0.2], [0.5, 0.5, 0.7]])
    leaping, stepping = (
        simulate(problem, "frugal", truth="prior", horizon=3000, runs=300, seed=seed, leap=leap)
        for seed, leap in ((1, True), (2, False))
    )
    a, b = (each.pulls["frugal"][:, -1] for each in (leaping, stepping))
    error = np.sqrt(a.var(axis=0) / 300 + b.var(axis=0) / 300)
    assert (abs(a.mean(axis=0) - b.mean(axis=0)) < 4.5 * error + 1e-9).all()
    assert leaping.plans["frugal"].mean() < 0.3 * stepping.plans["frugal"].mean()
