"""The arrays that everything is computed on, by their types, and when two numbers are equal."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Counts = NDArray[np.int64]
Bools = NDArray[np.bool_]

TOLERANCE = 1e-12
"""Means (and probabilities) this near to one another, on [0, 1], are equal."""
