"""The filter of a truth that moves, against the sum over all paths, in fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hidden import DENSE, SPARSE, beliefs, tenths

from fpbandits import InputError, Problem, analyze, evaluate, floor, forecast
from fpbandits.errors import ConflictError
from fpbandits.problem.chain import Filter, filter_of, forgetting_rate, refuse_moving

MEANS = ((9, 2, 5), (1, 8, 5), (4, 4, 6), (7, 3, 0), (0, 10, 5))
PRIOR = [Fraction(n, 10) for n in (1, 2, 3, 3, 1)]


def problem_of(chain: Any, **more: Any) -> Problem:
    return Problem.bernoulli(
        [[m / 10 for m in row] for row in MEANS],
        prior={f"theta{i + 1}": float(p) for i, p in enumerate(PRIOR)},
        transitions=[[float(p) for p in row] for row in tenths(chain)],
        **more,
    )


def likelihoods(plays: list[tuple[int, int]]) -> list[list[Fraction]]:
    means = tenths(MEANS)
    return [[row[arm] if paid else 1 - row[arm] for row in means] for arm, paid in plays]


@pytest.mark.parametrize(("chain", "plays"), [(SPARSE, 12), (DENSE, 6)])
def test_the_filter_is_the_sum_over_all_paths(chain: Any, plays: int) -> None:
    random = np.random.default_rng(4)
    problem = problem_of(chain)
    for _ in range(5):
        seen = [(int(random.integers(3)), int(random.integers(2))) for _ in range(plays)]
        for length in range(plays + 1):
            told = [(f"arm{arm + 1}", paid) for arm, paid in seen[:length]]
            exact = beliefs(PRIOR, tenths(chain), likelihoods(seen[:length]))
            found = list(problem.posterior(told).values())
            np.testing.assert_allclose(found, [float(p) for p in exact], rtol=1e-12, atol=1e-15)


def test_plays_without_a_reward_move_the_truth_too() -> None:
    problem = problem_of(DENSE)
    filtered = Filter(problem)
    filtered.count(1, 0, 1.0, ())
    filtered.count(3, 1, 0.0, ())
    nothing = [Fraction(1)] * 5
    first, second = likelihoods([(0, 1), (1, 0)])
    exact = beliefs(PRIOR, tenths(DENSE), [nothing, first, nothing, second, nothing])
    np.testing.assert_allclose(filtered.at(5), [float(p) for p in exact], rtol=1e-12)
    later = filtered.belief @ np.linalg.matrix_power(np.array(problem.transitions), 2000)
    np.testing.assert_allclose(filtered.at(2003), later, rtol=1e-9)
    kept = filter_of([filtered.play, filtered.belief.tolist()], problem, 5)
    assert kept.at(7).tolist() == filtered.at(7).tolist()
    for bad in ([0, [1.0]], [0, [0.5] * 5], [0, [2.0, -1, 0, 0, 0]], [6, [1.0, 0, 0, 0, 0]]):
        with pytest.raises(ValueError, match="a belief"):
            filter_of(bad, problem, 5)


@pytest.mark.parametrize("plays", [1, 3, 250, 251, 400])
def test_many_plays_without_a_reward_are_a_power(plays: int) -> None:
    """Of more than 50 plays for each of five models; beliefs are kept to the last bit."""
    problem = problem_of(DENSE)
    moves, belief = np.array(problem.transitions), np.array(problem.prior)
    if plays > 250:
        belief = belief @ np.linalg.matrix_power(moves, plays)
    else:
        for _ in range(plays):
            belief = belief @ moves
    found = Filter(problem)
    assert found.at(plays).tolist() == (belief / belief.sum()).tolist()
    found.move_to(plays)
    assert (found.play, found.belief.tolist()) == (plays, found.at(plays).tolist())


def test_history_is_before_the_first_play() -> None:
    problem = problem_of(DENSE)
    filtered = Filter(problem)
    assert filtered.play == 0
    filtered.count(0, 0, 1.0, ())
    there = filtered.belief.copy()
    filtered.move_back()
    assert (filtered.play, filtered.belief.tolist()) == (-1, there.tolist())
    np.testing.assert_allclose(filtered.at(0), there @ np.array(problem.transitions), rtol=1e-12)


@pytest.mark.parametrize(
    ("play", "belief", "words"),
    [
        (-2, [0.2] * 5, "about a play that was never made"),
        (6, [0.2] * 5, "about a play that was never made"),
        (0, [0.25] * 4, "no number for every model"),
        (0, [0.5, 0.5, 0.5, -0.5, 0], "no number for every model"),
        (0, [float("nan")] * 5, "no number for every model"),
        (0, [0.2, 0.2, 0.2, 0.2, 0.20001], "does not add up to 1"),
    ],
)
def test_what_is_no_belief(play: int, belief: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        filter_of([play, belief], problem_of(DENSE), 5)
    for fine in (-1, 5):
        assert filter_of([fine, [0.2] * 5], problem_of(DENSE), 5).play == fine


def test_a_chain_that_stays_has_the_posterior_of_a_truth_that_stays() -> None:
    """For rewards of several statistics, too."""
    naming: Any = {"prior": {"theta1": 3}}
    laws = [[[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]], [[0.25, 0.25, 0.5], [0.5, 0.25, 0.25]]]
    support = [0.0, 0.5, 1.0]
    plays = [("arm1", 0.5), ("arm2", 1.0), ("arm1", 0.5), ("arm2", 0.5)]
    means = [[0.75, 0.25], [0.5, 0.5]]
    makes: Any = (
        lambda **more: Problem.discrete(laws, support, **naming, **more),
        lambda **more: Problem.gaussian(means, 0.5, **naming, **more),
        lambda **more: Problem.beta(means, 5, **naming, **more),
    )
    for make in makes:
        seen = plays if make().rewards.name != "beta" else [(arm, r / 2 + 0.2) for arm, r in plays]
        found = make(transitions=np.eye(2)).posterior(seen)
        assert found == pytest.approx(make().posterior(seen), rel=1e-12)


def test_a_model_that_was_ruled_out_stays_so_however_likely_it_makes_rewards() -> None:
    for chain in (None, np.eye(2)):
        problem = Problem.bernoulli([[0.9], [0.2]], prior={"theta1": 0}, transitions=chain)
        assert problem.posterior([("arm1", 1)] * 9) == {"theta1": 0, "theta2": 1}


def test_a_part_of_an_impossible_reward_is_impossible() -> None:
    problem = Problem.bernoulli([[0.0, 0.9], [0.0, 0.1]], transitions=np.full((2, 2), 0.5))
    for reward in (1e-6, 0.3, 1.0):
        with pytest.raises(ConflictError, match="there is no posterior"):
            problem.posterior([("arm1", reward)])


def test_rewards_that_no_model_allows_leave_no_posterior() -> None:
    problem = Problem.bernoulli([[1.0, 0.5], [0.0, 0.5]], transitions=np.eye(2))
    with pytest.raises(ConflictError, match="no model that the truth may have moved to allows"):
        problem.posterior([("arm1", 1), ("arm1", 0)])
    moving = Problem.bernoulli([[1.0, 0.5], [0.0, 0.5]], transitions=[[0.5, 0.5], [0.5, 0.5]])
    assert moving.posterior([("arm1", 1), ("arm1", 0)]) == {"theta1": 0.5, "theta2": 0.5}


@pytest.mark.parametrize("rate", [0.001, 0.11, 1.0])
def test_a_chain_that_is_drawn_anew_forgets_at_its_rate(rate: float) -> None:
    weights = np.array([float(p) for p in PRIOR])
    leaking = (1 - rate) * np.eye(5) + rate * weights
    problem = Problem.bernoulli([[m / 10 for m in row] for row in MEANS], transitions=leaking)
    assert forgetting_rate(problem) == pytest.approx(rate, rel=1e-9)
    two = Problem.bernoulli([[0.5], [0.2]], transitions=(1 - rate) * np.eye(2) + rate * 0.5)
    assert forgetting_rate(two) == pytest.approx(rate, rel=1e-9)
    assert forgetting_rate(Problem.bernoulli([[0.5]], transitions=[[1.0]])) == 1e-12


def test_chains_that_never_forget_have_a_rate_all_the_same() -> None:
    for chain in (np.eye(5), np.roll(np.eye(5), 1, axis=1)):
        assert forgetting_rate(problem_of((10 * chain).astype(int).tolist())) == pytest.approx(
            1e-12, abs=1e-14
        )


def test_what_is_for_a_truth_that_stays_says_so_in_a_line() -> None:
    problem = problem_of(DENSE, name="moods")
    log = {"user": ["u"], "arm": ["arm1"], "paid": [1]}
    roles: dict[str, Any] = {"unit": "user", "arm": "arm", "reward": "paid", "uniform": True}
    asked: dict[str, Any] = {
        "analyze": lambda: analyze(problem),
        "a floor": lambda: floor(problem, 10),
        "forecast": lambda: forecast(problem),
        "evaluate": lambda: evaluate(log, problem, **roles),
    }
    for what, ask in asked.items():
        with pytest.raises(InputError) as error:
            ask()
        assert str(error.value).startswith(
            f"the truth of moods moves by its transitions, and {what}"
        )
        assert error.value.path == ["transitions"]
    refuse_moving(Problem.bernoulli([[0.5]]), "anything")
