"""Types of arrays, and the tolerance within which two numbers count as equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
"""Indices, such as those of arms and models."""

Counts = NDArray[np.int64]
"""Numbers of plays and the like: 64 bits on every platform."""

Bools = NDArray[np.bool_]

TOLERANCE = 1e-12
"""Means and probabilities on [0, 1] that differ by at most this count as equal."""
