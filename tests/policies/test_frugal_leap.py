"""Leaps of the default: they end where another arm becomes worth its cost, to the play.

That no rewards within the envelope break a leap is in ``tests/engine/test_envelope.py``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from moments import Moment, assert_certain_as, moments, normal_problem, small_problem
from reference import divergences

from fpbandits import Frugal, Problem, simulate
from fpbandits.engine.contract import OWN
from fpbandits.policies.shared.doubt import arm_in_doubt
from fpbandits.policies.shared.giving_up import keeps_fitting
from fpbandits.policies.shared.likelihood import bracket

SILENT = Problem.bernoulli([[0.5, 0.4], [0.5, 0.6]], prior={"theta1": 0.97, "theta2": 0.03})
"""Arm 1 tells nothing, so that the posterior stands still until arm 2 is worth its cost."""


def limits(one: Moment, more: int, hs: list[float]) -> tuple[np.ndarray, np.ndarray] | None:
    """Limits of the posterior, and which models may become the likeliest, by limits of deficits."""
    fit, policy = one.workspace.fit, one.policy
    assert isinstance(policy, Frugal)
    bracket(one.prepared.theta, one.envelope, fit, np.array(one.cycle), 1, more)
    low, high = fit.lowest.copy(), fit.highest.copy()
    if policy.false_alarm:
        alarm, played = -math.log(policy.false_alarm), one.cycle[0]
        for model in range(len(high)):
            if not keeps_fitting(
                one.prepared.theta, alarm, one.state, model, one.envelope, played, more
            ):
                high[model] = math.inf
    if high.min() > low.min() + 40:
        return None
    near, far = low - high.min(), high - low.min()
    cut = [40 + 2 * max(math.log(h), 0) for h in hs]
    most = np.where(near <= max(cut), np.exp(-near), 0)
    least = np.where(far <= min(cut), np.exp(high.min() - high), 0)
    return np.array([least / most.sum(), np.minimum(most / least.sum(), 1)]), near <= 2e-9


def information(p: np.ndarray, gaps: np.ndarray, apart: np.ndarray, leader: int) -> np.ndarray:
    """V of each arm, of weights that need not add up to 1: Σ p·g·w·D̄/(1 + D̄)."""
    value = np.zeros(gaps.shape[1])
    for model in range(len(p)):
        others = np.delete(p, model)
        w, told = others.sum(), others @ np.delete(apart[:, model], model, axis=0)
        if w > 0:
            value += p[model] * gaps[model, leader] * w * (told / w) / (1 + told / w)
    return value


WORDS: list[dict[str, Any]] = [
    {},
    {"kappa": 1e-3, "delta": 0.5},
    {"horizon": 5000.0},
    {"lifetime": 300.0},
    {"false_alarm": 1e-4, "trust": 5.0},
    {"false_alarm": 0.4},
]


@pytest.mark.parametrize("options", WORDS, ids=str)
def test_a_plan_is_certain_as_its_docstring_says(options: dict[str, Any]) -> None:
    policy = Frugal(**options)
    make = small_problem if options else normal_problem

    def h(t: int) -> float:
        if policy.horizon:
            return max(policy.horizon - t + 1, 1.0)
        return policy.lifetime or policy.kappa * t ** (1 + policy.delta)

    def stays(one: Moment, more: int, by: float) -> bool:
        leader, t, means = one.cycle[0], int(one.state.plays.sum()) + 1, one.unit_means
        hs = [h(t), h(t + more)]
        found = limits(one, more, hs)
        if found is None:
            return False
        (least, most), likeliest = found
        gaps = means.max(axis=1, keepdims=True) - means
        gaps[gaps < 1e-9] = 0
        loss = np.array([least @ gaps, most @ gaps])
        apart = divergences(one.problem)
        value = [information(p, gaps, apart, leader) for p in (least, most)]
        for model in np.flatnonzero(likeliest):
            if gaps[model, leader]:
                return False
            if policy.false_alarm:
                trusted, theta = one.prepared.trusted_until, one.prepared.theta
                if leader != arm_in_doubt(
                    theta, trusted, one.state, int(model), 0, leader, t + more
                ):
                    return False
            for arm in np.flatnonzero(gaps[model] == 0):
                more_lost = gaps[:, arm] - gaps[:, leader]
                excess = np.where(more_lost > 0, least, most) @ more_lost
                if arm != leader and excess < (2e-9 * loss[1, arm] if arm < leader else 0):
                    return False
        worth = value[1] * max(hs) * (1 - by) >= loss[0]
        ratio = value[1] * loss[1, leader] * (1 - by) >= value[0][leader] * loss[0]
        others = np.arange(len(worth)) != leader
        return not (others & (value[1] > 0) & worth & ratio).any()

    def leads(one: Moment) -> bool:
        return bool(one.cycle[0] == one.workspace.leaders[0] and one.state.counters[OWN] == 0)

    assert_certain_as(stays, filter(leads, moments(policy, 60, make)), least=10)


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
