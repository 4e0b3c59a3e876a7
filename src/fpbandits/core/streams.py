"""Random streams: a run's numbers depend on the seed and on the number of the run alone.

Each run has streams of its own, spawned from the seed by the run's number, so results do not depend
on workers, batches, or other runs and policies. Shuffling arms, drawing the truth and drawing
delays use streams of their own, so all policies meet the same order, truth and delays.
"""

from __future__ import annotations

import numpy as np

# The purposes of a run's streams.
REWARDS = 0
"""Its rewards, and its policy's random choices."""

ORDER = 1
"""The order of its arms and models, if they are shuffled."""

TRUTH = 2
"""Its truth, drawn from the prior."""

DELAY = 3
"""How late its rewards are."""

PATH = 4
"""How its truth moves, by a chain."""

# The purposes of an agent's streams, which are numbered by decision or by reward and not by run.
PLANS = 0
"""The arms that its policy plays next."""

TOLD = 1
"""What its policy draws when a reward is given to `tell`."""

HISTORY = 2
"""What its policy draws when a reward is given to `observe`."""

EXPLORATION = 3
"""Whether to explore, and which arm."""


def random_stream(seed: int, number: int, purpose: int) -> np.random.Generator:
    """Return the stream of a run, or of a decision or reward of an agent, for one purpose."""
    sequence = np.random.SeedSequence(seed, spawn_key=(number, purpose))
    return np.random.Generator(np.random.PCG64(sequence))
