"""Random streams: a run's numbers depend on the seed and on the number of the run alone.

Each run has streams of its own, spawned from the seed by the run's number, so results do not depend
on workers, batches, or other runs and policies. Shuffling arms, drawing the truth and drawing
delays use streams of their own, so all policies meet the same order, truth and delays.
"""

from __future__ import annotations

import numpy as np

# The purposes of a run's streams.
_REWARDS = 0
_ORDER = 1
_TRUTH = 2
_DELAY = 3
_PATH = 4

# The purposes of an agent's streams, which are numbered by decision or by reward and not by run.
PLANS = 0
"""The arms that its policy plays next."""

TOLD = 1
"""What its policy draws when a reward is given to `tell`."""

HISTORY = 2
"""What its policy draws when a reward is given to `observe`."""

EXPLORATION = 3
"""Whether to explore, and which arm."""


def run_stream(seed: int, run: int) -> np.random.Generator:
    """Return the stream of a run's rewards and of its policy's random choices."""
    return _stream(seed, run, _REWARDS)


def order_stream(seed: int, run: int) -> np.random.Generator:
    """Return the stream that shuffles arms and models in a run."""
    return _stream(seed, run, _ORDER)


def truth_stream(seed: int, run: int) -> np.random.Generator:
    """Return the stream that draws a run's truth from the prior, the same for all policies."""
    return _stream(seed, run, _TRUTH)


def delay_stream(seed: int, run: int) -> np.random.Generator:
    """Return the stream that draws how late a run's rewards are, the same for all policies."""
    return _stream(seed, run, _DELAY)


def path_stream(seed: int, run: int) -> np.random.Generator:
    """Return the stream that moves a run's truth by a chain, alike for all policies."""
    return _stream(seed, run, _PATH)


def agent_stream(seed: int, number: int, purpose: int) -> np.random.Generator:
    """Return the stream of one decision or reward of an agent, for one of the purposes above."""
    return _stream(seed, number, purpose)


def _stream(seed: int, run: int, purpose: int) -> np.random.Generator:
    sequence = np.random.SeedSequence(seed, spawn_key=(run, purpose))
    return np.random.Generator(np.random.PCG64(sequence))
