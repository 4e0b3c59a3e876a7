"""The path of a truth that moves by a chain: which model is true from which play on.

A path does not depend on what is played, so it is drawn before a run begins: how long the truth
stays, and where it moves then.
"""

from __future__ import annotations

import numpy as np

from fpbandits.core.arrays import Counts, Floats
from fpbandits.core.streams import PATH, random_stream
from fpbandits.errors import InputError
from fpbandits.problem.problem import Problem

MOST_MOVES = 20_000_000
"""The largest expected number of moves: all moves of a path are kept in memory."""


def check_length(problem: Problem, horizon: int) -> None:
    """Refuse a horizon in which the truth may move more than `MOST_MOVES` times on average."""
    assert problem.transitions is not None
    leaving = 1 - np.diag(problem.transitions).min()
    if horizon * leaving > MOST_MOVES:
        raise InputError(
            f"the truth of {problem.name} may move some {horizon * leaving:,.0f} times in "
            f"{horizon:,} plays: with transitions, horizon may be "
            f"{int(MOST_MOVES / leaving):,} at most",
            about=("horizon",),
        )


def draw_path(
    problem: Problem, first: int, horizon: int, seed: int, run: int
) -> tuple[Counts, Counts]:
    """Draw which models are true in a run, one after another; ``first`` is the first one's index.

    Returns the plays, numbered from 0, at which a model becomes true, and the models' indices.
    """
    assert problem.transitions is not None
    moves, random = np.array(problem.transitions), random_stream(seed, run, PATH)
    leaving = 1 - np.diag(moves)
    np.fill_diagonal(moves, 0.0)
    upto: Floats = np.cumsum(moves, axis=1)
    starts, models, start, model = [0], [first], 0, first
    # ``leaving[model]`` and ``upto[model, -1]`` are the same probability, that of leaving this
    # model, but rounding may make one of them 0 and not the other.
    while min(leaving[model], upto[model, -1]) > 0:
        start += int(random.geometric(leaving[model]))
        if start >= horizon:
            break
        drawn = random.random() * upto[model, -1]
        model = int(np.searchsorted(upto[model], drawn, side="right"))
        starts.append(start)
        models.append(model)
    return np.array(starts), np.array(models)
