"""A digest of what rewards mean and how they come: two problems with the same one are equal.

Names, reward distributions, range, prior and transitions are part of it; the problem's name, its
truth, the shares of contexts and the fitted units are not. Agents, stored runs and experiments keep
it to recognise their problem, so it must stay the same from version to version.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fpbandits.problem.problem import Problem


def fingerprint_of(problem: Problem) -> str:
    """Return the digest, in hexadecimal."""
    digest = hashlib.sha256()
    for names in (problem.arms, problem.models, (problem.rewards.name,)):
        digest.update(repr(names).encode())
    if problem.contexts:
        digest.update(repr(problem.contexts).encode())
    digest.update(np.asarray(problem.range).tobytes())
    for part in problem.rewards.content.values():
        digest.update(np.asarray(part, np.float64).tobytes())
    if problem.prior is not None:
        digest.update(b"prior" + np.asarray(problem.prior).tobytes())
    if problem.transitions is not None:
        digest.update(b"transitions" + np.asarray(problem.transitions).tobytes())
    return digest.hexdigest()
