"""Means from vectors: weights of each model times known features of each arm.

In a linear model the product is the mean; in a logistic one the chance is 1/(1 + e^{−product}).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.checks import Numbers, is_list, plain_list
from fpbandits.errors import InputError, wrong_type


def products(weights: Numbers, features: Numbers) -> Floats:
    """Return the product of each row of weights with the features of each arm, in each context."""
    vectors = []
    for what, given, dimensions in (("weights", weights, (2,)), ("features", features, (2, 3))):
        table = np.array([]) if not is_list(given) else _numbers(given, what)
        if table.ndim not in dimensions or not table.size:
            whose = "arm" if what == "features" else "model"
            raise wrong_type(what, given, f"a list of numbers per {whose}")
        vectors.append(table)
    if vectors[0].shape[-1] != vectors[1].shape[-1]:
        raise InputError(
            f"{vectors[0].shape[-1]} weights per model for {vectors[1].shape[-1]} features "
            "per arm: they must be as many"
        )
    means: Floats = np.tensordot(vectors[0], vectors[1], axes=(-1, -1))
    return means


def logistic(weights: Numbers, features: Numbers) -> Floats:
    """Return the chance of each arm: 1/(1 + e^{−x}), x of `products`."""
    with np.errstate(over="ignore"):  # 1/∞ is the chance of what is as good as impossible
        chances: Floats = 1 / (1 + np.exp(-products(weights, features)))
    return chances


def _numbers(given: Any, what: str) -> Floats:
    try:
        table = np.array(plain_list(given))
    except ValueError:  # lists of different lengths
        raise InputError(f"{what} must be equally many numbers in each row") from None
    if table.dtype.kind not in "fiu" or not np.isfinite(table).all():
        raise wrong_type(what, given, "numbers")
    return table.astype(np.float64)
