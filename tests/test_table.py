"""Tables and names of all kinds: what comes out is plain, or refused."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
import pytest

from fpbandits import InputError, Problem
from fpbandits.checks import plain_text

MEANS = [[0.9, 0.5], [0.2, 0.5]]


class Names(str, Enum):  # noqa: UP042 - unlike StrEnum, it shows as Names.LOYAL
    LOYAL = "loyal"
    THRIFTY = "thrifty"


class Short(Sequence[list[float]]):
    """Says that it has two rows, and has one."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, place: Any) -> Any:
        return [[0.9, 0.5]][place]


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
    assert (problem.arms, problem.parameters) == (("arm1", "arm2"), ("theta1", "theta2"))
    table = problem.rewards.unit_means
    assert (type(table), table.dtype.str[1:], table.shape) == (np.ndarray, "f8", (2, 2))
    assert table.dtype.isnative
    assert table.flags.c_contiguous
    assert not table.flags.writeable
    assert table.tolist() == MEANS


def test_small_floats_keep_what_they_hold() -> None:
    assert Problem.bernoulli(np.array([[0.5]], np.float16)).means.tolist() == [[0.5]]


def test_a_list_that_is_shorter_than_it_says() -> None:
    with pytest.raises(InputError, match="there are 2 parameter names for 1 rows"):
        Problem.bernoulli(Short(), parameters=["x", "y"])


def test_names_are_plain_texts() -> None:
    plain = Problem.bernoulli(MEANS, arms=["a", "b"], parameters=["loyal", "thrifty"])
    odd = Problem.bernoulli(
        MEANS, arms=list(np.array(["a", "b"])), parameters=list(Names), true=Names.LOYAL
    )
    assert {type(name) for name in (*odd.arms, *odd.parameters, odd.true)} == {str}
    assert repr((odd.arms, odd.parameters)) == "(('a', 'b'), ('loyal', 'thrifty'))"
    assert odd.fingerprint == plain.fingerprint
    assert odd.index(Names.THRIFTY) == 1
    assert plain_text(Names.LOYAL) == "loyal"


@pytest.mark.parametrize(
    "names",
    [{"a": 1, "b": 2}, {"a": 1, "b": 2}.keys(), (name for name in "ab"), np.array(["a", "b"])],
    ids=lambda names: type(names).__name__,
)
def test_whatever_has_an_order_may_name(names: Any) -> None:
    assert Problem.bernoulli(MEANS, arms=names).arms == ("a", "b")
