"""Room for what policies compute of every model: enough of it, and for contexts where there are."""

from __future__ import annotations

import pytest

from fpbandits import Problem
from fpbandits.policies.shared.fit import new_fit
from fpbandits.policies.shared.levels import theta


@pytest.mark.parametrize("contexts", [1, 2])
def test_there_is_room_for_every_model_level_and_context(contexts: int) -> None:
    rows = [[[0.1, 0.2]] * contexts, [[0.3, 0.2]] * contexts, [[0.5, 0.2]] * contexts]
    problem = Problem.bernoulli(rows, contexts=[f"x{number}" for number in range(contexts)])
    fit = new_fit(theta(problem))
    assert fit.deficit.shape == fit.lowest.shape == fit.highest.shape == (3,)
    assert fit.by_level.shape == (2 * contexts, 3)
    assert fit.lowest_of.shape == fit.highest_of.shape == (3,)
    assert fit.memo.cost.shape == ((4, 3) if contexts == 2 else (0, 3))
    assert fit.memo.total.shape == ((2,) if contexts == 2 else (0,))
