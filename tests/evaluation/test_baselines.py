"""The arms that baselines play."""

from __future__ import annotations

import numpy as np

import fpbandits as fpb
from fpbandits.evaluation.baselines import baselines, best_eligible

ALL = np.ones(6, bool)
PROBLEM = fpb.Problem.bernoulli(
    [[[0.9, 0.1, 0.5], [0.2, 0.6, 0.5]], [[0.2, 0.3, 0.5], [0.1, 0.9, 0.5]]],
    arms=["a", "b", "c"],
    contexts=["x", "y"],
    shares=[0.9, 0.1],
    prior={"theta1": 4},
)


def chosen(problem: fpb.Problem, drawn: object = ALL) -> dict[str, list[int]]:
    return {name: arms.tolist() for name, arms in baselines(problem, np.array(drawn)).items()}


def test_by_prior_and_shares() -> None:
    # Prior 0.8 and 0.2: in x a pays 0.76, in y b pays 0.66; over both a pays 0.702.
    assert chosen(PROBLEM) == {"always a": [0, 0], "best arm by context": [0, 1]}


def test_arms_that_were_never_drawn_are_left_out() -> None:
    drawn = [False, True, True, True, False, True]
    assert chosen(PROBLEM, drawn) == {"always c": [2, 2]}
    drawn = [False, False, True, True, True, False]
    assert chosen(PROBLEM, drawn) == {"best arm by context": [2, 1]}
    never_came = [False, True, True, False, False, False]
    assert chosen(PROBLEM, never_came) == {"always c": [2, 2]}


def test_the_best_eligible_arm_of_each_context_and_set() -> None:
    # Means in x are a .76, b .14, c .5; in y a .18, b .66, c .5. In y the log never played b.
    sets = np.array([[True, True, True], [False, True, True], [True, True, False]])
    drawn = np.array([True, True, True, True, False, True])
    assert best_eligible(PROBLEM, drawn, sets).tolist() == [[0, 2, 0], [2, 2, 0]]
    assert best_eligible(PROBLEM, ALL, sets).tolist() == [[0, 2, 0], [1, 1, 1]]
    # Unweighted, b pays 0.6 on average, and a 0.55.
    plain = fpb.Problem.bernoulli([[0.9, 0.5], [0.2, 0.7]], arms=["a", "b"])
    assert best_eligible(plain, np.array([True, True]), np.ones((1, 2), bool)).tolist() == [[1]]
    weighed = fpb.Problem.bernoulli([[0.9, 0.5], [0.2, 0.7]], prior={"theta1": 3})
    assert best_eligible(weighed, np.array([True, True]), np.ones((1, 2), bool)).tolist() == [[0]]


def test_models_without_a_prior_weigh_the_same() -> None:
    problem = fpb.Problem.bernoulli([[0.9, 0.5], [0.2, 0.7]], arms=["a", "b"])
    assert chosen(problem, [True, True]) == {"always b": [1]}
