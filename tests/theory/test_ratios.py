"""What a reward tells of two models, against draws and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.core.arrays import Floats
from fpbandits.theory.ratios import Transitions, log_ratio

PROBLEMS = {
    "bernoulli": fpb.Problem.bernoulli([[0.3, 0.5], [0.6, 0.5]]),
    "extreme": fpb.Problem.bernoulli([[1e-12, 0.5], [1 - 1e-12, 0.5]]),
    "values": fpb.Problem.bernoulli([[0.3, 0.5], [0.6, 0.5]], value=[2, 3]),
    "discrete": fpb.Problem.discrete(
        [[[0.2, 0.3, 0.5], [1, 0, 0]], [[0.5, 0.3, 0.2], [1, 0, 0]]], support=[0, 0.5, 1]
    ),
    "gaussian": fpb.Problem.gaussian([[0, 1], [1, 1]], deviation=2),
    "far": fpb.Problem.gaussian([[0, 1], [400, 1]], deviation=2),
    "beta": fpb.Problem.beta([[0.6, 0.5], [0.4, 0.5]], concentration=4),
}


def transitions(name: str, pair: int = 0, step: float = 0.05, points: int = 500) -> Transitions:
    return log_ratio(PROBLEMS[name].rewards, pair).transitions(step, points)


@pytest.mark.parametrize("name", PROBLEMS)
def test_probabilities_and_chords_add_up(name: str) -> None:
    for pair in (0, 1):
        found = transitions(name, pair)
        assert found.under_first.sum() == pytest.approx(1, abs=1e-9)
        assert found.under_second.sum() == pytest.approx(1, abs=1e-9)
        assert (found.low_weight >= 0).all()
        assert (found.high_weight >= 0).all()
        assert (found.low_weight + found.high_weight <= found.under_first + 1e-15).all()
        inside = (found.widths > 0) & (np.abs(found.shifts) < 500)
        odds = np.exp(0.05 * found.shifts), np.exp(0.05 * (found.shifts + found.widths))
        kept = found.low_weight * odds[0] + found.high_weight * odds[1]
        assert kept[inside] == pytest.approx(found.under_second[inside], rel=1e-6, abs=1e-14)


@pytest.mark.parametrize("name", PROBLEMS)
def test_an_arm_of_equal_distributions_tells_nothing(name: str) -> None:
    found = transitions(name, pair=1)
    assert found.shifts.tolist() == [0]
    assert found.under_first.tolist() == [1]


def draws(name: str, random: np.random.Generator) -> tuple[Floats, Floats]:
    """ℓ of rewards of the first arm, drawn under the first model and under the second."""
    if name == "gaussian":
        rewards = random.normal(0, 2, 10**5), random.normal(1, 2, 10**5)
        return tuple((2 * r - 1) / 8 for r in rewards)  # type: ignore[return-value]
    rewards = random.beta(2.4, 1.6, 10**5), random.beta(1.6, 2.4, 10**5)
    return tuple(0.8 * (np.log(1 - r) - np.log(r)) for r in rewards)  # type: ignore[return-value]


@pytest.mark.parametrize("name", ["gaussian", "beta"])
def test_bins_of_continuous_rewards_hold_what_is_drawn(name: str) -> None:
    """Each of some 100 shares within 5 standard errors: a false alarm in 10,000 seeds."""
    found = transitions(name)
    edges = 0.05 * np.unique(np.r_[found.shifts, found.shifts + found.widths])
    for own, drawn in zip(
        (found.under_first, found.under_second), draws(name, np.random.default_rng(1)), strict=True
    ):
        seen = np.histogram(drawn, [-np.inf, *edges, np.inf])[0] / 1e5
        assert (np.abs(seen - own) <= 5 * np.sqrt(own / 1e5) + 1e-4).all()
