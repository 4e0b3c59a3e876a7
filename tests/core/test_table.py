"""Tables of all kinds: what comes out is plain."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import refusal, run

from fpbandits import InputError, Problem, save_problem

MEANS = [[0.9, 0.5], [0.2, 0.5]]


@pytest.mark.parametrize(
    "means",
    [
        np.array(MEANS).view(np.matrix),
        np.array(MEANS, order="F"),
        np.array(MEANS, ">f8"),
        np.array(MEANS, np.longdouble),
        np.repeat(np.array(MEANS), 2, axis=1)[:, ::2],
        [np.array(MEANS[0]), tuple(MEANS[1])],
        np.array(MEANS).view(type("Mine", (np.ndarray,), {})),
    ],
)
def test_tables_of_all_kinds_become_plain_arrays(means: Any) -> None:
    """A matrix's row has two dimensions: taken as it is, it corrupted memory."""
    problem = Problem.bernoulli(means)
    assert (problem.arms, problem.models) == (("arm1", "arm2"), ("theta1", "theta2"))
    table = problem.rewards.unit_means
    assert (type(table), table.dtype.str[1:], table.shape) == (np.ndarray, "f8", (2, 2))
    assert table.dtype.isnative
    assert table.flags.c_contiguous
    assert not table.flags.writeable
    assert table.tolist() == MEANS


def test_an_array_of_other_shape_is_refused() -> None:
    for array, said in [
        (np.zeros((1, 2)), "model 'x': it has 2 of 3 values: no value for arm 'c'"),
        (np.zeros((1, 4)), "model 'x': it has 4 values for 3 arms: nothing follows arm 'c'"),
        (
            np.zeros((1, 3, 2)),
            "expected an array of 2 dimensions, not 3: name the contexts, as "
            "contexts=['mobile', 'desktop']",
        ),
        (np.zeros((1, 3, 2, 2)), "expected an array of 2 dimensions, not 4"),
    ]:
        with pytest.raises(InputError) as caught:
            Problem.bernoulli(array, arms=["a", "b", "c"], models=["x"])
        assert str(caught.value) == said


def test_small_floats_keep_what_they_hold() -> None:
    assert Problem.bernoulli(np.array([[0.5]], np.float16)).means.tolist() == [[0.5]]


@pytest.mark.parametrize("ending", ["toml", "csv"])
def test_truths_outside_theta_in_contexts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    """On the command line means come one after the other, those of the first context first."""
    path = tmp_path / f"p.{ending}"
    save_problem(Problem.bernoulli([[[0.9, 0.5], [0.8, 0.6]]], contexts=["m", "d"]), path)
    words = ("simulate", str(path), "--policy", "ucb1", "--horizon", "50", "--runs", "2", "--json")
    code, out, _ = run(capsys, *words, "--truth-means", "0.1,0.2,0.3,0.1")
    found = json.loads(out)
    assert code == 0
    assert found["truth"] == "0.1,0.2,0.3,0.1"
    pulls = found["policies"]["ucb1"]["mean_pulls"]
    assert list(pulls) == ["m", "d"]
    lost = 0.1 * pulls["m"]["arm1"] + 0.2 * pulls["d"]["arm2"]
    assert found["policies"]["ucb1"]["mean_regret"][-1] == pytest.approx(lost)
    assert ("has 2 contexts of 2 arms: give 4, those of context 'm' first") in refusal(
        capsys, *words, "--truth-means", "0.1,0.2"
    )


def test_a_range_is_advised_where_none_was_given() -> None:
    advice = "for rewards in other units give a range"
    with pytest.raises(InputError, match=advice):
        Problem.bernoulli([[20.0]])
    with pytest.raises(InputError, match=r"mean 20 is outside the range \[0, 15\]") as caught:
        Problem.bernoulli([[20.0]], range=(0, 15))
    assert advice not in str(caught.value)
