"""Data frames of means."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import fpbandits as fpb
from fpbandits.errors import InputError

MEANS = [[0.9, 0.5], [0.2, 0.4]]


def test_labels_are_names() -> None:
    frame = pd.DataFrame(MEANS, index=["loyal", "thrifty"], columns=["9 EUR", "12 EUR"])
    problem = fpb.Problem.bernoulli(frame)
    assert (problem.models, problem.arms) == (("loyal", "thrifty"), ("9 EUR", "12 EUR"))
    assert problem.means.tolist() == MEANS
    assert fpb.Problem.bernoulli(frame, models=["x", "y"], name="n").models == ("x", "y")
    assert fpb.Problem.gaussian(frame, 2.0).models == ("loyal", "thrifty")
    none = fpb.Problem.bernoulli(frame, models=None, arms=["a", "b"])
    assert (none.models, none.arms) == (("loyal", "thrifty"), ("a", "b"))


def test_frames_without_names() -> None:
    numbers = pd.DataFrame(MEANS, columns=[9.0, 12.5])
    assert fpb.Problem.bernoulli(numbers).arms == ("9", "12.5")
    assert fpb.Problem.bernoulli(numbers).models == ("theta1", "theta2")
    polars = fpb.Problem.bernoulli(pl.DataFrame(MEANS, schema=["a", "b"], orient="row"))
    assert (polars.arms, polars.means.tolist()) == (("a", "b"), MEANS)
    with pytest.raises(InputError, match="the rows of models must be a list or an array"):
        fpb.Problem.bernoulli(pd.Series(MEANS))


def test_what_is_not_a_number_is_refused() -> None:
    with pytest.raises(InputError, match="expected an array of numbers"):
        fpb.Problem.bernoulli(pd.DataFrame({"name": ["x", "y"], "a": [0.1, 0.2]}))
