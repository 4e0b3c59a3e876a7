"""Standard errors: by theory where theory has them, and as wide as they must be."""

from __future__ import annotations

import math
import statistics
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from logs import added_up, drawn, matched
from scipy.special import log_softmax, logsumexp

import fpbandits as fpb
from fpbandits.fitting import errors as module
from fpbandits.fitting.em import Fitted, Mixture, Sample
from fpbandits.fitting.errors import standard_errors
from fpbandits.fitting.search import search


def fitted(seed: int, family: str, types: int, pseudo_count: float = 0.5, **how: Any) -> Any:
    truth = drawn(seed, family, **how)
    cells, estimator = added_up(truth, family)
    sample = Sample(cells, cells.weights(), estimator, pseudo_count)
    mixture, _ = search(sample, types, None, np.random.default_rng(0))
    mixture, _ = sample.climb(mixture, 1500, 1e-10)
    return truth, sample, mixture, standard_errors(sample, mixture, np.random.default_rng(0))


@pytest.mark.parametrize("pseudo_count", [0.5, 3000.0])
@pytest.mark.parametrize(
    ("family", "variance"),
    [("bernoulli", 0.3 * 0.7), ("gaussian", 0.3**2), ("beta", 0.3 * 0.7 / 7), ("discrete", 0.07)],
)
def test_one_type_has_the_error_of_a_mean(
    family: str, variance: float, pseudo_count: float
) -> None:
    """Pooled rewards are the type's own, and do not count twice."""
    truth, _, _, errors = fitted(
        1,
        family,
        1,
        pseudo_count,
        units=6000,
        means=[[0.3, 0.3]],
        shares=(1.0,),
        shown=1,
        repeats=1,
    )
    wanted = np.sqrt(variance / np.bincount(truth.log["arm"]))
    # Scores of 3,000 units give a variance to 3 %, so an error to a third of that.
    np.testing.assert_allclose(errors.means[:, 0], wanted, rtol=0.08)
    assert errors.shares.tolist() == [0]


def test_the_share_of_types_that_anyone_can_tell_apart() -> None:
    _, _, _, errors = fitted(2, "gaussian", 2, units=4000, means=[[0, 9, 5], [9, 0, 5]])
    wanted = math.sqrt(0.6 * 0.4 / 4000)
    np.testing.assert_allclose(errors.shares, wanted, rtol=0.05)


@pytest.mark.parametrize("family", ["bernoulli", "gaussian", "beta"])
def test_information_adds_up_the_squares_of_units_gradients(family: str) -> None:
    """By central differences of each unit's log-likelihood, written out again here."""
    _, sample, mixture, _ = fitted(4, family, 2, units=60)
    cells, shape = sample.cells, mixture.parameters.shape
    inner = mixture.parameters.size, mixture.parameters.size + len(mixture.common)

    def log_likelihoods(numbers: np.ndarray) -> np.ndarray:
        parameters, common, odds = np.split(numbers, inner)
        base, cost = sample.estimator.laws(parameters.reshape(shape), common)
        of_cells = cells.plays[:, None] * base[cells.pair]
        of_cells += np.einsum("ck,ctk->ct", cells.sums, cost[cells.pair])
        own = [cells.members[a:b] for a, b in pairwise(cells.starts)]
        of_types = -np.array([of_cells[members].sum(axis=0) for members in own])
        return logsumexp(of_types + log_softmax(odds), axis=1)

    here = np.concatenate([mixture.parameters.ravel(), mixture.common, mixture.log_shares])
    steps = 1e-4 * np.eye(len(here))
    slopes = np.array([log_likelihoods(here + s) - log_likelihoods(here - s) for s in steps]) / 2e-4
    wanted = (slopes * sample.weights) @ slopes.T + module._penalty_curvature(
        sample, mixture, len(here)
    )
    found = module._information(sample, mixture)
    np.testing.assert_allclose(found, wanted[:-1, :-1], rtol=1e-4, atol=1e-4 * wanted.max())


@pytest.mark.parametrize(("family", "types"), [("discrete", 2), ("gaussian", 3), ("discrete", 1)])
def test_what_the_penalty_adds_is_its_curvature(family: str, types: int) -> None:
    """By second differences of all parameters and logits; of one type, one pooled reward counts."""
    cells, estimator = added_up(drawn(4, family, units=60), family)
    sample = Sample(cells, cells.weights(), estimator, 2.5)
    mixture, _ = sample.climb(sample.start(types, np.random.default_rng(0)), 30)
    counted = Sample(cells, cells.weights(), estimator, 2.5 if types > 1 else 1.0)
    shape, size = mixture.parameters.shape, mixture.parameters.size

    def cost(numbers: np.ndarray) -> float:
        parameters, odds = numbers[:size].reshape(shape), numbers[size:]
        return -counted.penalty(Mixture(log_softmax(odds), parameters, mixture.common))

    here = np.concatenate([mixture.parameters.ravel(), mixture.log_shares])
    step = 1e-3
    moves = step * np.eye(len(here))
    wanted = np.array(
        [
            [
                cost(here + a + b) - cost(here + a - b) - cost(here - a + b) + cost(here - a - b)
                for a in moves
            ]
            for b in moves
        ]
    ) / (4 * step**2)
    common = len(mixture.common)
    found = module._penalty_curvature(sample, mixture, len(here) + common)
    inner = np.r_[:size, size + common : size + common + types]
    np.testing.assert_allclose(found[np.ix_(inner, inner)], wanted, atol=1e-4)
    assert np.count_nonzero(found) == np.count_nonzero(found[np.ix_(inner, inner)])


