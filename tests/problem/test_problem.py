"""What a problem is: names, units, equality; and that it never changes."""

from __future__ import annotations

import copy
import pickle
from typing import Any, cast

import numpy as np
import pytest

from fpbandits import InputError, Problem
from fpbandits.families.discrete import Discrete

MEANS = [[0.9, 0.5], [0.2, 0.5]]


def test_names_by_default_and_as_given() -> None:
    problem = Problem.bernoulli(MEANS)
    assert problem.arms == ("arm1", "arm2")
    assert problem.models == ("theta1", "theta2")
    problem = Problem.bernoulli(MEANS, arms=["a", "b"], models=["x", "y"], truth="y", name="p")
    assert (problem.arms, problem.models) == (("a", "b"), ("x", "y"))
    assert (problem.truth, problem.name) == ("y", "p")


def test_a_problem_never_changes() -> None:
    given = np.array(MEANS)
    problem = Problem.bernoulli(given)
    given[0, 0] = 0.1
    assert problem.means[0, 0] == 0.9
    with pytest.raises(ValueError, match="read-only"):
        problem.means[0, 0] = 0.1


def test_values_by_pair_have_the_names_of_arms_and_contexts() -> None:
    plain = Problem.bernoulli(MEANS, arms=["a", "b"])
    assert plain.by_name([1, 2]) == {"a": 1, "b": 2}
    assert (plain.pairs, plain.pair_names) == (2, ("a", "b"))
    seen = Problem.bernoulli([MEANS], arms=["a", "b"], contexts=["x", "y"], name="shop")
    assert seen.by_name([1, 2, 3, 4]) == {"x": {"a": 1, "b": 2}, "y": {"a": 3, "b": 4}}
    assert (seen.pairs, seen.pair_names) == (4, ("x: a", "x: b", "y: a", "y: b"))
    assert [seen.pair_index(arm, context) for context in "xy" for arm in "ab"] == [0, 1, 2, 3]
    assert seen.columns(np.array([1, 0])).tolist() == [1, 0, 3, 2]
    assert plain.columns(np.array([1])).tolist() == [1]
    turned = seen.reordered(np.array([0]), np.array([1, 0]))
    assert (turned.arms, turned.means.tolist()) == (("b", "a"), [[[0.5, 0.9], [0.5, 0.2]]])
    assert repr(seen) == "Problem('shop': 1 model, 2 arms, 2 contexts, bernoulli rewards in [0, 1])"
    with pytest.raises(InputError, match="shop has contexts: say which one this is for, one of 'x"):
        seen.pair_index("a", None)
    with pytest.raises(InputError, match="has no contexts, and the context 'x' was given"):
        plain.pair_index("a", "x")


def test_range_maps_to_the_unit_interval() -> None:
    problem = Problem.bernoulli([[15, 20]], range=(10, 20))
    assert problem.rewards.unit_means.tolist() == [[0.5, 1.0]]
    assert problem.means.tolist() == [[15, 20]]


def test_equality_is_of_models_not_of_titles() -> None:
    problem = Problem.bernoulli(MEANS)
    assert problem == Problem.bernoulli(MEANS, name="other", truth="theta1")
    assert len({problem, Problem.bernoulli(MEANS)}) == 1
    changed = [
        Problem.bernoulli([[0.9, 0.5], [0.2, 0.50001]]),
        Problem.bernoulli(MEANS, arms=["a", "b"]),
        Problem.bernoulli(MEANS, models=["x", "y"]),
        Problem.bernoulli(MEANS, range=(0, 2)),
        Problem.beta(MEANS, 5),
        Problem.beta(MEANS, 6),
        Problem.discrete([[[0.1, 0.9], [0.5, 0.5]], [[0.8, 0.2], [0.5, 0.5]]], [0, 1]),
        Problem.discrete([[[0.1, 0.9], [0.5, 0.5]], [[0.8, 0.2], [0.5, 0.5]]], [0, 0.9]),
    ]
    assert len({problem.fingerprint, *(other.fingerprint for other in changed)}) == 9
    assert problem != "problem"


PROBLEMS = [
    Problem.bernoulli(MEANS, range=(0, 2)),
    Problem.beta(MEANS, 5),
    Problem.discrete([[[0.1, 0.9], [0.5, 0.5]], [[0.8, 0.2], [0.5, 0.5]]], [0, 0.9]),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.rewards.name)
@pytest.mark.parametrize(
    "made",
    [
        lambda problem: problem,
        copy.copy,
        copy.deepcopy,
        lambda problem: pickle.loads(pickle.dumps(problem)),
        lambda problem: problem.reordered(np.array([1, 0]), np.array([1, 0])),
    ],
    ids=["itself", "copy", "deepcopy", "pickle", "reordered"],
)
def test_no_array_of_a_problem_can_be_written_to(problem: Problem, made: Any) -> None:
    rewards = problem.rewards
    arrays = [rewards.unit_means, rewards.rows]  # kept on first use, so that they are copied too
    again = made(problem)
    arrays += [value for value in vars(again.rewards).values() if isinstance(value, np.ndarray)]
    arrays += [again.means, again.rewards.unit_means, again.rewards.rows]
    if isinstance(again.rewards, Discrete):
        arrays += [again.rewards.unit_support, again.rewards.support]
    for array in arrays:
        assert not array.flags.writeable
        assert array.flags.c_contiguous
        assert array.dtype == np.float64


def test_names_and_rewards_must_fit() -> None:
    rewards: Any = Problem.bernoulli(MEANS).rewards
    for arms, models, laws in [
        (("a", "b", "c"), ("x", "y"), rewards),
        (("a", "b"), ("x",), rewards),
        (["a", "b"], ("x", "y"), rewards),
        (("a", "b"), ("x", "y"), np.array(MEANS)),
    ]:
        wrong: Any = arms
        with pytest.raises(InputError, match="the names do not fit the rewards"):
            Problem("p", wrong, models, laws)


def test_fields_are_those_of_the_family() -> None:
    wrong: Any = None
    for fields in ({}, {"support": [0, 1]}, {"concentration": 2, "support": [0, 1]}, wrong):
        with pytest.raises(InputError, match=r"beta rewards take the fields .concentration., not "):
            Problem.of_family("beta", MEANS, fields)
    with pytest.raises(InputError, match="unknown reward family 'bta': did you mean 'beta'"):
        Problem.of_family("bta", MEANS, {})
    with pytest.raises(InputError, match="a reward family is named by a text, not 3"):
        Problem.of_family(cast(str, 3), MEANS, {})
