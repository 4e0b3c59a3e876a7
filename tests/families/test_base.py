"""What every family promises of its draws, its likelihood and its statistics: against SciPy."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import (
    KINDS,
    Example,
    bernoulli,
    chi_square,
    discrete,
    examples,
    families,
    gaussian,
    kind_of,
    reproducible,
    two_point,
)
from scipy import stats

from fpbandits import InputError, Problem, load_problem, save_problem
from fpbandits.families import RewardFamily
from fpbandits.families.information import IMPOSSIBLE


@pytest.mark.parametrize("rewards", families(), ids=kind_of)
def test_draws_have_the_mean_and_stay_in_the_unit_interval(rewards: RewardFamily) -> None:
    """Seed 7; 4 z-tests at 5 standard errors: a false alarm in 4e5 seeds for each family."""
    generator = np.random.default_rng(7)
    for model in (0, 1):
        for arm in (0, 1):
            law = rewards.law(model)
            sample = np.array(
                [
                    rewards.draw_sum(law, arm, 1, generator, np.zeros(rewards.statistics))
                    for _ in range(20_000)
                ]
            )
            if rewards.bounded:
                assert sample.min() >= 0
                assert sample.max() <= 1
            error = sample.std() / math.sqrt(len(sample)) + 1e-12
            assert abs(sample.mean() - rewards.unit_means[model, arm]) < 5 * error


def test_huge_sums_take_one_draw() -> None:
    generator = np.random.default_rng(3)
    plays = 10**15
    for rewards in (bernoulli(), discrete(), gaussian(), two_point()):
        assert rewards.sum_in_one_draw
        mean = (
            rewards.draw_sum(rewards.law(0), 0, plays, generator, np.zeros(rewards.statistics))
            / plays
        )
        # Eight standard deviations of a mean of 1e15 rewards.
        assert abs(mean - rewards.unit_means[0, 0]) < 8 * 0.5 / math.sqrt(plays)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_law_of_scipy(kind: str) -> None:
    """12 random problems per family, one K-S or χ² test each, at level 1e-6."""
    tested: list[int] = []

    @reproducible
    @given(examples(kind), st.integers(0, 2**32 - 1))
    def check(example: Example, seed: int) -> None:
        if len(tested) >= 12:
            return
        rewards, generator = example.problem.rewards, np.random.default_rng(seed)
        sample = np.array(
            [
                rewards.zero
                + rewards.width
                * rewards.draw_sum(rewards.law(1), 1, 1, generator, np.zeros(rewards.statistics))
                for _ in range(3000)
            ]
        )
        law = example.laws[1][1]
        if law.points is None:
            assert stats.kstest(sample, law.density.cdf).pvalue > 1e-6
        else:
            nearest = np.array(list(law.points))
            places = np.abs(sample[:, np.newaxis] - nearest).argmin(axis=1)
            assert np.abs(sample - nearest[places]).max() < 1e-9 * rewards.width
            observed = np.bincount(places, minlength=len(nearest))
            assert chi_square(observed, 3000 * np.array(list(law.points.values()))) > 1e-6
        tested.append(seed)

    check()
    assert len(tested) == 12


@reproducible
@given(examples(), st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_costs_are_differences_of_log_likelihoods(example: Example, seed: int, plays: int) -> None:
    """Of a few rewards that are possible under either model, by SciPy's densities."""
    rewards, generator = example.problem.rewards, np.random.default_rng(seed)
    made = rewards.costs()
    for arm in (0, 1):
        laws = [row[arm] for row in example.laws]
        told = [laws[generator.integers(2)].some(generator) for _ in range(plays)]
        by_scipy = [-sum(law.log(reward) for reward in told) for law in laws]
        units = rewards.to_unit(np.array(told)).tolist()
        if made is None:  # Bernoulli rewards, whose sum is enough
            q, wins = rewards.unit_means[:, arm], sum(units)
            costs = -wins * np.log(q) - (plays - wins) * np.log1p(-q)
        else:
            base, cost = made
            counted = np.sum([rewards.statistics_of(arm, unit) for unit in units], axis=0)
            assert counted.shape == (rewards.statistics,)
            costs = plays * base[:, arm] + cost[:, arm] @ counted
        if max(by_scipy) == math.inf:
            assert [c >= IMPOSSIBLE for c in costs] == [c == math.inf for c in by_scipy]
        else:
            scale = 1 + max(map(abs, [*by_scipy, *costs]))
            assert costs[1] - costs[0] == pytest.approx(by_scipy[1] - by_scipy[0], abs=1e-9 * scale)