def test_inverses_of_what_is_known_and_of_what_is_not() -> None:
    root = np.random.default_rng(0).normal(size=(4, 4)) * [1, 10, 100, 1000]
    known = root.T @ root
    np.testing.assert_allclose(module._inverse(known), np.linalg.inv(known), rtol=1e-6)
    found = module._inverse(np.diag([4.0, 0.0]))
    np.testing.assert_allclose(found, [[0.25, 0], [0, 1e21]])


def test_a_bootstrap_climbs_from_the_mixture_found(monkeypatch: pytest.MonkeyPatch) -> None:
    _, sample, mixture, _ = fitted(3, "bernoulli", 2, units=50)
    climbs: list[Any] = []
    climb = Sample.climb

    def noted(sample: Sample, start: Mixture, most: int, tolerance: float) -> Fitted:
        climbs.append((sample.weights.tolist(), start, most, tolerance))
        fits.append(climb(sample, start, most, tolerance))
        return fits[-1]

    fits: list[Fitted] = []
    monkeypatch.setattr(Sample, "climb", noted)
    found = module._bootstrap(sample, mixture, np.random.default_rng(5))
    random = np.random.default_rng(5)
    shares = sample.weights / 50
    wanted = [random.multinomial(50, shares).tolist() for _ in range(50)]
    assert climbs == [(weights, mixture, 30, 1e-6) for weights in wanted]
    for pair in range(3):
        for kind in range(2):
            means = [1 / (1 + math.exp(-fit.mixture.parameters[pair, kind, 0])) for fit in fits]
            assert found.means[pair, kind] == pytest.approx(statistics.stdev(means))
    shares = [math.exp(fit.mixture.log_shares[1]) for fit in fits]
    assert found.shares[1] == pytest.approx(statistics.stdev(shares))


def test_drawing_units_again_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    _, sample, mixture, errors = fitted(3, "bernoulli", 2, units=2000)
    monkeypatch.setattr(module, "_MOST_PARAMETERS", 1)
    monkeypatch.setattr(module, "_DRAWS", 200)
    again = standard_errors(sample, mixture, np.random.default_rng(5))
    # 200 draws know an error to 5 %; 20 % is four times that.
    np.testing.assert_allclose(again.means, errors.means, rtol=0.2)
    np.testing.assert_allclose(again.shares, errors.shares, rtol=0.2)


@pytest.mark.parametrize("family", ["bernoulli", "gaussian"])
def test_intervals_cover_the_truth_as_often_as_they_say(family: str) -> None:
    inside = []
    for seed in range(40):
        truth, sample, mixture, errors = fitted(100 + seed, family, 2, units=500)
        found = sample.estimator.means(mixture.parameters, mixture.common).T
        order = matched(found, truth.means)
        far = np.abs(found[order] - truth.means) > 1.96 * errors.means.T[order]
        inside.append(1 - far.mean())
    # 240 means of 40 logs: the noise of the coverage is about .018, and .05 is 2.7 times that.
    assert np.mean(inside) == pytest.approx(0.95, abs=0.05)


def fit_one_type(seed: int, **how: Any) -> fpb.Fit:
    log = drawn(seed, means=[[0.3, 0.5, 0.6]], shares=(1.0,), shown=3).log
    return fpb.fit(log, unit="user", arm="arm", reward="reward", types=1, **how)


def test_means_of_one_type_scatter_as_much_as_their_errors_say() -> None:
    """The pseudo-count is estimated: it is large where there is one type."""
    fits = [fit_one_type(seed) for seed in range(25)]
    off = [(found.problem.means[0] - [0.3, 0.5, 0.6]) / found.errors["type1"] for found in fits]
    # Chi-squared with 75 degrees of freedom: outside of these bounds in 1 of 500 such tests.
    assert 42.7 < np.square(off).sum() < 118.6
    # Of 75 intervals of 95 %, fewer than 65 hold the truth in 1 of 800 such tests.
    assert (np.abs(off) < 1.96).sum() >= 65


def test_an_arm_that_was_never_played_is_as_uncertain_as_one_reward() -> None:
    errors = fit_one_type(0, arms=["0", "1", "2", "3"]).errors["type1"]
    assert errors[:3].max() < 0.02
    assert errors[3] == pytest.approx(0.5, abs=0.05)
