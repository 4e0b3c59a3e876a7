"""Which arms are eligible: by name, in any order; all of them are none in particular."""

from __future__ import annotations

from typing import Any

import pytest

from fpbandits import InputError, Problem
from fpbandits.problem.eligible import eligible_arms

SHOP = Problem.bernoulli([[0.9, 0.5, 0.1], [0.2, 0.5, 0.1]], arms=["a", "b", "c"])


@pytest.mark.parametrize(
    ("among", "found"),
    [
        (["c", "a"], (0, 2)),
        (("b",), (1,)),
        ({"a", "b"}, (0, 1)),
        (["b", "b"], (1,)),
        (["a", "b", "a"], (0, 1)),
        (["c", "b", "a"], None),
        (iter(["a"]), (0,)),
    ],
)
def test_names_in_any_order(among: Any, found: tuple[int, ...] | None) -> None:
    assert eligible_arms(SHOP, among) == found


@pytest.mark.parametrize(
    ("among", "said"),
    [
        ([], "among is []: it must be a list of the arms that are eligible, at least one"),
        ("a", "among is 'a': it must be a list"),
        (3, "among is 3: it must be a list"),
        (["a", "d"], "unknown arm 'd'"),
        ([1], "an arm is named by a text, not 1"),
    ],
)
def test_what_is_no_list_of_arms_is_refused(among: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        eligible_arms(SHOP, among)
    assert said in str(caught.value)
