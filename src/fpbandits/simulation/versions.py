"""What a result depends on besides its spec: the versions of the software that computes it.

Besides released versions there is a digest of the sources, so that a changed rule is another
version even between releases.
"""

from __future__ import annotations

import platform
from functools import cache

import numpy as np

from fpbandits import __version__
from fpbandits.engine.code_cache import SOURCES


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
        "sources": SOURCES[:16],
    }
