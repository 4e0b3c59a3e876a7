"""Random streams: a run's numbers depend on the seed and on the number of the run alone.

Each run has streams of its own, spawned from the seed by the run's number, so results do not depend
on workers, batches, or other runs and policies. Shuffling arms and drawing the truth use streams of
their own, so all policies meet the same order and the same truth.
"""

from __future__ import annotations

import numpy as np

_REWARDS, _ORDER, _TRUTH, _DELAY = range(4)
PLANS, TOLD, HISTORY, EXPLORATION = range(4)
"""What an agent draws for: plans, rewards given to `tell` and to `observe`, and whether and
where to explore."""


def run_stream(seed: int, run: int) -> np.random.Generator:
    """Return the stream of a run's rewards and of its policy's random choices."""
    return _stream(seed, run, _REWARDS)


def order_stream(seed: int, run: int) -> np.random.Generator:
    """Return the stream that shuffles arms and models in a run."""
    return _stream(seed, run, _ORDER)


def truth_stream(seed: int, run: int) -> np.random.Generator:
    """Return the stream that draws a run's truth from the prior, alike for all policies."""
    return _stream(seed, run, _TRUTH)


def delay_stream(seed: int, run: int) -> np.random.Generator:
    """Return the stream that draws how late a run's rewards are, alike for all policies."""
    return _stream(seed, run, _DELAY)


def agent_stream(seed: int, number: int, purpose: int) -> np.random.Generator:
    """Return the stream of one plan or one reward of an agent."""
    return _stream(seed, number, purpose)


def _stream(seed: int, run: int, purpose: int) -> np.random.Generator:
    sequence = np.random.SeedSequence(seed, spawn_key=(run, purpose))
    return np.random.Generator(np.random.PCG64(sequence))