@reproducible
@given(examples())
def test_expectations_are_integrals(example: Example) -> None:
    """Of means, of statistics, and of the log-likelihood ratio, which is the divergence."""
    rewards = example.problem.rewards
    zero, width = rewards.zero, rewards.width
    expected, divergence = rewards.expected(0), rewards.divergence(0, np.array([0, 1]))
    assert divergence[0].tolist() == [0, 0]
    for arm in (0, 1):
        own, other = example.laws[0][arm], example.laws[1][arm]
        assert rewards.means[0, arm] == pytest.approx(own.mean, rel=1e-12, abs=1e-12)
        for k in range(rewards.statistics):
            by_hand = own.expect(
                lambda r, arm=arm, k=k: rewards.statistics_of(arm, (r - zero) / width)[k]  # type: ignore[misc]  # bound
            )
            assert expected[arm, k] == pytest.approx(by_hand, rel=1e-5, abs=1e-6)
        ratio = own.expect(lambda r, a=own, b=other: a.log(r) - b.log(r))  # type: ignore[misc]  # bound
        assert divergence[1, arm] == pytest.approx(ratio, rel=1e-5, abs=1e-6)


@reproducible
@given(examples())
def test_chances_and_variances_are_scipys(example: Example) -> None:
    rewards = example.problem.rewards
    kind, chances, variances = kind_of(rewards), rewards.chances(), rewards.variances()
    assert (chances is None) == (kind in ("Beta", "Gaussian"))
    assert (variances is None) == (kind in ("Bernoulli", "TwoPoint"))
    assert rewards.expected(1).shape == (2, rewards.statistics)
    for model, arm in np.ndindex(2, 2):
        law = example.laws[model][arm]
        if law.points is None:
            variance = float(law.density.var())
        else:
            assert chances is not None
            assert chances[model, arm].tolist() == pytest.approx(list(law.points.values()))
            variance = law.expect(lambda r, mean=law.mean: (r - mean) ** 2)  # type: ignore[misc]  # bound
        if variances is not None:
            in_units = rewards.width**2 * variances[model, arm]
            assert in_units == pytest.approx(variance, abs=1e-12 * rewards.width**2)


class Counting:
    """A generator that counts how often it is asked."""

    def __init__(self) -> None:
        self.generator, self.asked = np.random.default_rng(2), 0

    def __getattr__(self, name: str) -> Any:
        self.asked += 1
        return getattr(self.generator, name)


REVENUE = Problem.revenue([[0.3, 0.8], [0.1, 0.8]], [[40, 10], [60, 12]], 2.5).rewards


@pytest.mark.parametrize("rewards", [*families(), REVENUE], ids=kind_of)
def test_what_a_family_says_of_itself_is_true(rewards: RewardFamily) -> None:
    law, random = rewards.law(0), Counting()
    draws = [rewards.draw_sum(law, 0, 1, random, np.zeros(rewards.statistics)) for _ in range(99)]
    assert rewards.all_or_nothing == (set(draws) == {0, 1})
    assert rewards.bounded == np.isfinite(rewards.range).all()
    random.asked = 0
    rewards.draw_sum(law, 0, 10**4, random, np.zeros(rewards.statistics))
    assert rewards.sum_in_one_draw == (random.asked < 100)
    # As sums of rewards in [0, 1] do, or of normal ones.
    near = all(0 <= s <= 1 or s == r for r in draws for s in rewards.statistics_of(0, r))
    assert rewards.leaps == (rewards is not REVENUE)
    assert rewards.statistics_stay_near == (near and rewards.leaps)
    fields = {name: part for name, part in rewards.content.items() if name != "rows"}
    try:
        Problem.of_family(rewards.name, rewards.rows, fields, range=(0, 20))
    except InputError:
        assert not rewards.takes_range
    else:
        assert rewards.takes_range
    possible = {"Bernoulli": [0, 1], "Discrete": [0, 0.25, 1]}.get(kind_of(rewards))
    found = rewards.possible
    assert (None if found is None else found.tolist()) == possible


