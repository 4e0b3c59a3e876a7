"""Types of arrays, and the tolerance within which two numbers count as equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Counts = NDArray[np.int64]
Bools = NDArray[np.bool_]

TOLERANCE = 1e-12
"""Means and probabilities on [0, 1] that differ by at most this count as equal."""
