"""Which numbers a run gets depends on the seed and its number, and on nothing else."""

from __future__ import annotations

import itertools

import numpy as np

from fpbandits.core import streams
from fpbandits.core.streams import ORDER, REWARDS, random_stream


def test_streams_are_numpys_spawned_by_run_and_purpose() -> None:
    of_runs = "REWARDS", "ORDER", "TRUTH", "DELAY", "PATH"
    of_agents = "PLANS", "TOLD", "HISTORY", "EXPLORATION"
    for seed, run in itertools.product((0, 7, 2**70), (0, 1, 10**9)):
        made = [random_stream(seed, run, getattr(streams, name)) for name in of_runs + of_agents]
        for purpose, stream in zip((0, 1, 2, 3, 4, 0, 1, 2, 3), made, strict=True):
            sequence = np.random.SeedSequence(seed, spawn_key=(run, purpose))
            expected = np.random.Generator(np.random.PCG64(sequence)).random(5)
            assert stream.random(5).tolist() == expected.tolist()


def test_a_stream_does_not_depend_on_what_was_drawn_before() -> None:
    first = random_stream(3, 4, REWARDS).random(10)
    random_stream(3, 3, REWARDS).random(1000)
    random_stream(3, 4, ORDER).permutation(50)
    np.random.default_rng().random(10)
    assert random_stream(3, 4, REWARDS).random(10).tolist() == first.tolist()


def test_no_two_streams_begin_alike() -> None:
    seen = {
        random_stream(seed, run, purpose).bytes(16)
        for seed, run, purpose in itertools.product(range(20), range(20), (REWARDS, ORDER))
    }
    assert len(seen) == 20 * 20 * 2