@reproducible
@given(examples())
def test_the_same_law_is_told_from_others(example: Example) -> None:
    for arm in (0, 1):
        one, other = example.laws[0][arm], example.laws[1][arm]
        if one.points is not None and other.points is not None:
            same = one.points == other.points
        else:
            same = one.mean == other.mean
        assert example.problem.rewards.same_law(0, arm).tolist() == [True, same]


@reproducible
@given(examples(), st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_statistics_drawn_fit_the_sum_drawn(example: Example, seed: int, plays: int) -> None:
    """Whatever is drawn: counts make up the plays and the sum; a normal sum is its statistic."""
    rewards = example.problem.rewards
    statistics = np.zeros(rewards.statistics)
    total = rewards.draw_sum(rewards.law(0), 0, plays, np.random.default_rng(seed), statistics)
    law = example.laws[0][0]
    if law.points is None:
        if rewards.statistics == 1:
            assert statistics[0] == total
        else:  # logarithms of rewards and of what is missing to 1, by Jensen's inequality
            assert statistics[0] <= plays * math.log(total / plays) + 1e-9
            assert statistics[1] <= plays * math.log1p(-total / plays) + 1e-9
    elif rewards.statistics:
        assert statistics.sum() == plays
        in_units = rewards.zero * plays + rewards.width * total
        # Of a price and nothing the price is counted first.
        values = list(law.points)[:: 1 if len(law.points) > 2 else -1]
        assert in_units == pytest.approx(
            float(statistics @ values), abs=1e-9 * rewards.width * plays
        )


@pytest.mark.parametrize("rewards", [discrete(), two_point()], ids=kind_of)
def test_counts_of_many_plays_are_multinomial(rewards: RewardFamily) -> None:
    """Seed 5; a χ² test per statistic at level 1e-5, against SciPy's binomials."""
    generator = np.random.default_rng(5)
    counts = np.zeros((5000, rewards.statistics))
    for row in counts:
        rewards.draw_sum(rewards.law(0), 0, 9, generator, row)
    chances = LAWS_OF_FIRST[kind_of(rewards)]
    for k, chance in enumerate(chances):
        observed = np.bincount(counts[:, k].astype(int), minlength=10)
        assert chi_square(observed, 5000 * stats.binom.pmf(np.arange(10), 9, chance)) > 1e-5


LAWS_OF_FIRST = {"Discrete": [0.2, 0.3, 0.5], "TwoPoint": [0.3, 0.7]}


@reproducible
@given(example=examples())
def test_files_bring_a_problem_back_bit_for_bit(
    tmp_path_factory: pytest.TempPathFactory, example: Example
) -> None:
    path: Path = tmp_path_factory.mktemp("saved") / "problem.toml"
    save_problem(example.problem, path)
    again = load_problem(path)
    assert again == example.problem
    assert again.range == example.problem.range
    assert type(again.rewards) is type(example.problem.rewards)
    for key, part in example.problem.rewards.content.items():
        np.testing.assert_array_equal(np.asarray(again.rewards.content[key]), np.asarray(part))
    np.testing.assert_array_equal(again.rewards.unit_means, example.problem.rewards.unit_means)


def test_fingerprints_tell_laws_of_equal_means_apart() -> None:
    means = [[0.3, 0.8], [0.9, 0.05]]
    laws = [[[1 - p, 0.0, p] for p in row] for row in means]
    problems = [
        Problem.bernoulli(means),
        Problem.bernoulli(means, value=[1, 1]),
        Problem.bernoulli([[0.15, 0.8], [0.45, 0.05]], value=[2, 1]),
        Problem.beta(means, 2),
        Problem.beta(means, 3),
        Problem.gaussian(means, 0.5),
        Problem.gaussian(means, 0.6),
        Problem.discrete(laws, [0, 0.5, 1]),
        Problem.discrete(laws, [0, 0.6, 1]),
    ]
    for problem in problems:
        np.testing.assert_allclose(problem.means, means)
    assert len({problem.fingerprint for problem in problems}) == len(problems)
