"""Truths near the models stay where rewards can be, and as near as they should."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import fpbandits as fpb
from fpbandits.core.streams import TRUTH, random_stream
from fpbandits.forecast import nearby
from fpbandits.forecast.nearby import likeliest, move_means, regret_nearby
from fpbandits.policies import Frugal, Thompson
from fpbandits.simulation.spec import RunSpec

PROBLEMS = {
    "bernoulli": fpb.Problem.bernoulli([[0.01, 0.5], [0.99, 0.5]]),
    "range": fpb.Problem.bernoulli([[1, 5], [9, 5]], range=(0, 10)),
    "values": fpb.Problem.bernoulli([[0.01, 0.5], [0.99, 0.5]], value=[3, 12]),
    "gaussian": fpb.Problem.gaussian([[0, 1], [1, 0]], deviation=2),
    "beta": fpb.Problem.beta([[0.02, 0.5], [0.98, 0.5]], concentration=3),
    "contexts": fpb.Problem.bernoulli([[[0.2, 0.3], [0.4, 0.5]]] * 2, contexts=["a", "b"]),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_moved_means_make_a_truth_and_are_near(name: str) -> None:
    problem, random = PROBLEMS[name], np.random.default_rng(1)
    farthest = 0.0
    for _ in range(50):
        means = move_means(problem, 1, 0.05, random)
        apart = np.abs(np.array(means) - problem.means[1]).max() / problem.rewards.width
        assert apart <= 0.05 + 1e-12
        farthest = max(farthest, apart)
    assert farthest > 0.04
    result = fpb.simulate(problem, "frugal", truth=means, horizon=3, runs=1)
    assert result.truth_means.ravel() == pytest.approx(np.ravel(means))


def test_near_which_models() -> None:
    many = fpb.Problem.bernoulli(
        np.random.default_rng(0).random((12, 2)), prior={"theta12": 5, "theta3": 4, "theta1": 0.1}
    )
    chosen = likeliest(many, None)
    assert len(chosen) == 8
    assert {11, 2} <= set(chosen)
    assert 0 not in chosen
    assert likeliest(many, "theta1") == [0]
    with_impossible = fpb.Problem.bernoulli([[0.1, 0.2], [0.2, 0.1]], prior={"theta2": 0})
    assert likeliest(with_impossible, None) == [0]


def test_means_are_moved_by_uniform_draws_and_kept_where_rewards_can_be() -> None:
    """Each by its own draw, in the order of pairs; Beta rewards stay off the ends of a range."""

    def drawn(pairs: int, by: float) -> list[float]:
        moves: list[float] = np.random.default_rng(7).uniform(-by, by, pairs).tolist()
        return moves

    def moved(problem: fpb.Problem, by: float) -> object:
        return move_means(problem, 1, by, np.random.default_rng(7))

    plain = fpb.Problem.bernoulli([[1, 5], [9, 4.5]], range=(0, 10))
    first, second = drawn(2, 0.01)
    assert moved(plain, 0.01) == pytest.approx([9 + 10 * first, 4.5 + 10 * second])
    for problem, low, high in (
        (plain, 0, 10),
        (fpb.Problem.bernoulli([[1, 5], [9, 4]], range=(-10, 10)), -10, 10),
        (fpb.Problem.beta([[1, 5], [9, 4]], concentration=3, range=(-10, 10)), -9.98, 9.98),
    ):
        far = np.array([move_means(problem, 1, 0.95, np.random.default_rng(k)) for k in range(99)])
        assert (far.min(), far.max()) == pytest.approx((low, high), abs=1e-12)
    by = 0.9
    first, second = drawn(2, by)
    normal = fpb.Problem.gaussian([[0, 1], [1, 0]], deviation=2)
    assert moved(normal, by) == pytest.approx([1 + 4 * first, 4 * second])
    priced = fpb.Problem.bernoulli([[0.5, 0.5], [0.5, 0.5]], value=[9, -4])
    many = [move_means(priced, 0, 0.95, np.random.default_rng(seed)) for seed in range(200)]
    assert [(min(column), max(column)) for column in zip(*many, strict=True)] == [(0, 9), (-4, 0)]


def test_each_size_and_model_has_its_own_truths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of them, the same for all policies; regret is that of the last play."""
    problem = PROBLEMS["range"]
    spec = RunSpec(horizon=30, runs=900, seed=5)
    asked: dict[str, Any] = {}

    class Played:
        policy = "its own name"

        def __init__(self, number: int) -> None:
            self.number = number

        def final_regret(self, policy: str) -> np.ndarray:
            assert policy == self.policy
            return np.array([self.number, self.number + 2.0])

    def play(cells: dict[str, Any], **how: Any) -> dict[str, Played]:
        asked.update(cells)
        assert how == {"workers": 3}
        return {name: Played(int(name.split()[-1])) for name in cells}

    monkeypatch.setattr(nearby, "play_cells", play)
    policies: Any = {"a": (Frugal(), 9), "b": (Thompson(), 3)}
    found = regret_nearby(problem, policies, spec, [0.1, 0.2, 0.3], [1, 0], workers=3)
    assert len(asked) == 2 * 3 * 2 * 4
    # Of cell number n the mean of n and n + 2; of each four of them the mean.
    expected = [[4 * (2 * size + model) + 2.5 for model in range(2)] for size in range(3)]
    assert {name: regret.tolist() for name, regret in found.items()} == {
        "a": expected,
        "b": expected,
    }
    assert {cell.spec.runs for name, cell in asked.items() if name[0] == "a"} == {2}
    assert {cell.spec.runs for name, cell in asked.items() if name[0] == "b"} == {1}
    for number, (size, model) in enumerate(product((0.1, 0.2, 0.3), (1, 0))):
        for draw in range(4):
            name = f"{4 * number + draw}"
            means = move_means(problem, model, size, random_stream(5, 4 * number + draw, TRUTH))
            for cell in (asked[f"a {name}"], asked[f"b {name}"]):
                assert cell.laws.means[0].tolist() == pytest.approx(means)
                assert (cell.spec.horizon, cell.spec.times, cell.spec.seed) == (30, (30,), 5)
    assert asked["a 0"].policy == Frugal()
    assert asked["b 0"].policy == Thompson()


def test_without_a_prior_the_first_models_are_the_likeliest() -> None:
    ten = fpb.Problem.bernoulli(np.random.default_rng(0).random((10, 2)))
    assert likeliest(ten, None) == list(range(8))
    assert likeliest(ten, "theta10") == [9]
