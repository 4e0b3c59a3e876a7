"""Results: equal to the bit however they are computed, in the user's units; and what is refused."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from fpbandits import (
    FPUCB,
    UCB1,
    InputError,
    Problem,
    Thompson,
    load_problem,
    simulate,
)
from fpbandits.simulation import workers
from fpbandits.simulation.cell import LONGEST_HORIZON


def test_results_do_not_depend_on_how_they_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = load_problem("paper:permutations")
    policies = [FPUCB(), UCB1(), Thompson()]
    common: Any = {"horizon": 3000, "runs": 30, "seed": 7, "shuffle": True}
    reference = simulate(problem, policies, workers=1, **common)
    again = [
        simulate(problem, policies, workers=4, **common),
        simulate(problem, policies[::-1], **common),
        *(simulate(problem, policy, **common) for policy in policies),
        simulate(problem, policies, **(common | {"runs": 13})),
    ]
    with ThreadPoolExecutor(3) as threads:
        again.append(simulate(problem, policies, executor=threads, **common))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        again.append(simulate(problem, policies, executor=processes, **common))
    monkeypatch.setattr(workers, "SECONDS", 0.0)  # one run per batch
    again.append(simulate(problem, policies, **common))
    monkeypatch.setattr(workers, "_MOST_BYTES", 1)
    again.append(simulate(problem, policies, **common))
    for result in again:
        for name in result.policies:
            runs = result.runs
            assert np.array_equal(result.pulls[name], reference.pulls[name][:runs])
            assert np.array_equal(result.plans[name], reference.plans[name][:runs])
    other = simulate(problem, policies, **(common | {"seed": 8}))
    assert not np.array_equal(other.pulls["thompson"], reference.pulls["thompson"])


def test_regret_is_in_the_users_units() -> None:
    unit = simulate(load_problem("paper:two"), FPUCB(), true="theta2", horizon=500, runs=5)
    scaled = Problem.bernoulli([[95, 75], [60, 75]], range=(50, 100))
    result = simulate(scaled, FPUCB(), true="theta2", horizon=500, runs=5)
    assert result.final_regret("fp-ucb").tolist() == pytest.approx(
        (50 * unit.final_regret("fp-ucb")).tolist()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"horizon": 0}, "horizon is 0: it must be at least 1"),
        ({"horizon": 10.5}, "horizon is 10.5: it must be a whole number"),
        ({"horizon": float("nan")}, "horizon is nan: it must be a whole number"),
        ({"horizon": "10"}, "horizon must be a whole number, not '10'"),
        ({"horizon": LONGEST_HORIZON + 2}, "2^53: beyond it the sum of an arm's rewards"),
        ({"runs": 0}, "runs is 0: it must be at least 1"),
        ({"runs": True}, "runs must be a whole number, not True"),
        ({"runs": 10**10}, "ask for fewer runs or times"),
        ({"seed": -1}, "seed is -1: it must be at least 0"),
        ({"seed": 0.5}, "seed is 0.5: it must be a whole number"),
        ({"executor": 4}, "expected an Executor of concurrent.futures, not 4"),
        ({"workers": 0}, "workers is 0: it must be at least 1"),
        ({"times": [0]}, "a time is 0: it must be at least 1"),
        ({"times": [200]}, "a time is 200: it must be at most 100, the horizon"),
        ({"true": "theta3"}, "unknown parameter 'theta3': did you mean 'theta"),
        ({"true": [0.5]}, "no value for arm 'arm2'"),
        ({"true": 0.5}, "true must be a parameter's name or a list of means, not 0.5"),
        ({"true": [0.5, 1.5]}, "mean 1.5 is outside the range"),
        ({"exact": True, "leap": False}, "exact=True says how to leap"),
        ({"policies": []}, "there are no policies to simulate"),
        ({"policies": [UCB1(), UCB1()]}, "policy 'ucb1' is given twice"),
        ({"horizon": 10**400}, "2^53: beyond it"),
        ({"times": 5}, "times must be a list of whole numbers, not 5"),
        ({"policies": UCB1}, "expected a policy such as FPUCB()"),
        ({"policies": {1: UCB1()}}, "a policy is named by a text, not 1"),
        ({"policies": "ucb11"}, "unknown policy 'ucb11': did you mean 'ucb1'?"),
        ({"runs": 10**400}, "it must be at most 1,000,000,000,000,000, more than memory holds"),
        ({"seed": 10**5000}, "it must have at most 1,000 digits"),
        ({"seed": Fraction(10**5000)}, "it must have at most 1,000 digits"),
        ({"shuffle": 1}, "shuffle must be True or False, not 1"),
        ({"leap": "no"}, "leap must be True or False, not 'no'"),
        ({"exact": None}, "exact must be True or False, not None"),
        ({"times": np.array(5)}, "times must be a list of whole numbers, not array(5)"),
        ({"times": np.ma.array([5, 7])}, "a masked array may lack values"),
        ({"true": np.array(0.5)}, "true must be a parameter's name or a list of means"),
        ({"true": np.ma.array([0.5, 0.4])}, "a masked array may lack values"),
        ({"policies": ["ucb1", UCB1()]}, "policy 'ucb1' is given twice"),
        ({"policies": [3]}, "expected a policy such as FPUCB(), not 3"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate(load_problem("paper:two"), **({"horizon": 100, "runs": 2} | arguments))
    assert message in str(caught.value)


def test_a_problem_is_taken_by_its_name() -> None:
    named = simulate("paper:two", UCB1(), horizon=50, runs=2)
    given = simulate(load_problem("paper:two"), UCB1(), horizon=50, runs=2)
    assert (named.pulls["ucb1"] == given.pulls["ucb1"]).all()
    wrong: Any = 3
    with pytest.raises(InputError, match="expected a Problem, the path of its file or one of"):
        simulate(wrong)


def test_truth_values_of_numpy_are_kept_as_others(tmp_path: Path) -> None:
    yes, no = cast(bool, np.True_), cast(bool, np.False_)
    settings: Any = {"horizon": 50, "runs": 2, "out": tmp_path / "kept"}
    result = simulate("paper:two", UCB1(), shuffle=yes, leap=yes, exact=no, **settings)
    assert result.settings == {"shuffle": True, "leap": True, "exact": False}
    again = simulate("paper:two", UCB1(), shuffle=True, **settings)
    assert (again.pulls["ucb1"] == result.pulls["ucb1"]).all()


def test_names_of_policies_are_plain_texts() -> None:
    result = simulate("paper:two", {np.str_("mine"): UCB1()}, horizon=50, runs=1)
    assert [type(name) for name in result.policies] == [str]


@pytest.mark.parametrize("name", ["", "a\x1b[2J", "a\n", "\u202ea", "\t=1"])
def test_names_of_policies_can_be_shown_anywhere(name: str) -> None:
    with pytest.raises(InputError, match="a policy: its name"):
        simulate(load_problem("paper:two"), {name: UCB1()}, runs=2, horizon=10)
