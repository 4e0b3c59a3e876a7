"""What a result depends on besides the question: the versions of all that computes it.

Besides released versions there is a digest of the engine's own sources, so that a change to a rule
is another version even between releases.
"""

from __future__ import annotations

import platform
from functools import cache

import numpy as np

from fpbandits import __version__
from fpbandits.policies.code_cache import digest_of_sources

# Beyond what is compiled: what prepares problems and policies, and what draws.
SOURCES = (
    "arrays.py",
    "problem.py",
    "streams.py",
    "theory/*.py",
    "simulation/cell.py",
    "simulation/plain.py",
)


def versions() -> dict[str, str]:
    """Return the version of everything that decides what a run will be."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    import numba
    import scipy

    return {
        "fpbandits": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
        "sources": digest_of_sources(*SOURCES)[:16],
    }
