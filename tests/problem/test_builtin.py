"""The paper's problems are as the paper has them."""

from __future__ import annotations

import pytest

from fpbandits import load_problem
from fpbandits.errors import UnknownError
from fpbandits.problem.builtin import BUILT_IN, built_in


def test_built_in_problems() -> None:
    two, permutations, grid = map(load_problem, BUILT_IN)
    assert two.means.tolist() == [[0.9, 0.5], [0.2, 0.5]]
    assert two.truth == "theta1"
    assert len(permutations.models) == 24
    assert len(grid.models) == 256
    for problem in (permutations, grid):
        assert problem.truth == "0.6,0.4,0.3,0.2"
        assert problem.arms == ("arm1", "arm2", "arm3", "arm4")
        for name, row in zip(problem.models, problem.means.tolist(), strict=True):
            assert [float(mean) for mean in name.split(",")] == row


def test_other_names_are_unknown() -> None:
    with pytest.raises(UnknownError, match="unknown built-in problem 'paper:tow': did you mean"):
        built_in("paper:tow")
