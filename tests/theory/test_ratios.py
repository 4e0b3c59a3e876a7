"""What a reward tells of two models, against draws and closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import fpbandits as fpb
from fpbandits.core.arrays import Floats
from fpbandits.theory.ratios import Atoms, Continuous, Transitions, log_ratio

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


# On five points with a small step, bins of continuous rewards are wider than the grid.
@pytest.mark.parametrize(("step", "points"), [(0.05, 500), (0.001, 5)])
@pytest.mark.parametrize("name", PROBLEMS)
def test_probabilities_and_chords_add_up(name: str, step: float, points: int) -> None:
    for pair in (0, 1):
        found = transitions(name, pair, step, points)
        assert found.under_first.sum() == pytest.approx(1, abs=1e-9)
        assert found.under_second.sum() == pytest.approx(1, abs=1e-9)
        assert (found.low_weight >= 0).all()
        assert (found.high_weight >= 0).all()
        assert (found.low_weight + found.high_weight <= found.under_first + 1e-15).all()
        inside = found.widths > 0
        odds = np.exp(step * found.shifts), np.exp(step * (found.shifts + found.widths))
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


def atoms(first: list[float], second: list[float]) -> Atoms:
    return Atoms(np.array(first), np.array(second))


def test_values_of_a_ratio_have_the_chances_of_their_rewards() -> None:
    """Two rewards tell ln 1.5, one tells the opposite; of two more each rules a model out."""
    found = atoms([0.2, 0.2, 0.3, 0.3, 0.0], [0.3, 0.3, 0.2, 0.0, 0.2])
    assert found.ratio == pytest.approx([-math.log(1.5), math.log(1.5)])
    assert found.under_first == pytest.approx([0.3, 0.4])
    assert found.under_second == pytest.approx([0.2, 0.6])
    assert found.deviation == pytest.approx(math.log(1.5) * math.sqrt(0.7))
    assert found.count_weights(0.1) == 4


def test_steps_that_fit_are_parts_of_a_ratio() -> None:
    found, step = atoms([0.2, 0.8], [0.5, 0.5]), 0.013
    parts = [abs(ratio) / n for ratio in found.ratio for n in range(1, 65)]
    expected = [part for part in parts if step <= part <= 4 * step]
    assert sorted(found.fitting_steps(step)) == pytest.approx(sorted(expected))
    assert found.ratio[1] / 65 > step, "64 parts are the most"
    assert len(expected) > 50


def test_chords_add_the_variance_of_their_ends() -> None:
    """ℓ becomes one of the two multiples of the step beside it, with the same mean."""
    found = atoms([0.2, 0.5, 0.3], [0.5, 0.1, 0.4])
    for step in (0.05, 0.3, 2.0):
        added = 0.0
        for ratio, chance in zip(found.ratio, found.under_first, strict=True):
            low = math.floor(ratio / step) * step
            up = (ratio - low) / step
            added += chance * (up * (low + step - ratio) ** 2 + (1 - up) * (ratio - low) ** 2)
        moment = found.under_first @ found.ratio**2
        assert found.added_variance(np.array([step]))[0] == pytest.approx(added / moment)
    whole = abs(found.ratio[0]) / np.arange(1, 65)
    only = atoms([0.2, 0.5], [0.2 * math.exp(found.ratio[0]), 0.5])
    assert only.added_variance(whole) == pytest.approx(np.zeros(64), abs=1e-12)
    assert atoms([1.0], [1.0]).added_variance(np.array([0.1, 0.2])).tolist() == [0, 0]


def test_a_ratio_that_is_a_multiple_of_the_step_but_for_rounding_is_on_the_grid() -> None:
    found = atoms([0.9, 0.1], [0.2, 0.8])
    up = found.ratio[1]
    assert any(up / (up / n) < n for n in range(1, 200)), "rounding does this at times"
    for n in range(1, 200):
        assert found.transitions(up / n, 10**4).shifts[1] == n


def test_chords_by_hand() -> None:
    """On a grid with step ln 2, odds of 3 lie halfway between 2 and 4, and a third below."""
    found = atoms([0.25, 0.75], [0.75, 0.25]).transitions(math.log(2), 100)
    assert found.shifts.tolist() == [-2, 1]
    assert found.widths.tolist() == [1, 1]
    assert found.under_first == pytest.approx([0.75, 0.25])
    assert found.under_second == pytest.approx([0.25, 0.75])
    assert found.low_weight == pytest.approx([0.5, 0.125])
    assert found.high_weight == pytest.approx([0.25, 0.125])
    assert [each.tolist() for each in found.ends()] == [
        [-2, 1, -1, 2],
        pytest.approx([0.5, 0.125, 0.25, 0.125]),
    ]


def test_what_leaves_the_grid_at_once_is_certain() -> None:
    """Odds fall to 1/4 or rise to 4 beyond a grid of one point, which has the step ln 2.

    Below it lies certainty, by a chord to odds of 0; above it the value can only be larger.
    """
    found = atoms([0.8, 0.2], [0.2, 0.8]).transitions(math.log(2), 1)
    assert found.shifts.tolist() == [-1, 1]
    assert found.widths.tolist() == [0, 0]
    assert found.low_weight == pytest.approx([0.4, 0.2])
    assert found.high_weight.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("step", "deviation", "width", "first", "last"),
    [
        # 32 bins per deviation on the finest grid, 8 on the coarsest, 16 between the two.
        (0.001, 1.0, 31, -136, 155),
        (0.25, 10.0, 5, -36, 37),
        (math.sqrt(0.001 * 0.25), 1.0, 4, -67, 76),
        (0.25, 0.5, 1, -8, 11),  # no bin is below a step
    ],
)
def test_bins_of_continuous_rewards(
    step: float, deviation: float, width: int, first: int, last: int
) -> None:
    """They reach 4.5 deviations to both sides of 0.3, and are multiples of their width."""
    found = Continuous(lambda at: (at, at), 0.3, deviation)
    edges = found._edges(step)
    assert edges.tolist() == [width * n for n in range(first, last + 1)]
    reach = 4.5 * deviation
    assert 0.3 - reach - width * step < edges[0] * step <= 0.3 - reach
    assert 0.3 + reach < edges[-1] * step <= 0.3 + reach + width * step


@pytest.mark.parametrize("name", ["gaussian", "beta", "rising"])
def test_bins_lie_about_the_middle_of_the_ratio(name: str) -> None:
    """Mean and deviation of ℓ by integration over rewards, with SciPy's densities."""
    laws: list[Any]
    if name == "gaussian":
        problem = PROBLEMS[name]
        laws = [stats.norm(mean, 2) for mean in (0, 1)]
    else:
        means = [0.6, 0.4] if name == "beta" else [0.25, 0.5]
        problem = fpb.Problem.beta([[mean, 0.5] for mean in means], concentration=4)
        laws = [stats.beta(4 * mean, 4 * (1 - mean)) for mean in means]
    found = log_ratio(problem.rewards, 0)
    assert isinstance(found, Continuous)
    means, deviations = [], []
    for law in laws:
        rewards = law.ppf((np.arange(10**5) + 0.5) / 10**5)
        ratio = laws[1].logpdf(rewards) - laws[0].logpdf(rewards)
        means.append(ratio.mean())
        deviations.append(ratio.std())
        below = found.cdf(np.array([0.2]))[len(means) - 1]
        assert below == pytest.approx(np.mean(ratio <= 0.2), abs=2e-5)
    assert found.middle == pytest.approx(np.mean(means), abs=1e-4)
    spread = max(deviations) + abs(means[1] - means[0]) / 4
    assert found.deviation == pytest.approx(spread, rel=2e-3)
    assert found.count_weights(0.05) == len(found.transitions(0.05, 500).shifts)


def test_means_that_differ_by_rounding_alone_tell_nothing() -> None:
    first, second = 0.9, np.nextafter(0.9, 1)
    assert first * 0.6 == second * 0.6
    rewards = fpb.Problem.beta([[first, 0.5], [second, 0.5]], concentration=0.6).rewards
    found = log_ratio(rewards, 0)
    assert isinstance(found, Atoms)
    assert found.ratio.tolist() == [0]


def test_equal_means_need_not_be_equal_distributions() -> None:
    problem = fpb.Problem.discrete([[[0.5, 0, 0.5]], [[0.25, 0.5, 0.25]]], support=[0, 0.5, 1])
    found = log_ratio(problem.rewards, 0)
    assert isinstance(found, Atoms)
    assert found.ratio == pytest.approx([-math.log(2)])
    assert (found.under_first.tolist(), found.under_second.tolist()) == ([1.0], [0.5])
