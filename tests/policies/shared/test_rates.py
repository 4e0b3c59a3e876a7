"""Rates of exploration: the cheapest there are, by trying every corner; solved once."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from oracle import Oracle, kl_bernoulli, kl_beta

from fpbandits import InputError, Problem
from fpbandits.policies.shared import rates as module
from fpbandits.policies.shared.rates import rates


def draw_problem(generator: np.random.Generator) -> Problem:
    """Few levels, so that models look alike."""
    return Problem.bernoulli(generator.choice([0.1, 0.3, 0.5, 0.7, 0.9], (7, 3)))


def test_rates_are_enough_and_cost_the_least() -> None:
    generator = np.random.default_rng(8)
    explored = 0
    for _ in range(30):
        problem = draw_problem(generator)
        means = problem.means.tolist()
        over_a, over_all = (rates(problem, everywhere=everywhere) for everywhere in (False, True))
        np.testing.assert_array_equal(over_a.first, over_all.first)
        np.testing.assert_array_equal(over_a.rivals, over_all.rivals)
        for truth in range(len(means)):
            oracle = Oracle(
                means,
                truth,
                lambda one, other, arm, means=means: kl_bernoulli(  # type: ignore[misc]
                    means[one][arm], means[other][arm]
                ),
                lambda one, other, arm, means=means: means[one][arm] == means[other][arm],  # type: ignore[misc]
            )
            rivals = over_a.rivals[over_a.first[truth] : over_a.first[truth + 1]].tolist()
            assert rivals == oracle.needed()
            for table, arms in ((over_a.plays, oracle.A), (over_all.plays, [0, 1, 2])):
                pulls = table[truth]
                assert (pulls >= 0).all()
                if not rivals:
                    assert not pulls.any()
                    continue
                explored += 1
                cost = float(pulls @ np.array(oracle.gaps))
                assert cost == pytest.approx(oracle.lower(rivals, arms), rel=1e-6)
                assert not pulls[[arm for arm in range(3) if arm not in arms]].any()
                if all(gap > 0 for arm, gap in enumerate(oracle.gaps) if arm != oracle.star):
                    for rival in rivals:
                        told = sum(
                            pulls[arm] * kl_bernoulli(means[truth][arm], means[rival][arm])
                            for arm in range(3)
                        )
                        assert told >= 1 - 1e-6
    assert explored > 50


def test_another_order_has_the_same_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem.bernoulli([[0.5, 0.4, 0.49], [0.5, 0.6, 0.01], [0.5, 0.3, 0.6]])
    found = [rates(problem, everywhere=everywhere).plays for everywhere in (False, True)]
    assert found[1].any()

    def never(*others: object) -> None:
        raise AssertionError("solved again")

    monkeypatch.setattr(module, "cheapest", never)
    models, arms = np.array([2, 0, 1]), np.array([1, 2, 0])
    shuffled = problem.reordered(models, arms)
    for everywhere, plays in zip((False, True), found, strict=True):
        again = rates(shuffled, everywhere=everywhere).plays
        np.testing.assert_array_equal(again, plays[np.ix_(models, arms)])


def draw_tied_problem(generator: np.random.Generator) -> Problem:
    """Few levels: the cheapest ways to explore tie, and in half of the cases best arms too."""
    count, arms = int(generator.integers(2, 6)), int(generator.integers(2, 5))
    if generator.random() < 0.5:
        return Problem.bernoulli(generator.choice([0.3, 0.5, 0.6], (count, arms)))
    means = generator.choice([0.3, 0.4], (count, arms))
    means[np.arange(count), generator.integers(0, arms, count)] = generator.choice(
        [0.6, 0.7], count
    )
    means[:, 0], means[0] = 0.5, np.minimum(means[0], 0.4)
    means[0, 0] = 0.5
    return Problem.bernoulli(means)


def test_rates_move_along_with_arms_and_models_to_the_last_bit() -> None:
    """Whoever comes first, and whatever was solved before: 150 problems with many ties."""
    generator = np.random.default_rng(3)
    explored = 0
    for _ in range(150):
        problem = draw_tied_problem(generator)
        models = generator.permutation(len(problem.models))
        arms = generator.permutation(len(problem.arms))
        other = problem.reordered(models, arms)
        module._solutions.cache_clear()
        alone = [rates(other, everywhere=everywhere) for everywhere in (False, True)]
        module._solutions.cache_clear()
        first = [rates(problem, everywhere=everywhere) for everywhere in (False, True)]
        after = [rates(other, everywhere=everywhere) for everywhere in (False, True)]
        for one, two in zip(chain(*alone), chain(*after), strict=True):
            np.testing.assert_array_equal(one, two)
        # Where no best arm ties, the order of the arms decides nothing at all.
        tops = problem.means.max(axis=1, keepdims=True)
        if ((problem.means >= tops - 1e-12).sum(axis=1) == 1).all():
            plays = first[1].plays
            np.testing.assert_array_equal(after[1].plays, plays[np.ix_(models, arms)])
            explored += bool(plays.any())
    assert explored > 10


def test_of_several_cheapest_the_most_even_is_taken() -> None:
    problem = Problem.bernoulli([[0.5, 0.3, 0.3], [0.5, 0.6, 0.6]])
    even = 1 / kl_bernoulli(0.3, 0.6) / 2
    plays = rates(problem, everywhere=True).plays
    assert plays[0].tolist() == pytest.approx([0, even, even])


def test_other_families_count_as_bernoulli_where_means_are_looked_at() -> None:
    means = [[0.5, 0.4], [0.5, 0.6]]
    bernoulli = rates(Problem.bernoulli(means), everywhere=True).plays
    beta = rates(Problem.beta(means, 9), "means", everywhere=True).plays
    np.testing.assert_array_equal(bernoulli, beta)
    assert bernoulli[0, 1] == pytest.approx(1 / kl_bernoulli(0.4, 0.6))


def test_rates_are_those_of_the_laws() -> None:
    """One rival and one arm that tells: 1/D plays per unit of ln t."""
    means = [[0.5, 0.4], [0.5, 0.6]]
    for problem, divergence in (
        (Problem.beta(means, 9), kl_beta(0.4, 0.6, 9.0)),
        (Problem.gaussian(means, 0.05), 0.2**2 / (2 * 0.05**2)),
        (Problem.bernoulli([[1, 0.2], [1, 0.3]], value=[0.5, 2]), kl_bernoulli(0.2, 0.3)),
    ):
        plays = rates(problem, everywhere=True).plays
        assert plays[0].tolist() == pytest.approx([0, 1 / divergence], rel=1e-6)


def test_too_many_models_are_refused() -> None:
    problem = Problem.bernoulli(np.linspace(0, 1, 5001)[:, np.newaxis], name="fine")
    with pytest.raises(InputError, match=r"fine: 5,001 models are too many .* another policy"):
        rates(problem, everywhere=True)
