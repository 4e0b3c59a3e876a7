"""How far rewards can stray: the range of a mean, by trying every step."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from plans import Stretch, stretches

from fpbandits.engine.compiling import compiled
from fpbandits.engine.contract import Envelope, State
from fpbandits.engine.envelope import mean_ahead


@compiled
def ahead(state: Any, envelope: Any, arm: int, more: int) -> tuple[float, float]:
    return mean_ahead(state, envelope, arm, more)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(stretches())
def test_the_range_of_a_mean_is_that_of_every_step(stretch: Stretch) -> None:
    n, total, p, more, spread = stretch
    state = State(np.array([n]), np.array([total]), np.zeros(4, np.int64))
    low, high = ahead(state, Envelope(np.array([p]), spread), 0, more)
    lows = [(total + stretch.limits(j)[0]) / (n + j) for j in range(more + 1)]
    highs = [(total + stretch.limits(j)[1]) / (n + j) for j in range(more + 1)]
    assert low <= min(lows) + 1e-12
    assert high >= max(highs) - 1e-12
    # And no wider than a fraction of a step explains.
    assert low >= min(lows) - 1 / n
    assert high <= max(highs) + 1 / n
