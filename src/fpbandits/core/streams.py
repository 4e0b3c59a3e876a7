"""Random streams: which numbers a run gets depends on the seed and its number, and on nothing else.

Each run has a stream of its own, spawned from the seed by the run's number: it does not matter who
computes it, when, or which other runs or policies are beside it. The order of arms and models
in a shuffled run comes from a stream of its own too, so that all policies meet the same order.
"""

from __future__ import annotations

import numpy as np

_REWARDS, _ORDER, _TRUTH, _DELAY = range(4)
PLANS, TOLD, HISTORY = range(3)
"""Purposes of an agent's draws: plans, rewards by `tell`, and rewards by `observe`."""


def run_stream(seed: int, run: int) -> np.random.Generator:
    """Return the stream of a run's rewards and of its policy's own randomness."""
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
    """Return the stream of one plan or one reward of an agent, which keeps no stream itself."""
    return _stream(seed, number, purpose)


def _stream(seed: int, run: int, purpose: int) -> np.random.Generator:
    sequence = np.random.SeedSequence(seed, spawn_key=(run, purpose))
    return np.random.Generator(np.random.PCG64(sequence))
