"""Means from vectors: weights of each model times known features of each arm.

In a linear problem the product is the mean; in a logistic one the chance is 1/(1 + e^{−product}).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fpbandits.core.arrays import Floats
from fpbandits.core.checks import Numbers, is_list, plain_list
from fpbandits.errors import InputError, wrong_type


def products(weights: Numbers, features: Numbers) -> Floats:
    """Return the product of each row of weights with the features of each arm, in each context."""
    by_model, by_arm = (
        _table(weights, "weights", "model", (2,)),
        _table(features, "features", "arm", (2, 3)),
    )
    if by_model.shape[-1] != by_arm.shape[-1]:
        raise InputError(
            f"{by_model.shape[-1]} weights per model for {by_arm.shape[-1]} features "
            "per arm: they must be as many"
        )
    means: Floats = np.tensordot(by_model, by_arm, axes=(-1, -1))
    return means


def logistic(weights: Numbers, features: Numbers) -> Floats:
    """Return the chance of each arm: 1/(1 + e^{−x}) for each product x of `products`."""
    with np.errstate(over="ignore"):  # 1/∞ is 0, as it should be
        chances: Floats = 1 / (1 + np.exp(-products(weights, features)))
    return chances


def _table(given: Any, what: str, whose: str, dimensions: tuple[int, ...]) -> Floats:
    """Return an array of numbers with a row per model or arm, ``whose`` numbers they are."""
    try:
        table = np.array(plain_list(given) if is_list(given) else [])
    except ValueError:  # lists of different lengths
        raise InputError(f"{what} must be equally many numbers in each row") from None
    if table.dtype.kind not in "fiu" or not np.isfinite(table).all():
        raise wrong_type(what, given, "numbers")
    if table.ndim not in dimensions or not table.size:
        raise wrong_type(what, given, f"a list of numbers per {whose}")
    return table.astype(np.float64)
