"""The digest of a problem: what is part of it, and in which order, for good."""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import pytest

from fpbandits import Problem


@pytest.mark.parametrize("contexts", [False, True])
@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("transitions", [False, True])
def test_it_is_of_names_range_rewards_prior_and_chain(
    contexts: bool, prior: bool, transitions: bool
) -> None:
    """Agents, stored runs and experiments keep it, so its bytes are written out again here."""
    naming: dict[str, Any] = {"arms": ["a", "b"], "models": ["x"], "range": (0, 2)}
    rows: Any = [[0.5, 1.5]]
    if contexts:
        naming["contexts"], rows = ["m"], [rows]
    if prior:
        naming["prior"] = {"x": 3}
    if transitions:
        naming["transitions"] = [[1.0]]
    problem = Problem.bernoulli(rows, **naming, name="any", truth="x")
    content = b"('a', 'b')('x',)('bernoulli',)"
    content += b"('m',)" * contexts
    content += struct.pack("=2d", 0.0, 2.0)
    (means,) = problem.rewards.content.values()
    assert list(means.reshape(-1)) == [0.5, 1.5]  # type: ignore[union-attr]
    content += struct.pack("=2d", 0.5, 1.5)
    content += (b"prior" + struct.pack("=d", 1.0)) * prior
    content += (b"transitions" + struct.pack("=d", 1.0)) * transitions
    assert problem.fingerprint == hashlib.sha256(content).hexdigest()
