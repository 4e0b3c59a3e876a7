"""What is true in a run: drawn from the prior, or changing; against runs of a fixed truth."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from fpbandits import (
    FPUCB,
    IMED,
    UCB1,
    InputError,
    Optimist,
    PlainPolicy,
    Problem,
    Result,
    ThompsonTheta,
    simulate,
)
from fpbandits.simulation.store import load_results
from fpbandits.simulation.truths import truths

MEANS = [[0.9, 0.5, 0.1], [0.2, 0.5, 0.6], [0.4, 0.3, 0.35]]
PROBLEM = Problem.bernoulli(MEANS, models=["x", "y", "z"], prior={"x": 5, "z": 2})


def test_a_run_with_a_drawn_truth_is_the_run_of_that_truth() -> None:
    """Bit for bit: drawing the truth takes nothing from the stream of rewards."""
    drawn = simulate(PROBLEM, [Optimist(), UCB1()], truth="prior", horizon=2000, runs=60, seed=4)
    rows = truths(PROBLEM, "prior", 4, range(60))
    assert rows is not None
    assert set(rows.tolist()) == {0, 1, 2}
    for policy in drawn.policies:
        for place, name in enumerate(PROBLEM.models):
            fixed = simulate(
                PROBLEM, [Optimist(), UCB1()], truth=name, horizon=2000, runs=60, seed=4
            )
            own = rows == place
            assert np.array_equal(drawn.pulls[policy][own], fixed.pulls[policy][own])
            np.testing.assert_allclose(
                drawn.regret(policy)[own], fixed.regret(policy)[own], rtol=1e-12, atol=1e-9
            )


def test_truths_are_drawn_as_the_prior_says() -> None:
    """Seed 0; a χ² test of 4,000 draws at level 1e-4. Weights 5, 1 (by default) and 2."""
    rows = truths(PROBLEM, "prior", 0, range(4000))
    counts = np.bincount(np.asarray(rows), minlength=3)
    assert stats.chisquare(counts, np.array([5, 1, 2]) / 8 * 4000).pvalue > 1e-4
    uniform = truths(Problem.bernoulli(MEANS), "prior", 0, range(4000))
    counts = np.bincount(np.asarray(uniform), minlength=3)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_a_model_that_cannot_be_is_never_drawn() -> None:
    problem = Problem.bernoulli(MEANS, models=["x", "y", "z"], prior={"x": 0, "z": 0})
    assert set(np.asarray(truths(problem, "prior", 0, range(500))).tolist()) == {1}


def test_drawn_truths_do_not_depend_on_who_computes(tmp_path: Path) -> None:
    how: dict[str, Any] = {"truth": "prior", "horizon": 500, "seed": 2, "shuffle": True}
    whole = simulate(PROBLEM, Optimist(), runs=40, workers=1, **how)
    simulate(PROBLEM, Optimist(), runs=7, out=tmp_path / "kept", **how)
    resumed = simulate(PROBLEM, Optimist(), runs=40, workers=3, out=tmp_path / "kept", **how)
    kept = load_results(tmp_path / "kept")["optimist"]
    whole.save(tmp_path / "result.npz")
    saved = Result.load(tmp_path / "result.npz")
    for other in (resumed, kept, saved, whole.first(40)):
        assert np.array_equal(whole.pulls["optimist"], other.pulls["optimist"])
        assert np.array_equal(whole.final_regret("optimist"), other.final_regret("optimist"))
    assert np.array_equal(whole.first(9).regret("optimist"), whole.regret("optimist")[:9])


def test_a_model_called_prior_is_meant_by_its_name() -> None:
    problem = Problem.bernoulli(MEANS, models=["x", "prior", "z"])
    result = simulate(problem, truth="prior", horizon=100, runs=5)
    assert result.truth_means.tolist() == MEANS[1]


@dataclass(frozen=True)
class InTurn(PlainPolicy):
    """One arm after the other, whatever comes."""

    name = "in-turn"

    def choose(self, seen: Any, random: Any) -> int:
        return int(seen.t % len(seen.plays))


CHANGING: dict[int, Any] = {0: "x", 100: "y", 250: [0.1, 0.2, 0.8]}


def test_regret_is_against_the_best_arm_of_each_time() -> None:
    """A rule that looks at nothing has a regret that can be added up by hand."""
    result = simulate(PROBLEM, InTurn(), truth=CHANGING, horizon=400, runs=2, times=[50, 120, 301])
    assert result.times.tolist() == [50, 100, 120, 250, 301, 400]
    means = [MEANS[0]] * 100 + [MEANS[1]] * 150 + [[0.1, 0.2, 0.8]] * 150
    losses = [max(now) - now[t % 3] for t, now in enumerate(means)]
    expected = [sum(losses[:time]) for time in result.times.tolist()]
    np.testing.assert_allclose(result.mean_regret("in-turn"), expected)
    np.testing.assert_allclose(result.final_regret("in-turn"), expected[-1])
    assert result.truth == "x, from 100 y, from 250 0.1,0.2,0.8"


@pytest.mark.parametrize(
    "policy", [FPUCB(), Optimist(), UCB1(), ThompsonTheta(), InTurn()], ids=str
)
def test_a_change_to_the_same_truth_is_none(policy: Any) -> None:
    """Step by step and bit for bit: also within an episode, which the change must not cut."""
    how: dict[str, Any] = {"horizon": 600, "runs": 5, "leap": False, "times": [600]}
    changed = simulate(PROBLEM, policy, truth={0: "y", 101: "y", 350: "y"}, **how)
    fixed = simulate(PROBLEM, policy, truth="y", **how)
    name = str(policy)
    assert np.array_equal(changed.pulls[name][:, -1], fixed.pulls[name][:, -1])
    np.testing.assert_allclose(changed.final_regret(name), fixed.final_regret(name))


@pytest.mark.parametrize("policy", [FPUCB(), Optimist(), UCB1(), IMED(), ThompsonTheta()], ids=str)
@pytest.mark.parametrize("shuffle", [False, True])
def test_leaps_stop_where_the_truth_changes(policy: Any, shuffle: bool) -> None:
    """Seeds 0 and 1; three K-S tests of regret, 400 runs a side, each at level 1e-4."""
    how: dict[str, Any] = {"truth": {0: "x", 700: "z"}, "horizon": 1500, "runs": 400}
    leaping = simulate(PROBLEM, policy, seed=0, times=[700, 900], shuffle=shuffle, **how)
    steps = simulate(PROBLEM, policy, seed=1, times=[700, 900], leap=False, **how)
    name = str(policy)
    assert leaping.plans[name].mean() < 0.8 * steps.plans[name].mean()
    for place in range(3):
        first, second = (result.regret(name)[:, place] for result in (leaping, steps))
        assert stats.ks_2samp(first, second).pvalue > 1e-4


@pytest.mark.parametrize("start", [1, 399])
def test_a_truth_may_change_once_after_the_first_play_or_before_the_last(start: int) -> None:
    """Starts may be texts, as in JSON."""
    result = simulate(PROBLEM, InTurn(), truth={"0": "x", str(start): "y"}, horizon=400, runs=1)  # type: ignore[dict-item]  # as in JSON
    means = [MEANS[0]] * start + [MEANS[1]] * (400 - start)
    lost = sum(max(now) - now[t % 3] for t, now in enumerate(means))
    assert result.final_regret("in-turn").tolist() == pytest.approx([lost])
    assert (result.starts, result.truth) == ((0, start), f"x, from {start} y")
    assert result.truth_means.tolist() == MEANS[:2]


def test_a_model_called_prior_must_be_told_from_the_prior() -> None:
    means, names = [[0.5, 0.4], [0.4, 0.5]], ["prior", "y"]
    undecided = Problem.bernoulli(means, models=names, name="shop")
    with pytest.raises(InputError, match="does not say which model is true: name one of 'prior'"):
        simulate(undecided, UCB1(), horizon=5, runs=1)
    decided = Problem.bernoulli(means, models=names, truth="y")
    assert simulate(decided, UCB1(), horizon=5, runs=1).truth == "y"


def test_changing_truths_are_kept_and_saved(tmp_path: Path) -> None:
    how: dict[str, Any] = {"truth": CHANGING, "horizon": 400, "seed": 2}
    whole = simulate(PROBLEM, Optimist(), runs=20, **how)
    simulate(PROBLEM, Optimist(), runs=7, out=tmp_path / "kept", **how)
    resumed = simulate(PROBLEM, Optimist(), runs=20, out=tmp_path / "kept", **how)
    kept = load_results(tmp_path / "kept")["optimist"]
    whole.save(tmp_path / "result.npz")
    saved = Result.load(tmp_path / "result.npz")
    for other in (resumed, kept, saved):
        assert other.starts == (0, 100, 250)
        assert np.array_equal(whole.regret("optimist"), other.regret("optimist"))


def test_contexts_change_too() -> None:
    problem = Problem.bernoulli(
        [[[0.9, 0.1], [0.2, 0.8]], [[0.1, 0.9], [0.8, 0.2]]], contexts=["a", "b"]
    )
    how: dict[str, Any] = {"horizon": 3000, "runs": 10}
    fixed = simulate(problem, ThompsonTheta(), truth="theta1", **how)
    changed = simulate(problem, ThompsonTheta(), truth={0: "theta1", 1000: "theta2"}, **how)
    assert fixed.final_regret("thompson-theta").max() < 30
    # Beliefs that were never meant to change take about as long to turn as they took to form.
    assert 300 < changed.final_regret("thompson-theta").min()
    half = simulate(problem, InTurn(), truth={0: "theta1", 1000: "theta2"}, **how)
    np.testing.assert_allclose(half.mean_regret("in-turn")[-1], 0.35 * 3000, rtol=0.05)


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        ({5: "x"}, "no truth begins at 0: say what is true from the start"),
        ({}, "no truth begins at 0"),
        ({0: "w"}, "unknown model 'w'"),
        ({0: "x", "soon": "y"}, "the start of a truth must be a whole number, not 'soon'"),
        ({0: "x", 1.5: "y"}, "the start of a truth"),
        ({0: "x", 1000: "y"}, "it must be at most 999, before T"),
        ({0: "x", -1: "y"}, "it must be at least 0"),
        ({0: "x", "0": "y"}, "two truths begin after 0 plays"),
        ({0: "x", 10: "prior"}, "a truth drawn from the prior does not change within a run"),
        ({0: "x", 10: [0.5]}, "no value for arm 'arm2'"),
    ],
)
def test_refusals(truth: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(PROBLEM, truth=truth, horizon=1000, runs=2)
    assert message in str(caught.value)
