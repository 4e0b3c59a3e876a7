"""Room for what policies compute of every model: enough of it, and for contexts where there are."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fpbandits import Problem
from fpbandits.policies.shared.fit import first_best, minimum, new_fit
from fpbandits.policies.shared.levels import theta


@pytest.mark.parametrize("contexts", [1, 2])
def test_there_is_room_for_every_model_level_and_context(contexts: int) -> None:
    rows = [[[0.1, 0.2]] * contexts, [[0.3, 0.2]] * contexts, [[0.5, 0.2]] * contexts]
    problem = Problem.bernoulli(rows, contexts=[f"x{number}" for number in range(contexts)])
    fit = new_fit(theta(problem))
    assert {name: array.shape for name, array in fit._asdict().items() if name != "memo"} == {
        **dict.fromkeys(("reference", "least"), (1,)),
        **dict.fromkeys(("deficit", "lowest", "highest", "lowest_of", "highest_of"), (3,)),
        "by_level": (2 * contexts, 3),
    }
    kept, pairs = (2, 4) if contexts == 2 else (0, 0)
    assert {name: array.shape for name, array in fit.memo._asdict().items()} == {
        "seen": (pairs, 2),
        "cost": (pairs, 3),
        "above": (kept, 3),
        "model": (1,),
        "surprise": (pairs,),
        **dict.fromkeys(("reference", "allowed", "total"), (kept,)),
    }
    # Nothing is in the memo: no pair has −1 plays, and no model is number −1.
    assert (fit.memo.seen < 0).all()
    assert (fit.memo.reference < 0).all()
    assert fit.memo.model[0] < 0


@pytest.mark.parametrize(
    ("deficits", "model"),
    [([3, 1 + 9e-10, 1], 1), ([3, 1 + 2e-9, 1], 2), ([0.0, 0.0], 0), ([2e-9, 0], 1)],
)
def test_of_models_within_a_billionth_the_first_fits_best(
    deficits: list[float], model: int
) -> None:
    array = np.array(deficits, float)
    assert first_best(array, minimum(array)) == model


def test_the_least_of_no_values_is_infinite() -> None:
    assert minimum(np.zeros(0)) == math.inf
    assert minimum(np.array([3.0, -2.0, 5.0])) == -2
