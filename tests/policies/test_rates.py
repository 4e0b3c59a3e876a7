"""Rates of exploration: the cheapest there are, by trying every corner; solved once."""

from __future__ import annotations

import numpy as np
import pytest
from oracle import Oracle, kl_bernoulli

from fpbandits import InputError, Problem
from fpbandits.policies import rates as module
from fpbandits.policies.rates import rates


def some_problem(generator: np.random.Generator) -> Problem:
    """Few levels, so that models look alike."""
    return Problem.bernoulli(generator.choice([0.1, 0.3, 0.5, 0.7, 0.9], (7, 3)))


def test_rates_are_enough_and_cost_the_least() -> None:
    generator = np.random.default_rng(8)
    explored = 0
    for _ in range(30):
        problem = some_problem(generator)
        means = problem.means.tolist()
        found = rates(problem)
        for true in range(len(means)):
            oracle = Oracle(
                means,
                true,
                lambda one, other, arm, means=means: kl_bernoulli(  # type: ignore[misc]
                    means[one][arm], means[other][arm]
                ),
                lambda one, other, arm, means=means: means[one][arm] == means[other][arm],  # type: ignore[misc]
            )
            rivals = found.rivals[found.first[true] : found.first[true + 1]].tolist()
            assert rivals == oracle.needed()
            for table, arms in ((found.over_a, oracle.A), (found.over_all, [0, 1, 2])):
                pulls = table[true]
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
                            pulls[arm] * kl_bernoulli(means[true][arm], means[rival][arm])
                            for arm in range(3)
                        )
                        assert told >= 1 - 1e-6
    assert explored > 50


def test_another_order_has_the_same_solutions(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem.bernoulli([[0.5, 0.4, 0.49], [0.5, 0.6, 0.01], [0.5, 0.3, 0.6]])
    found = rates(problem)
    assert found.over_all.any()

    def never(*others: object) -> None:
        raise AssertionError("solved again")

    monkeypatch.setattr(module, "theorem2", never)
    parameters, arms = np.array([2, 0, 1]), np.array([1, 2, 0])
    again = rates(problem.reordered(parameters, arms))
    for one, other in ((again.over_a, found.over_a), (again.over_all, found.over_all)):
        np.testing.assert_array_equal(one, other[np.ix_(parameters, arms)])


def test_other_families_count_as_bernoulli() -> None:
    means = [[0.5, 0.4], [0.5, 0.6]]
    bernoulli, beta = rates(Problem.bernoulli(means)), rates(Problem.beta(means, 9))
    np.testing.assert_array_equal(bernoulli.over_all, beta.over_all)
    assert bernoulli.over_all[0, 1] == pytest.approx(1 / kl_bernoulli(0.4, 0.6))


def test_too_many_models_are_refused() -> None:
    problem = Problem.bernoulli(np.linspace(0, 1, 5001)[:, np.newaxis], name="fine")
    with pytest.raises(InputError, match=r"fine: 5,001 parameters are too many .* another policy"):
        rates(problem)
