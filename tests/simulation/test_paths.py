"""Paths of a truth that moves, and the regret of those who play it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fpbandits import InputError, PlainPolicy, Problem, Result, load_results, simulate
from fpbandits.engine.plain import Seen
from fpbandits.simulation.paths import check_length, draw_path

CHAIN = [[0.9, 0.1, 0.0], [0.0, 0.5, 0.5], [0.3, 0.3, 0.4]]
MOODS = Problem.bernoulli(
    [[0.9, 0.1, 0.5], [0.2, 0.8, 0.5], [0.1, 0.2, 0.3]], transitions=CHAIN, name="moods"
)


@dataclass(frozen=True)
class InTurn(PlainPolicy):
    name = "in-turn"

    def choose(self, seen: Seen, random: np.random.Generator) -> int:
        return seen.t % 3


def stepwise(problem: Problem, begins: int, horizon: int, run: int) -> list[int]:
    """Return the true model of each play."""
    starts, rows = draw_path(problem, begins, horizon, 0, run)
    assert (starts[0], rows[0]) == (0, begins)
    stays = np.diff([*starts, horizon])
    assert (stays > 0).all()
    return np.repeat(rows, stays).tolist()


def test_a_path_has_the_law_of_the_chain() -> None:
    """100,000 plays, seed 0; each share within 4.5 deviations: false with probability 1e-4."""
    states = np.array(stepwise(MOODS, 0, 100_000, 0))
    for model, row in enumerate(CHAIN):
        after = states[1:][states[:-1] == model]
        shares = np.bincount(after, minlength=3) / len(after)
        deviations = np.sqrt(np.array(row) * (1 - np.array(row)) / len(after))
        assert (np.abs(shares - row) <= 4.5 * deviations).all()
    assert stepwise(MOODS, 0, 1000, 1) != stepwise(MOODS, 0, 1000, 2)


def test_chains_without_choice() -> None:
    cycle = replace(MOODS, transitions=((0, 1, 0), (0, 0, 1), (1, 0, 0)))
    assert stepwise(cycle, 1, 7, 0) == [1, 2, 0, 1, 2, 0, 1]
    staying = replace(MOODS, transitions=((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    assert stepwise(staying, 2, 50, 0) == [2] * 50


def test_a_path_ends_where_the_truth_stays_for_good() -> None:
    """The first model is left half of the time, the second never; nothing leads to the third."""
    ending = replace(MOODS, transitions=((0.5, 0.5, 0), (0, 1, 0), (0.2, 0.2, 0.6)))
    for run in range(20):
        states = stepwise(ending, 0, 100, run)
        left = states.index(1)
        assert states == [0] * left + [1] * (100 - left)


def test_the_longest_horizon_makes_20_million_moves() -> None:
    """At most: the chain leaves its most restless model with probability 0.6."""
    check_length(MOODS, 33_333_333)
    with pytest.raises(InputError, match=r"may move some 20,000,000 times in 33,333,334 plays"):
        check_length(MOODS, 33_333_334)


@pytest.mark.parametrize("policy", [InTurn(), "ucb1"], ids=str)
@pytest.mark.parametrize("shuffle", [False, True])
def test_regret_is_against_the_best_arm_of_the_moment(policy: Any, shuffle: bool) -> None:
    how: dict[str, Any] = {"horizon": 300, "times": [7, 120], "runs": 3, "shuffle": shuffle}
    result = simulate(MOODS, policy, truth="theta2", **how)
    (name,) = result.policies
    by_model = result.pulls[name].reshape(3, 3, 3, 3)  # run, time, model, arm
    for run in range(3):
        states = stepwise(MOODS, 1, 300, run)
        for place, time in enumerate((7, 120, 300)):
            visits = np.bincount(states[:time], minlength=3)
            assert by_model[run, place].sum(axis=1).tolist() == visits.tolist()
    gaps = MOODS.means.max(axis=1, keepdims=True) - MOODS.means
    np.testing.assert_allclose(result.regret(name), (by_model * gaps).sum(axis=(2, 3)))
    assert sum(result.mean_pulls(name).values()) == pytest.approx(300)
    assert "at first, then moving" in result.table()


def test_a_fixed_order_of_arms_loses_what_the_path_says() -> None:
    result = simulate(MOODS, InTurn(), truth="theta1", horizon=90, runs=2, times=[90])
    gaps = MOODS.means.max(axis=1, keepdims=True) - MOODS.means
    for run, lost in enumerate(result.final_regret("in-turn")):
        states = stepwise(MOODS, 0, 90, run)
        assert lost == pytest.approx(sum(gaps[s, t % 3] for t, s in enumerate(states)))


def test_results_are_kept_and_come_back(tmp_path: Path) -> None:
    how: dict[str, Any] = {"truth": "prior", "horizon": 50, "runs": 3}
    result = simulate(MOODS, InTurn(), out=tmp_path / "runs", **how)
    result.save(tmp_path / "r.npz")
    for again in (
        Result.load(tmp_path / "r.npz"),
        simulate(MOODS, InTurn(), out=tmp_path / "runs", **how),
        load_results(tmp_path / "runs")["in-turn"],
    ):
        assert again.pulls["in-turn"].tolist() == result.pulls["in-turn"].tolist()
        assert again.final_regret("in-turn").tolist() == result.final_regret("in-turn").tolist()
        assert again.problem.transitions == MOODS.transitions


def test_what_a_moving_truth_cannot_be() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"truth": [0.1, 0.2, 0.3]}, "name the model that it begins with, or prior"),
        ({"truth": {0: "theta1", 5: "theta2"}}, "name the model that it begins with, or prior"),
        ({"delay": 3}, "simulated rewards are known at once: leave out delay"),
        ({"horizon": 10**9}, "horizon may be 33,333,333 at most"),
    ]
    for how, said in wrong:
        with pytest.raises(InputError, match=said):
            simulate(MOODS, InTurn(), **{"horizon": 10, "runs": 1, **how})
